/* SPDX-License-Identifier: MIT */
/* A session that begins at a checkpoint of another one, with its files in a directory
 * of their own.
 *
 * The files are written beside the directory first; then one transaction makes the
 * session and notes that they are to be put into place, and then they are (fork_finish
 * in session/files_pending.h, which also whoever comes after a crash calls). */
#include "cairn/restore.h"
#include "checkpoint/annotations.h"
#include "session/files_pending.h"
#include "session/session_int.h"
#include "snapshot/ignore.h"
#include "snapshot/unpack.h"
#include "storage/object.h"
#include "storage/sessions/rows_message.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct forking {
    struct cairn_store *store;
    const char *session, *id; /* as they were given */
    uint64_t seq;
    char *directory;      /* real path, heap */
    struct buf root_name; /* of it, as the setting `files` has it */
    struct buf like;      /* the files of the first session, or empty */
    struct arena arena;
    struct snapshot_head head; /* of the files */
    struct unpack unpack;
    struct cairn_forked told;
    struct cairn_error *error;
};

/* ---- The directory ---- */

/* The real path of something that is not there, in a directory that is. */
static int path_of_new(struct forking *f, char *given)
{
    struct buf path = BUF_INIT;
    size_t n = strlen(given);
    while (n > 1 && given[n - 1] == '/')
        given[--n] = '\0';
    char *slash = strrchr(given, '/');
    const char *name = slash ? slash + 1 : given;
    const char *above = slash == given ? "/" : slash ? given : ".";
    if (slash && slash != given)
        *slash = '\0';
    char *real = realpath(above, NULL);
    if (!real)
        return error_sys(f->error, errno, "the directory %s", above);
    buf_format(&path, "%s%s%s", real, real[1] ? "/" : "", name);
    free(real);
    if (!path.failed)
        f->directory = path.data; /* which is ours now */
    else
        buf_release(&path);
    return f->directory ? 0 : error_nomem(f->error);
}

static int find_directory(struct forking *f, const char *given)
{
    struct stat st;
    if (!given[0])
        return error_set(f->error, CAIRN_EUSAGE, "a directory needs a name");
    char *copy = strdup(given);
    if (!copy)
        return error_nomem(f->error);
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/') /* else a link to a directory is one */
        copy[--n] = '\0';
    int rc = 0;
    if (lstat(copy, &st) != 0)
        rc = errno == ENOENT ? path_of_new(f, copy)
                             : error_sys(f->error, errno, "%s", given);
    else if (!S_ISDIR(st.st_mode))
        rc = error_set(f->error, CAIRN_EUSAGE,
                       "%s is %s: give the path of a new directory, or of an empty one",
                       given, S_ISLNK(st.st_mode) ? "a link" : "not a directory");
    else if (!(f->directory = realpath(copy, NULL)))
        rc = error_sys(f->error, errno, "%s", given);
    free(copy);
    if (!rc && f->directory[1] == '\0')
        rc = error_set(f->error, CAIRN_EUSAGE, "/ cannot be the directory of a fork");
    return rc ?: files_path_name(f->store, f->directory, &f->root_name, f->error);
}

struct root_check {
    struct forking *forking;
    int rc;
};

/* Would a session track what comes there? */
static int check_root(struct forking *f, const char *root)
{
    const char *below = files_path_below(f->directory, root);
    if (!below)
        return 0;
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0; /* it is gone */
    int out = below[0] ? rules_leave_out(fd, str_of(below), f->error) : 0;
    close(fd);
    if (out)
        return out < 0 ? out : 0;
    return error_set(
        f->error, CAIRN_EUSAGE,
        "%s lies in %s, whose files are in checkpoints, and would be in "
        "them, too: name another one, or have a .gitignore or .cairnignore "
        "there ignore it",
        f->directory, root);
}

static int see_session(void *context, const struct session_row *row)
{
    struct root_check *check = context;
    struct forking *f = check->forking;
    struct session_settings settings;
    struct buf root = BUF_INIT;
    if (!row->numbers.len || settings_decode(row->settings, &settings, NULL) ||
        !settings.later[SETTING_FILES].len)
        return 0;
    if (files_root_path(f->store, settings.later[SETTING_FILES], &root, NULL) == 0)
        check->rc = check_root(f, root.data);
    buf_release(&root);
    return check->rc;
}

static int check_roots(struct forking *f)
{
    struct root_check check = {.forking = f};
    struct cairn_page all = {.all = true};
    int rc = store_each_session(f->store, &all, see_session, &check, NULL, f->error);
    return check.rc ? check.rc : rc < 0 ? rc : 0;
}

/* ---- What is forked ---- */

