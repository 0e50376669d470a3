/* SPDX-License-Identifier: MIT */
#include "session/files_pending.h"

#include "base/lock.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/str.h"
#include "base/words.h"
#include "session/files.h"
#include "session/session_int.h"
#include "snapshot/unpack.h"
#include "storage/rows_meta.h"
#include "storage/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* "1 SESSION BEFORE AFTER": snapshots, in hex; behind a 2 in the place of the 1 there
 * follow patterns of paths, each with a line break in front. Behind a 3 each line
 * begins with "=" and is a pattern, or with "-" and is a path that stays, or with "+"
 * and is one of which what was there is kept beside; in paths a line break is "\n", and
 * a backslash "\\". */
static const char setting[] = "restore";
/* One that is put aside: behind the name, and behind that of the directory in which its
 * contents wait, there are a dash and the number of its session. */
enum { PENDING_NAME = 48 };
/* "1 SESSION", and a directory in the next line. */
static const char fork_setting[] = "unpack";
enum { VALUE_MOST = 16 << 20 };

/* ---- Where the files are ---- */

int files_home(struct cairn_store *store, char **out, struct cairn_error *error)
{
    *out = realpath(cairn_store_path(store), NULL);
    if (!*out)
        return error_sys(error, errno, "the store %s", cairn_store_path(store));
    char *slash = strrchr(*out, '/');
    slash[slash == *out] = '\0';
    return 0;
}

/* A link that has come into its place leads elsewhere. */
static int check_root(const char *root, struct cairn_error *error)
{
    char *real = realpath(root, NULL);
    if (!real)
        return error_sys(error, errno,
                         "the directory %s, whose files belong to the "
                         "session",
                         root);
    bool same = strcmp(real, root) == 0;
    free(real);
    return same ? 0
                : error_set(error, CAIRN_EUSAGE,
                            "%s, whose files belong to the session, is another "
                            "directory now, by way of a link: `cairn session config "
                            "files DIR` names it anew",
                            root);
}

int files_root_path(struct cairn_store *store, struct str name, struct buf *out,
                    struct cairn_error *error)
{
    char *home = NULL;
    bool is_home = str_equal(name, STR("."));
    buf_clear(out);
    int rc = name.len && name.ptr[0] == '/' ? 0 : files_home(store, &home, error);
    if (!rc && home)
        buf_text(out, home);
    if (!rc && home && !is_home && out->size > 1)
        buf_byte(out, '/');
    if (!rc && !is_home)
        buf_str(out, name);
    free(home);
    return rc ?: buf_check(out, error) ?: check_root(out->data, error);
}

char *files_index_path(struct cairn_store *store, uint64_t session)
{
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/files-%llu.index", cairn_store_path(store),
               (unsigned long long)session);
    if (!path.failed)
        return path.data; /* which is the caller's now */
    buf_release(&path);
    return NULL;
}

/* ---- One at a time ---- */

static int busy(struct cairn_store *store, struct cairn_error *error)
{
    return error_set(error, CAIRN_EBUSY,
                     "another process restores files of the store %s: try again",
                     cairn_store_path(store));
}

int pending_lock(struct cairn_store *store, struct cairn_error *error)
{
    int rc = lock_wait(store_lock_file(store), LOCK_RESTORE, LOCK_EXCLUSIVE,
                       2 * store_lock_wait_ms(store), error);
    if (rc == CAIRN_EBUSY)
        return busy(store, error);
    if (!rc)
        rc = store_hold(store, LOCK_RESTORE, error);
    if (rc)
        lock_drop(store_lock_file(store), LOCK_RESTORE);
    return rc;
}

/* 1: it is ours; 0: another process is about it. */
static int try_lock(struct cairn_store *store, struct cairn_error *error)
{
    struct lock_file *file = store_lock_file(store);
    int rc = lock_try(file, LOCK_RESTORE, LOCK_EXCLUSIVE, error);
    if (rc <= 0)
        return rc;
    rc = store_hold(store, LOCK_RESTORE, error);
    if (rc)
        lock_drop(file, LOCK_RESTORE);
    return rc ? rc : 1;
}

