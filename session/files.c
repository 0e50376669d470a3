/* SPDX-License-Identifier: MIT */
#include "session/files.h"

#include "base/reader.h"
#include "base/utf8.h"
#include "session/files_pending.h"
#include "session/others.h"
#include "session/session_int.h"
#include "storage/object.h"
#include "storage/store.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Where they are ---- */

static int real_path(const char *path, char **out, struct cairn_error *error)
{
    *out = realpath(path, NULL);
    if (*out)
        return 0;
    if (errno == ENOENT || errno == ENOTDIR)
        return error_set(error, CAIRN_ENOTFOUND, "there is no %s", path);
    return error_sys(error, errno, "the directory %s", path);
}

const char *files_path_below(const char *path, const char *above)
{
    size_t n = strlen(above);
    if (n == 1) /* the root */
        return path + 1;
    if (strncmp(path, above, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return NULL;
    return path + n + (path[n] == '/');
}

static bool is_printable(struct str text)
{
    const char *at = text.ptr, *end = at + text.len;
    uint32_t code;
    while (at < end) {
        size_t n = utf8_next(at, end, &code);
        if (!n || code < 0x20 || code == 0x7f)
            return false;
        at += n;
    }
    return true;
}

int files_path_name(struct cairn_store *store, const char *root, struct buf *out,
                    struct cairn_error *error)
{
    char *home = NULL, *own = NULL;
    buf_clear(out);
    if (!is_printable(str_of(root)))
        return error_set(error, CAIRN_EUSAGE,
                         "the path of the files of a session has to be UTF-8 without "
                         "control characters");
    int rc = files_home(store, &home, error);
    if (!rc)
        rc = real_path(cairn_store_path(store), &own, error);
    if (!rc && files_path_below(root, own))
        rc = error_set(error, CAIRN_EUSAGE,
                       "%s belongs to the store: its files are not those of a session",
                       root);
    const char *below = rc ? NULL : files_path_below(root, home);
    if (!rc)
        buf_text(out, !below ? root : *below ? below : ".");
    free(home);
    free(own);
    return rc ? rc : buf_check(out, error);
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int files_root_name(struct cairn_store *store, const char *directory, struct buf *out,
                    struct cairn_error *error)
{
    char *root;
    buf_clear(out);
    int rc = real_path(directory, &root, error);
    if (rc)
        return rc;
    if (!is_directory(root))
        rc = error_set(error, CAIRN_EUSAGE, "%s is no directory", directory);
    if (!rc)
        rc = files_path_name(store, root, out, error);
    free(root);
    return rc;
}

/* ---- Taking them ---- */

/* What the store says of the files of a session. */
struct files_known {
    struct cairn_store *store;
    struct buf name, root;
    uint64_t session;
    bool has_before;
    struct digest before; /* snapshot of the newest checkpoint */
};

static int read_before(struct live *live, struct files_known *known,
                       struct cairn_error *error)
{
    struct chain head;
    struct sections sections = {0};
    struct arena arena = ARENA_INIT;
    int rc = sections_open(live->store, live->sha, live->row.branch, &head, &arena,
                           NULL, error);
    if (!rc && head.parent)
        rc = sections_read(live->store, live->sha, head.parent, &arena, &sections, NULL,
                           error);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        rc = 0;
    const struct section_ref *files = rc ? NULL : files_section(&sections);
    known->has_before = files != NULL;
    if (files)
        known->before = files->digest;
    arena_release(&arena);
    return rc;
}

static int read_known(struct files_known *known, const char *session,
                      struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, known->store, session, error);
    if (!rc && live.settings.later[SETTING_FILES].len) {
        known->session = live.row.session;
        buf_str(&known->name, live.settings.later[SETTING_FILES]);
        rc = buf_check(&known->name, error);
        if (!rc)
            rc = read_before(&live, known, error);
    }
    return live_close(&live, rc, error);
}

/* Zeros where it is not there. */
static struct stat database_of(struct cairn_store *store)
{
    struct stat st = {0};
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/cairn.db", cairn_store_path(store));
    if (path.failed || stat(path.data, &st) != 0)
        st = (struct stat){0};
    buf_release(&path);
    return st;
}

/* An index is anchored in a checkpoint, and in the database file, which a repair makes
 * anew: u64 seq, 32 bytes digest of the record, u64 device, u64 inode. */
static void put_anchor(struct cairn_store *store, const struct checkpoint_ref *ref,
                       struct buf *out)
{
    struct stat st = database_of(store);
    buf_u64(out, ref->seq);
    buf_str(out, digest_view(&ref->digest));
    buf_u64(out, st.st_dev);
    buf_u64(out, st.st_ino);
}

static int check_anchor(void *context, struct str anchor, struct cairn_error *error)
{
    struct files_known *known = context;
    struct reader in = reader_of(anchor.ptr, anchor.len);
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    uint64_t seq = read_u64(&in);
    struct str digest = read_bytes(&in, DIGEST_SIZE);
    struct stat st = database_of(known->store);
    bool here = read_u64(&in) == st.st_dev && read_u64(&in) == st.st_ino;
    struct sha256 *sha = sha256_new();
    struct cairn_error why = {0};
    if (!sha)
        return error_nomem(error);
    int rc = !here || !reader_done(&in)
                 ? CAIRN_ENOTFOUND
                 : sections_read(known->store, sha, seq, &arena, &sections, &at, &why);
    bool there = !rc && str_equal(digest, digest_view(&at.ref.digest)) &&
                 files_section(&sections) != NULL;
    sha256_free(sha);
    arena_release(&arena);
    if (!rc || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED || rc == CAIRN_ENEWER)
        return there;
    return error_set(error, rc, "%s", why.text);
}

static int take_tracked(struct files_taken *files, struct files_known *known,
                        struct cairn_error *error)
{
    int rc = files_root_path(known->store, buf_view(&known->name), &known->root, error);
    files->index = files_index_path(known->store, known->session);
    if (!rc && !files->index)
        rc = error_nomem(error);
    if (rc)
        return rc;
    struct snapshot_request request = {
        .store = known->store,
        .root = known->root.data,
        .root_name = buf_view(&known->name),
        .before = known->has_before ? &known->before : NULL,
        .index = files->index,
        .anchored = check_anchor,
        .keep = files->has_target ? &files->target : NULL,
        .in_transaction = files->in_transaction,
        .context = known};
    files->tracked = true;
    return snapshot_take(&request, &files->snapshot, error);
}

/* Until files_end no other process restores files: what is taken is one state, and that
 * of the session which refers to it. */
static int take_locked(struct files_taken *files, struct files_known *known,
                       struct cairn_error *error)
{
    int rc = files->locked ? 0 : pending_lock(known->store, error);
    files->locked = rc == 0;
    if (!rc && !files->looking)
        rc = pending_finish(known->store, true, known->session, buf_view(&known->name),
                            error);
    return rc ? rc : take_tracked(files, known, error);
}

int files_take(struct files_taken *files, struct cairn_store *store,
               const char *session, struct cairn_error *error)
{
    struct files_known known = {.store = store};
    files->taken = true;
    files->decided = false;
    files->noted = (struct checkpoint_ref){0};
    if (store_read_only(store) || store_key(store))
        return 0; /* the transaction is refused */
    int rc = read_known(&known, session, error);
    if (!rc && known.name.size)
        rc = take_locked(files, &known, error);
    files->root_name = known.name;
    files->root = known.root;
    return rc;
}

/* An index that cannot be written is none: the next snapshot reads every file. */
static void save_index(const struct files_taken *files, struct cairn_store *store)
{
    struct buf anchor = BUF_INIT;
    put_anchor(store, &files->noted, &anchor);
    if (!anchor.failed)
        (void)snapshot_save_index(&files->snapshot, files->index, buf_view(&anchor),
                                  NULL);
    buf_release(&anchor);
}

/* ---- Others in their place ---- */

static int refuse_root(struct files_taken *files, struct str name,
                       struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE,
                     "the files of that checkpoint are those of %.*s, and the setting "
                     "`files` of the session is %.*s now: set it back, or give "
                     "--board-only",
                     (int)utf8_fit(name, 200), name.ptr,
                     (int)utf8_fit(buf_view(&files->root_name), 200),
                     files->root_name.data);
}

static int open_restore(struct files_taken *files, struct cairn_store *store,
                        const struct digest *tree, struct cairn_error *error)
{
    struct paths only;
    const char *root = files->root.data;
    const struct digest *before = &files->snapshot.root;
    if (!files->only.n)
        return restore_open(&files->restore, store, root, before, tree, NULL, error);
    int rc = paths_open(&only, files->only.texts, files->only.n, error);
    if (!rc)
        rc = restore_open(&files->restore, store, root, before, tree, &only, error);
    else
        files->prepared = false;
    paths_close(&only);
    return rc;
}

static int prepare_once(struct files_taken *files, struct cairn_store *store,
                        bool *before_checked, struct cairn_error *error)
{
    *before_checked = false;
    struct arena arena = ARENA_INIT;
    struct snapshot_head head;
    int rc = snapshot_read(store, &files->target, &arena, &head, error);
    if (!rc && !str_equal(head.root_name, buf_view(&files->root_name)))
        rc = refuse_root(files, head.root_name, error);
    if (!rc) {
        files->prepared = true;
        rc = open_restore(files, store, &head.root, error);
        files->restore.back = files->back;
        files->restore.told = files->told;
        files->restore.context = files->told_context;
    }
    if (!rc && files->spare_others)
        rc = others_spare(files, store, error);
    if (!rc)
        rc = restore_check_before(&files->restore);
    *before_checked = rc == 0;
    if (!rc)
        rc = restore_prepare(&files->restore, false);
    arena_release(&arena);
    return rc;
}

static void release(struct files_taken *files)
{
    if (files->prepared)
        restore_close(&files->restore);
    if (files->tracked)
        snapshot_end(&files->snapshot);
    free(files->index);
    buf_release(&files->root);
    buf_release(&files->root_name);
    files->prepared = files->tracked = files->taken = false;
    files->index = NULL;
}

/* What the index says is in the pool may be damaged there. Without it every file is
 * read, and what is damaged is mended by that. */
static int prepare_restore(struct files_taken *files, struct cairn_store *store,
                           const char *session, struct cairn_error *error)
{
    bool before_checked;
    int rc = prepare_once(files, store, &before_checked, error);
    if (rc != CAIRN_EDAMAGED || before_checked)
        return rc;
    unlink(files->index);
    release(files);
    rc = files_take(files, store, session, error);
    return rc ? rc : prepare_once(files, store, &before_checked, error);
}

bool files_wanted(struct files_taken *files, int *rc, struct cairn_store *store,
                  const char *session, struct cairn_error *error)
{
    if (*rc != FILES_WANTED)
        return false;
    release(files);
    *rc = files_take(files, store, session, error);
    if (!*rc && files->tracked && files->has_target)
        *rc = prepare_restore(files, store, session, error);
    return *rc == 0;
}

int files_replace(struct live *live, const struct digest *snapshot, uint64_t seq,
                  struct cairn_error *error)
{
    struct files_taken *files = live->files;
    if (!live->settings.later[SETTING_FILES].len || !files || !files->tracked ||
        digest_equal(snapshot, &files->snapshot.digest))
        return 0;
    if (!files->prepared || !digest_equal(snapshot, &files->target)) {
        files->target = *snapshot;
        files->has_target = true;
        files->since = seq;
        files->session = live->row.session;
        return FILES_WANTED;
    }
    if ((files->only.n || files->restore.n_chosen) && !files->restore.n)
        return 0;
    files->decided = true;
    return pending_note(live->store, live->row.session, &files->snapshot.digest,
                        snapshot, files->only.texts, files->only.n, &files->restore,
                        error);
}

/* What became of it; of what was only looked at, what would. */
static struct cairn_restore_other other_of(const struct files_taken *files,
                                           const struct restore_change *at)
{
    const struct restore_change *goes =
        at->choice == RESTORE_STAYS ? NULL
                                    : restore_find_change(&files->restore, at->path);
    bool moves = goes && files->looked && goes->before.kind &&
                 (goes->staged || !goes->after.kind) &&
                 goes->before.kind != TREE_DIRECTORY;
    return (struct cairn_restore_other){
        .path = at->path.ptr,
        .session = at->by,
        .there = at->before.kind != 0,
        .stays = !goes,
        .beside = goes && (goes->kept || moves),
    };
}

/* One for each directory that is all of the same. */
static void tell_others(struct files_taken *files)
{
    const struct restore_change *last = NULL;
    for (size_t i = 0; i < files->restore.n_chosen; i++) {
        const struct restore_change *at = &files->restore.chosen[i];
        if (!at->by)
            continue;
        files->others += at->choice == RESTORE_STAYS;
        bool below = last && last->by == at->by && at->choice == RESTORE_STAYS &&
                     at->path.len > last->path.len &&
                     at->path.ptr[last->path.len] == '/' &&
                     memcmp(at->path.ptr, last->path.ptr, last->path.len) == 0;
        if (below)
            continue;
        struct cairn_restore_other other = other_of(files, at);
        files->beside += other.beside;
        last = at->choice == RESTORE_STAYS ? at : NULL;
        if (files->told_others)
            files->told_others(files->told_context, &other);
    }
}

int files_end(struct files_taken *files, int rc, struct cairn_store *store,
              struct cairn_error *error)
{
    bool carried_out = !rc && files->decided;
    if (carried_out) {
        unlink(files->index);
        rc = pending_carry_out(store, &files->restore, error);
        if (rc)
            error_context(error, "the restore is decided, and its files are not all in "
                                 "place yet: any command that writes to the session "
                                 "finishes it");
    } else if (!rc && files->tracked && files->noted.seq && files->snapshot.changed) {
        save_index(files, store);
    }
    files->counts = files->restore.counts;
    if (files->prepared && (!rc || files->looked))
        tell_others(files);
    release(files);
    if (files->locked)
        pending_unlock(store);
    files->locked = false;
    return rc;
}