static int check_source(struct forking *f, struct live *live,
                        const struct state_at *state)
{
    char number[CAIRN_ID_MAX];
    checkpoint_number(NAMESPACE_DEBUG, f->seq, number);
    if (state->at.session && state->at.session != live->row.session)
        return error_set(f->error, CAIRN_EUSAGE,
                         "checkpoint %s is of another session: give --session with its "
                         "name",
                         number);
    if (!state->has_files)
        return error_set(f->error, CAIRN_EUSAGE,
                         "checkpoint %s holds no files: without a directory it can be "
                         "forked",
                         number);
    return 0;
}

static int check_name(struct forking *f, struct live *live, const char *name)
{
    uint64_t taken;
    struct clean clean;
    struct outside_text text = {OUTSIDE_NAME, "the name of the session", str_of(name),
                                NULL};
    int rc = session_check_name("session", str_of(name), f->error)
                 ?: live_take(live, &text, &clean, f->error);
    if (rc)
        return rc;
    rc = store_find_session(f->store, str_of(name), &taken, f->error);
    if (rc)
        return rc == CAIRN_ENOTFOUND ? 0 : rc;
    return error_set(f->error, CAIRN_EUSAGE,
                     "there is a session '%.128s' already: give another name", name);
}

static int read_source(struct forking *f, const char *name)
{
    struct live live;
    struct state_at state;
    bool read = false;
    int rc = live_read(&live, f->store, f->session, f->error)
                 ?: live_check_open(&live, f->error);
    if (!rc && name)
        rc = check_name(f, &live, name);
    if (!rc)
        rc = debug_seq(f->store, f->id, &f->seq, f->error)
                 ?: checkpoint_check_broken(f->store, f->seq, f->id, f->error);
    read = !rc;
    if (!rc)
        rc = state_read(f->store, live.sha, f->seq, &state, f->error)
             ?: check_source(f, &live, &state)
             ?: snapshot_read(f->store, &state.files, &f->arena, &f->head, f->error);
    if (!rc)
        checkpoint_id(NAMESPACE_DEBUG, f->seq, &state.at.ref.digest, f->told.from);
    if (!rc && files_root_path(f->store, f->head.root_name, &f->like, NULL) != 0)
        buf_clear(&f->like);
    if (!rc)
        rc = check_roots(f);
    if (read)
        state_release(&state);
    return live_close(&live, rc, f->error);
}

/* ---- Its session ---- */

/* Rows keep their numbers, so the line keeps its chain. */
struct message_copy {
    struct arena *arena;
    struct message_row row;
};

static int copy_message(void *context, const struct message_row *row)
{
    struct message_copy *copy = context;
    copy->row = *row;
    copy->row.model = clean_copy(copy->arena, row->model);
    copy->row.file = clean_copy(copy->arena, row->file);
    copy->row.origin = arena_str(copy->arena, row->origin);
    copy->row.object = arena_str(copy->arena, row->object);
    copy->row.body = arena_str(copy->arena, row->body);
    return 0;
}

static int copy_messages(struct live *live, uint64_t from, uint64_t last,
                         struct cairn_error *error)
{
    int rc = 0;
    for (uint64_t n = 1; n <= last && !rc; n++) {
        struct arena arena = ARENA_INIT;
        struct message_copy copy = {.arena = &arena};
        rc = store_get_message(live->store, from, n, copy_message, &copy, error);
        if (!rc && arena.failed)
            rc = error_nomem(error);
        copy.row.session = live->row.session;
        if (!rc)
            rc = store_put_message(live->store, &copy.row, error);
        arena_release(&arena);
    }
    live->last_message = live->message = last;
    return rc;
}

/* The row, its branch, the settings of the first session. */
static int begin_session(struct forking *f, struct live *live, const char *name)
{
    char own[CAIRN_SESSION_NAME_MAX];
    struct branch_row branch = {.name = CLEAN("")};
    struct session_settings settings = live->settings;
    snprintf(own, sizeof own, "%.*s", (int)live->row.name.len, live->row.name.ptr);
    int rc = name ? 0 : session_free_name(f->store, own, f->error);
    memset(live->numbers, 0, sizeof live->numbers);
    live->counters = (struct session_counters){0};
    live->last_message = live->message = 0;
    if (!rc)
        rc = session_begin(live, name ? name : own, &live->now, false, f->error);
    if (rc)
        return rc;
    live->settings = settings;
    live->settings.later[SETTING_FILES] = buf_view(&f->root_name);
    live->settings.scheduled = live->now;
    rc = live_branch(live, live->row.branch, &branch, f->error);
    branch.from_seq = f->seq;
    if (!rc)
        rc = store_put_branch(f->store, &branch, f->error);
    snprintf(f->told.branch, sizeof f->told.branch, "%.*s", (int)branch.name.len,
             branch.name.ptr);
    return rc;
}