void pending_unlock(struct cairn_store *store)
{
    store_unhold(store, LOCK_RESTORE);
    lock_drop(store_lock_file(store), LOCK_RESTORE);
}

static void put_path(struct buf *out, const struct restore_change *change)
{
    buf_byte(out, '\n');
    buf_byte(out, change->choice == RESTORE_BESIDE ? '+' : '-');
    for (size_t i = 0; i < change->path.len; i++) {
        char byte = change->path.ptr[i];
        if (byte == '\n' || byte == '\\')
            buf_byte(out, '\\');
        buf_byte(out, (uint8_t)(byte == '\n' ? 'n' : byte));
    }
}

int pending_note(struct cairn_store *store, uint64_t session,
                 const struct digest *before, const struct digest *after,
                 const struct str *patterns, size_t n, const struct restore *restore,
                 struct cairn_error *error)
{
    char from[DIGEST_HEX_SIZE], to[DIGEST_HEX_SIZE];
    struct buf value = BUF_INIT;
    bool chosen = restore->n_chosen > 0;
    digest_hex(before, from);
    digest_hex(after, to);
    buf_format(&value, "%d %llu %s %s",
               chosen ? 3
               : n    ? 2
                      : 1,
               (unsigned long long)session, from, to);
    for (size_t i = 0; i < n; i++) {
        buf_text(&value, chosen ? "\n=" : "\n");
        buf_str(&value, patterns[i]);
    }
    for (size_t i = 0; i < restore->n_chosen; i++)
        put_path(&value, &restore->chosen[i]);
    int rc = buf_check(&value, error);
    if (!rc && value.size > VALUE_MOST)
        rc =
            error_set(error, CAIRN_ELIMIT,
                      "others have changed too many files since (more than %d bytes of "
                      "paths): --paths names some, --all takes all of them",
                      VALUE_MOST);
    if (!rc)
        rc = store_set_setting(store, setting, value.data, error);
    buf_release(&value);
    return rc;
}

static int carry_out(struct cairn_store *store, struct restore *restore,
                     const char *name, struct cairn_error *error)
{
    return restore_apply(restore)
           ?: store_begin(store, -1, error)
           ?: store_end(store, store_drop_setting(store, name, error), error);
}

int pending_carry_out(struct cairn_store *store, struct restore *restore,
                      struct cairn_error *error)
{
    return carry_out(store, restore, setting, error);
}

/* ---- What is noted ---- */

struct pending {
    char name[PENDING_NAME]; /* of the setting, and of the directory of the contents */
    char *text;              /* of the setting, heap */
    uint64_t session;
    struct digest snapshots[2];
    struct str *patterns; /* heap */
    size_t n;
    struct str *chosen; /* heap; the first byte says how */
    size_t n_chosen;
};

static void pending_release(struct pending *pending)
{
    free(pending->patterns);
    free(pending->chosen);
    free(pending->text);
    *pending = (struct pending){.text = NULL};
}

static bool digest_from_hex(const char *hex, struct digest *out)
{
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return false;
        out->bytes[i] = (uint8_t)byte;
    }
    return true;
}

/* In place: a line has as many bytes at most. */
static struct str plain_path(char *line, size_t n)
{
    size_t to = 1;
    for (size_t i = 1; i < n; i++) {
        bool escaped = line[i] == '\\' && i + 1 < n;
        i += escaped;
        line[to++] = (char)(escaped && line[i] == 'n' ? '\n' : line[i]);
    }
    return (struct str){line, to};
}

/* The lines behind the first one. 1, or 0: one is not well formed. */
static int parse_lines(struct pending *out, char *rest, bool with_choices,
                       struct cairn_error *error)
{
    size_t most = 0;
    for (const char *at = rest; *at; at++)
        most += *at == '\n';
    if (!most)
        return 1;
    out->patterns = calloc(most, sizeof *out->patterns);
    out->chosen = with_choices ? calloc(most, sizeof *out->chosen) : NULL;
    if (!out->patterns || (with_choices && !out->chosen))
        return error_nomem(error);
    while (*rest == '\n') {
        size_t n = strcspn(++rest, "\n");
        if (!with_choices)
            out->patterns[out->n++] = (struct str){rest, n};
        else if (*rest == '=')
            out->patterns[out->n++] = (struct str){rest + 1, n - 1};
        else if (*rest == '-' || *rest == '+')
            out->chosen[out->n_chosen++] = plain_path(rest, n);
        else
            return 0;
        rest += n;
    }
    return 1;
}

/* 1: it is well formed; 0: it is not. */
static int parse(struct pending *out, struct cairn_error *error)
{
    int form;
    unsigned long long session;
    char hex[2][DIGEST_HEX_SIZE];
    int end = 0;
    if (sscanf(out->text, "%1d %llu %64[0-9a-f] %64[0-9a-f]%n", &form, &session, hex[0],
               hex[1], &end) != 4 ||
        !end || out->text[end] != (form > 1 ? '\n' : '\0') || form < 1 || form > 3)
        return 0;
    out->session = session;
    if (!digest_from_hex(hex[0], &out->snapshots[0]) ||
        !digest_from_hex(hex[1], &out->snapshots[1]))
        return 0;
    return parse_lines(out, out->text + end, form == 3, error);
}

/* Session 0: the one that is not put aside. 1: there is one. pending_release in any
 * case. */
static int read_pending(struct cairn_store *store, uint64_t session,
                        struct pending *out, struct cairn_error *error)
{
    *out = (struct pending){.text = NULL};
    snprintf(out->name, sizeof out->name, session ? "%s-%llu" : "%s", setting,
             (unsigned long long)session);
    int rc = store_whole_setting(store, out->name, &out->text, error);
    if (rc > 0)
        rc = parse(out, error);
    else
        return rc;
    return rc ? rc
              : error_set(error, CAIRN_EDAMAGED,
                          "what the store says of a restore of files is damaged: run "
                          "`cairn doctor`");
}

/* ---- A directory for a new session ---- */

int fork_note(struct cairn_store *store, uint64_t session, const char *directory,
              struct cairn_error *error)
{
    struct buf value = BUF_INIT;
    buf_format(&value, "1 %llu\n%s", (unsigned long long)session, directory);
    int rc = buf_check(&value, error)
                 ?: store_set_setting(store, fork_setting, value.data, error);
    buf_release(&value);
    return rc;
}

/* 1: there is one; *text (heap) has *directory in it. */
static int read_fork(struct cairn_store *store, char **text, uint64_t *session,
                     const char **directory, struct cairn_error *error)
{
    unsigned long long number;
    int end = 0;
    int rc = store_whole_setting(store, fork_setting, text, error);
    if (rc <= 0)
        return rc;
    bool fits = sscanf(*text, "1 %llu%n", &number, &end) == 1 && (*text)[end] == '\n' &&
                (*text)[end + 1] == '/';
    if (!fits)
        return error_set(error, CAIRN_EDAMAGED,
                         "what the store says of files in a new directory is damaged: "
                         "run `cairn doctor`");
    *session = number;
    *directory = *text + end + 1;
    return 1;
}

/* The session may have been given other files meanwhile; the directory is its own. */
static int place_fork(struct cairn_store *store, struct unpack *unpack,
                      uint64_t session, struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    int rc = store_fork_text(store, session, &text, error)
                 ?: unpack_place(unpack, ".cairn", buf_view(&text));
    buf_release(&text);
    return rc;
}

static int drop_fork(struct cairn_store *store, struct cairn_error *error)
{
    return store_begin(store, -1, error)
               ?: store_end(store, store_drop_setting(store, fork_setting, error),
                            error);
}

/* What was written was not decided. A restore that was uses the same place. */
static int clear_fork(struct cairn_store *store, struct unpack *unpack,
                      struct cairn_error *error)
{
    struct pending pending;
    struct buf path = BUF_INIT;
    int restore = read_pending(store, 0, &pending, error);
    pending_release(&pending);
    buf_format(&path, "%s/" RESTORE_STAGE, cairn_store_path(store));
    int rc = restore < 0 ? restore : buf_check(&path, error);
    if (!rc && !restore)
        restore_clear_stage(path.data);
    buf_release(&path);
    return rc ?: unpack_clear(unpack);
}