/* The same tree, below another directory. */
static int put_snapshot(struct forking *f, struct files_taken *files)
{
    struct buf content = BUF_INIT;
    struct snapshot_head head = f->head;
    head.root_name = buf_view(&f->root_name);
    snapshot_head_encode(&head, &content);
    int rc = buf_check(&content, f->error)
                 ?: store_put_object(f->store, buf_view(&content),
                                     &files->snapshot.digest, f->error);
    buf_release(&content);
    files->snapshot.counts = head.counts;
    files->taken = files->tracked = true;
    return rc;
}

static int put_checkpoint(struct forking *f, struct live *live)
{
    char message[CAIRN_ID_MAX + 32];
    struct files_taken files = {0};
    struct captured captured = {.answer = TRIGGER_MAKES};
    snprintf(message, sizeof message, "Fork from checkpoint %s", f->told.from);
    struct capture capture = {
        .trigger = TRIGGER_MANUAL, .message = str_of(message), .always = true};
    int rc = put_snapshot(f, &files);
    live->files = &files;
    if (!rc)
        rc = capture_state(live, &capture, &captured, f->error);
    live->files = NULL;
    if (!rc)
        checkpoint_id(NAMESPACE_DEBUG, captured.ref.seq, &captured.ref.digest,
                      f->told.checkpoint);
    return rc;
}

static int take_state(struct forking *f, struct live *live,
                      const struct state_at *state, const char *name)
{
    uint64_t first = live->row.session;
    int rc = begin_session(f, live, name)
             ?: copy_messages(live, first, state->messages.n, f->error)
             ?: live_take_state(live, state, f->error)
             ?: put_checkpoint(f, live)
             ?: fork_note(f->store, live->row.session, f->directory, f->error);
    f->told.number = live->row.session;
    snprintf(f->told.session, sizeof f->told.session, "%.*s", (int)live->row.name.len,
             live->row.name.ptr);
    return rc;
}

static int make_session(struct forking *f, const char *name)
{
    struct live live;
    struct state_at state;
    int rc = live_write(&live, f->store, f->session, f->error);
    bool read = !rc;
    if (!rc)
        rc = state_read(f->store, live.sha, f->seq, &state, f->error)
             ?: check_source(f, &live, &state)
             ?: take_state(f, &live, &state, name);
    if (read)
        state_release(&state);
    return live_close(&live, rc, f->error);
}

/* ---- All of it ---- */

static int note_beginning(struct forking *f)
{
    return store_begin(f->store, -1, f->error)
               ?: store_end(f->store, fork_note(f->store, 0, f->directory, f->error),
                            f->error);
}

static int write_files(struct forking *f)
{
    const char *like = f->like.size ? f->like.data : NULL;
    int rc = unpack_open(&f->unpack, f->store, f->directory, f->error)
             ?: unpack_check(&f->unpack)
             ?: note_beginning(f)
             ?: unpack_write(&f->unpack, &f->head.root, like);
    f->told.files = f->unpack.counts.added;
    f->told.cloned = f->unpack.counts.cloned;
    f->told.left = f->unpack.counts.left;
    unpack_close(&f->unpack);
    return rc;
}

/* With the lock. What is not decided is deleted. */
static int carry_out(struct forking *f, const char *name)
{
    int rc = fork_finish(f->store, f->error); /* of one before */
    if (!rc)
        rc = pending_finish(f->store, true, 0, STR(""), f->error);
    if (rc)
        return rc;
    rc = write_files(f) ?: make_session(f, name);
    if (rc) {
        (void)fork_finish(f->store, NULL);
        return rc;
    }
    rc = fork_finish(f->store, f->error);
    if (rc)
        error_context(f->error, "the session is made, and the next command that writes "
                                "to a session tries again");
    return rc;
}

int cairn_session_fork(struct cairn_store *store, const char *session, const char *id,
                       const char *directory, const char *name,
                       struct cairn_forked *forked, struct cairn_error *error)
{
    struct forking f = {.store = store,
                        .session = session,
                        .id = id,
                        .unpack = {.fd = -1},
                        .error = error};
    int rc = find_directory(&f, directory);
    if (!rc && store_key(store))
        rc = error_set(error, CAIRN_EUSAGE,
                       "sessions are not recorded with a key: leave out --key");
    if (!rc)
        rc = read_source(&f, name) ?: pending_lock(store, error);
    bool locked = !rc;
    if (!rc)
        rc = carry_out(&f, name);
    if (locked)
        pending_unlock(store);
    arena_release(&f.arena);
    buf_release(&f.like);
    buf_release(&f.root_name);
    free(f.directory);
    if (!rc && forked)
        *forked = f.told;
    return rc;
}