int fork_finish(struct cairn_store *store, struct cairn_error *error)
{
    struct unpack unpack = {.fd = -1};
    char *text = NULL;
    const char *directory;
    uint64_t session;
    int rc = read_fork(store, &text, &session, &directory, error);
    if (rc > 0) {
        rc = unpack_open(&unpack, store, directory, error);
        if (!rc)
            rc = session ? place_fork(store, &unpack, session, error)
                         : clear_fork(store, &unpack, error);
        unpack_close(&unpack);
        if (!rc || rc == CAIRN_ENOTFOUND) /* else there is nothing to be done */
            rc = drop_fork(store, error);
        if (rc)
            error_context(error,
                          "files that were written for %s are not in their "
                          "place yet",
                          directory);
    }
    free(text);
    return rc;
}

static int forget_fork(struct cairn_store *store, uint64_t session,
                       struct cairn_error *error)
{
    char *text = NULL;
    const char *directory;
    uint64_t of = 0;
    int rc = read_fork(store, &text, &of, &directory, NULL);
    if (rc > 0 && of == session)
        rc = fork_note(store, 0, directory, error);
    else
        rc = rc < 0 ? store_drop_setting(store, fork_setting, error) : 0;
    free(text);
    return rc;
}

/* ---- What was begun ---- */

static int choose_again(const struct pending *pending, struct restore *restore)
{
    for (size_t i = 0; i < pending->n_chosen; i++) {
        struct str line = pending->chosen[i];
        struct restore_change *change =
            restore_find_change(restore, (struct str){line.ptr + 1, line.len - 1});
        if (change)
            change->choice = *line.ptr == '+' ? RESTORE_BESIDE : RESTORE_STAYS;
    }
    return pending->n_chosen ? restore_choose(restore) : 0;
}

typedef int open_fn(struct restore *restore, struct cairn_store *store,
                    const char *root, const struct digest *before,
                    const struct digest *after, struct paths *only,
                    struct cairn_error *error);

static int open_again(const struct pending *pending, struct cairn_store *store,
                      const char *root, const struct snapshot_head *heads,
                      struct restore *restore, struct cairn_error *error)
{
    open_fn *open = root ? restore_open : restore_open_lost;
    const struct digest *before = &heads[0].root, *after = &heads[1].root;
    struct paths only;
    if (pending->n) {
        int rc = paths_open(&only, pending->patterns, pending->n, error)
                     ?: open(restore, store, root, before, after, &only, error);
        paths_close(&only);
        return rc ?: choose_again(pending, restore);
    }
    int rc = open(restore, store, root, before, after, NULL, error);
    return rc ?: choose_again(pending, restore);
}

/* A restore that was begun, found again. */
struct begun {
    struct restore restore;
    struct arena arena;
    struct snapshot_head heads[2];
    struct buf root;
    bool lost; /* its directory is gone */
};

/* begun_close in any case. `lost`: also where its directory is gone; else that is an
 * error, and begun->lost says so. */
static int begun_open(struct begun *begun, struct cairn_store *store,
                      const struct pending *pending, bool lost,
                      struct cairn_error *error)
{
    *begun = (struct begun){.restore = {.fd = -1,
                                        .stage = -1,
                                        .like_fd = -1,
                                        .parent = PLACE_INIT,
                                        .written = PLACE_INIT},
                            .arena = ARENA_INIT,
                            .root = BUF_INIT};
    int rc = pending ? 0 : CAIRN_EDAMAGED;
    for (int i = 0; i < 2 && !rc; i++)
        rc = snapshot_read(store, &pending->snapshots[i], &begun->arena,
                           &begun->heads[i], error);
    if (rc)
        return rc;
    rc = files_root_path(store, begun->heads[0].root_name, &begun->root, error);
    begun->lost = rc && rc != CAIRN_ENOMEM;
    if (!rc || (lost && begun->lost))
        rc = open_again(pending, store, rc ? NULL : begun->root.data, begun->heads,
                        &begun->restore, error);
    if (!rc)
        begun->restore.stage_name = pending->name;
    return rc;
}

static void begun_close(struct begun *begun)
{
    restore_close(&begun->restore);
    buf_release(&begun->root);
    arena_release(&begun->arena);
}

/* ---- What it is, in words ---- */

/* The checkpoints that the last moves of a session went to. */
struct move_targets {
    uint64_t seqs[8];
    size_t n;
};

static int see_move(void *context, const struct session_log_row *row)
{
    struct move_targets *targets = context;
    struct reader in = reader_of(row->after.ptr, row->after.len);
    uint64_t seq = row->number;
    switch ((enum session_verb)row->verb) {
    case VERB_BACK:
    case VERB_FORWARD:
    case VERB_SWITCHED:
    case VERB_BRANCHED:
        (void)read_varint(&in);
        (void)read_varint(&in);
        seq = read_varint(&in);
        break;
    case VERB_RESTORED:
        break;
    default:
        return 0;
    }
    if (!in.failed && seq)
        targets->seqs[targets->n++] = seq;
    return targets->n == sizeof targets->seqs / sizeof targets->seqs[0];
}

static int copy_name(void *context, const struct session_row *row)
{
    struct pending_told *told = context;
    snprintf(told->name, sizeof told->name, "%.*s", (int)row->name.len, row->name.ptr);
    return 0;
}

/* The name of its session, and the checkpoint whose files these are, as far as they
 * are known. */
static int name_target(struct cairn_store *store, const struct pending *pending,
                       struct pending_told *told, struct cairn_error *error)
{
    struct move_targets targets = {.n = 0};
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(error);
    u64_text(pending->session, told->name);
    (void)store_get_session(store, pending->session, copy_name, told, NULL);
    (void)store_each_session_log(store, pending->session, INT64_MAX, true, see_move,
                                 &targets, NULL);
    for (size_t i = 0; i < targets.n && !told->seq; i++) {
        struct arena arena = ARENA_INIT;
        struct sections sections = {0};
        int rc =
            sections_read(store, sha, targets.seqs[i], &arena, &sections, NULL, NULL);
        const struct section_ref *files = rc ? NULL : files_section(&sections);
        if (files && digest_equal(&files->digest, &pending->snapshots[1]))
            told->seq = targets.seqs[i];
        arena_release(&arena);
    }
    sha256_free(sha);
    return 0;
}

/* ---- Finishing ---- */

/* Who finishes it. */
struct finisher {
    uint64_t session;
    struct str files;
};

static bool same_directory(struct str a, struct str b)
{
    struct str longer = a.len > b.len ? a : b, shorter = a.len > b.len ? b : a;
    if (!shorter.len)
        return false;
    if (str_equal(shorter, STR(".")))
        return longer.ptr[0] != '/';
    return memcmp(longer.ptr, shorter.ptr, shorter.len) == 0 &&
           (longer.len == shorter.len || longer.ptr[shorter.len] == '/');
}

static void say_kept(void *context, const char *path, const char *what)
{
    store_say(context, "%s %s", path, what);
}

/* Says that it is finished, and what that has done. */
static void say_finished(struct cairn_store *store, const struct pending *pending,
                         uint64_t placed)
{
    char id[CAIRN_ID_MAX] = "files";
    struct pending_told told = {.session = pending->session};
    (void)name_target(store, pending, &told, NULL);
    if (told.seq)
        checkpoint_number(NAMESPACE_DEBUG, told.seq, id);
    store_say(store,
              "the restore of %s (session %s) that was interrupted is finished now: "
              "files, links and directories put into place: %llu",
              id, told.name, (unsigned long long)placed);
}

/* *others: it hinders no other session. */
static int finish(struct cairn_store *store, const struct pending *pending,
                  const struct finisher *who, bool *others, struct cairn_error *error)
{
    struct begun begun;
    int rc = begun_open(&begun, store, pending, false, error);
    bool opened = !rc;
    uint64_t all = 0, placed = 0;
    begun.restore.told = say_kept;
    begun.restore.context = store;
    if (!rc)
        restore_count_placed(&begun.restore, &all, &placed);
    if (!rc)
        rc = restore_prepare(&begun.restore, true)
                 ?: carry_out(store, &begun.restore, pending->name, error);
    if (!rc)
        say_finished(store, pending, all - placed);
    *others =
        begun.lost || (opened && who->session && who->session != pending->session &&
                       !same_directory(who->files, begun.heads[0].root_name));
    begun_close(&begun);
    return rc;
}

/* The next one finds its place free. */
static int put_aside(struct cairn_store *store, const struct pending *pending,
                     struct cairn_error *error)
{
    char name[PENDING_NAME];
    struct buf from = BUF_INIT, to = BUF_INIT;
    snprintf(name, sizeof name, "%s-%llu", setting,
             (unsigned long long)pending->session);
    buf_format(&from, "%s/%s", cairn_store_path(store), pending->name);
    buf_format(&to, "%s/%s", cairn_store_path(store), name);
    int rc = buf_check(&from, error) ?: buf_check(&to, error);
    if (!rc && rename(from.data, to.data) != 0 && errno != ENOENT)
        rc = error_sys(error, errno, "putting %s aside", from.data);
    buf_release(&from);
    buf_release(&to);
    if (!rc)
        rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = store_set_setting(store, name, pending->text, error)
             ?: store_drop_setting(store, pending->name, error);
    return store_end(store, rc, error);
}

static void drop_index(struct cairn_store *store, uint64_t session)
{
    char *index = files_index_path(store, session);
    if (index)
        unlink(index);
    free(index);
}

/* With the lock: the one of that session which was put aside (0: the other one). */
static int finish_one(struct cairn_store *store, uint64_t aside,
                      const struct finisher *who, struct cairn_error *error)
{
    struct pending pending;
    struct cairn_error why = {0};
    bool others = false;
    int rc = read_pending(store, aside, &pending, error);
    if (rc > 0) {
        drop_index(store, pending.session);
        rc = finish(store, &pending, who, &others, &why);
        if (rc && others && !aside) { /* the text is cut where a line began */
            pending_release(&pending);
            rc = read_pending(store, 0, &pending, error);
            rc = rc > 0 ? put_aside(store, &pending, error) : rc;
        } else if (rc) {
            error_set(error, rc, "%s", why.text);
            error_context(error,
                          "a restore of files that was begun is not finished (`cairn "
                          "session config files off` gives it up; what it took out of "
                          "its place stays)");
        }
    }
    pending_release(&pending);
    return rc;
}

static int finish_pending(struct cairn_store *store, const struct finisher *who,
                          struct cairn_error *error)
{
    int rc = finish_one(store, 0, who, error);
    return rc || !who->session ? rc : finish_one(store, who->session, who, error);
}

enum { PENDING_RESTORE = 1, PENDING_FORK = 2 };

/* What there is to finish; 0: nothing. */
static int what_is_pending(struct cairn_store *store, uint64_t session,
                           struct cairn_error *error)
{
    struct pending pending;
    char *text = NULL;
    int rc = read_pending(store, 0, &pending, error);
    pending_release(&pending);
    if (!rc && session) {
        rc = read_pending(store, session, &pending, error);
        pending_release(&pending);
    }
    if (rc)
        return rc < 0 ? rc : PENDING_RESTORE;
    rc = store_whole_setting(store, fork_setting, &text, error);
    free(text);
    return rc > 0 ? PENDING_FORK : rc;
}

/* What a process that is gone had written beside the files before it decided. With the
 * lock a restore that was decided meanwhile is known, too. */
static void clear_stage(struct cairn_store *store, bool locked)
{
    struct lock_file *file = store_lock_file(store);
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/" RESTORE_STAGE, cairn_store_path(store));
    bool there = !path.failed && access(path.data, F_OK) == 0;
    bool tried =
        there && !locked && lock_try(file, LOCK_RESTORE, LOCK_EXCLUSIVE, NULL) > 0;
    if (there && (locked || tried) && what_is_pending(store, 0, NULL) == 0)
        restore_clear_stage(path.data);
    if (tried)
        lock_drop(file, LOCK_RESTORE);
    buf_release(&path);
}

static int finish_unlocked(struct cairn_store *store, int what,
                           const struct finisher *who, struct cairn_error *error)
{
    int rc = what == PENDING_FORK ? try_lock(store, error) : pending_lock(store, error);
    if (rc < 0 || (what == PENDING_FORK && !rc))
        return rc;
    (void)fork_finish(store, NULL); /* what hinders it hinders nobody else */
    rc = finish_pending(store, who, error);
    pending_unlock(store);
    return rc;
}

/* ---- What is not finished ---- */

struct asides {
    uint64_t *sessions; /* heap */
    size_t n, room;
    bool failed;
};

static int note_aside(void *context, struct str key)
{
    struct asides *asides = context;
    uint64_t session;
    size_t n = sizeof setting; /* with the dash */
    if (key.len <= n || !str_to_u64((struct str){key.ptr + n, key.len - n}, &session))
        return 0;
    uint64_t *at = array_room(asides->sessions, asides->n, &asides->room, sizeof *at);
    asides->failed = !at;
    if (!at)
        return 1;
    asides->sessions = at;
    at[asides->n++] = session;
    return 0;
}

struct telling {
    struct finisher who;
    pending_fn *each;
    void *context;
};

static int tell_one(struct cairn_store *store, uint64_t aside,
                    const struct telling *telling, struct cairn_error *error)
{
    struct pending pending;
    struct begun begun;
    int rc = read_pending(store, aside, &pending, error);
    if (rc <= 0) {
        pending_release(&pending);
        return rc;
    }
    struct pending_told told = {.session = pending.session, .aside = aside != 0};
    rc = begun_open(&begun, store, &pending, true, error);
    told.lost = begun.lost;
    bool concerns =
        !rc && (!telling->who.session || telling->who.session == pending.session ||
                same_directory(telling->who.files, begun.heads[0].root_name));
    if (concerns) {
        restore_count_placed(&begun.restore, &told.files, &told.placed);
        rc = name_target(store, &pending, &told, error);
    }
    begun_close(&begun);
    pending_release(&pending);
    return rc || !concerns ? rc : telling->each(telling->context, &told);
}

/* Another process, or a call of this handle, is about it. */
static bool is_going_on(struct cairn_store *store)
{
    return store_holds(store, LOCK_RESTORE) ||
           lock_held(store_lock_file(store), LOCK_RESTORE, NULL) > 0;
}

int pending_each(struct cairn_store *store, bool locked, uint64_t session,
                 struct str files, pending_fn *each, void *context,
                 struct cairn_error *error)
{
    const struct telling telling = {{session, files}, each, context};
    struct asides asides = {.n = 0};
    bool going_on = !locked && is_going_on(store);
    int rc = store_each_setting(store, "restore-", note_aside, &asides, error);
    rc = asides.failed ? error_nomem(error) : rc < 0 ? rc : 0;
    if (!rc && !going_on)
        rc = tell_one(store, 0, &telling, error);
    for (size_t i = 0; i < asides.n && !rc; i++)
        rc = tell_one(store, asides.sessions[i], &telling, error);
    free(asides.sessions);
    return rc;
}

int pending_finish(struct cairn_store *store, bool locked, uint64_t session,
                   struct str files, struct cairn_error *error)
{
    const struct finisher who = {session, files};
    if (!locked && store_holds(store, LOCK_RESTORE)) /* it is this handle's */
        return 0;
    int what = what_is_pending(store, session, error);
    if (!what)
        clear_stage(store, locked);
    if (what <= 0)
        return what;
    if (!locked)
        return finish_unlocked(store, what, &who, error);
    (void)fork_finish(store, NULL);
    return finish_pending(store, &who, error);
}

/* ---- Giving up ---- */

/* A directory that is no longer known to hold nothing but what was staged. */
static int check_empty(const char *stage, struct cairn_error *error)
{
    if (rmdir(stage) == 0 || os_is_missing(errno))
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "files that a restore took out of their place may be in %s: move "
                     "that directory away, then try again",
                     stage);
}

/* The old file cannot be distinguished from the staged one. */
static int check_stages(struct cairn_store *store, struct str files,
                        struct cairn_error *error)
{
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/" RESTORE_STAGE, cairn_store_path(store));
    int rc = buf_check(&path, error) ?: check_empty(path.data, error);
    if (!rc && files.len && files_root_path(store, files, &path, NULL) == 0) {
        buf_format(&path, "/" TREE_STAGE "%s", store_id(store));
        rc = buf_check(&path, error) ?: check_empty(path.data, error);
    }
    buf_release(&path);
    return rc;
}

/* What nobody knows of what a restore had taken out, where its directory is gone. */
static int keep_stage(struct cairn_store *store, const char *stage, uint64_t session,
                      struct cairn_error *error)
{
    struct buf path = BUF_INIT;
    int sys = EEXIST;
    for (unsigned i = 1; sys == EEXIST && i < 10000; i++) {
        buf_clear(&path);
        buf_format(&path, "%s/kept-%llu-%u", cairn_store_path(store),
                   (unsigned long long)session, i);
        sys = path.failed                     ? ENOMEM
              : access(path.data, F_OK) == 0  ? EEXIST
              : rename(stage, path.data) == 0 ? 0
                                              : errno;
    }
    buf_release(&path);
    return sys && sys != ENOENT ? error_sys(error, sys, "keeping %s", stage) : 0;
}

static int give_up(struct cairn_store *store, const struct pending *pending,
                   struct str files, struct cairn_error *error)
{
    struct begun begun;
    struct buf stage = BUF_INIT;
    int rc = begun_open(&begun, store, pending, true, NULL);
    bool known = !rc, lost = begun.lost;
    begun.restore.error = error;
    if (known)
        rc = restore_give_up(&begun.restore);
    if (known && rc)
        error_context(error,
                      "what the restore that was begun took out of its place is in %s; "
                      "it can be moved away",
                      begun.restore.stage_path.data);
    buf_str(&stage, buf_view(&begun.restore.stage_path));
    if (known && !rc)
        rc = buf_check(&stage, error);
    begun_close(&begun);
    if (known && !rc && lost && stage.size)
        rc = keep_stage(store, stage.data, pending->session, error);
    buf_release(&stage);
    return known ? rc : check_stages(store, files, error);
}

static int forget_restore(struct cairn_store *store, const struct pending *pending,
                          struct str files, bool *locked, struct cairn_error *error)
{
    int rc = store_holds(store, LOCK_RESTORE) ? 0 : try_lock(store, error);
    *locked = rc > 0;
    if (!rc && !store_holds(store, LOCK_RESTORE))
        return busy(store, error);
    if (rc >= 0)
        rc = give_up(store, pending, files, error);
    return rc ?: store_drop_setting(store, pending ? pending->name : setting, error);
}

/* The one of that session which was put aside (0: the other one). */
static int forget_one(struct cairn_store *store, uint64_t aside, uint64_t session,
                      struct str files, bool *locked, struct cairn_error *error)
{
    struct pending pending;
    bool had = *locked;
    int rc = read_pending(store, aside, &pending, NULL);
    bool none = rc == 0 || (rc > 0 && pending.session != session);
    rc = none ? 0
              : forget_restore(store, rc > 0 ? &pending : NULL, files, locked, error);
    *locked = *locked || had;
    pending_release(&pending);
    return rc;
}

int pending_forget(struct cairn_store *store, uint64_t session, struct str files,
                   bool *locked, struct cairn_error *error)
{
    *locked = false;
    return forget_one(store, 0, session, files, locked, error)
           ?: forget_one(store, session, session, files, locked, error)
           ?: forget_fork(store, session, error);
}
