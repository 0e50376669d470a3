/* SPDX-License-Identifier: MIT */
/* Opening and closing a store.
 *
 * A writable open holds the write lock from the first check of the files to the last
 * step of a migration. A read-only open takes no lock and makes no file of ours; SQLite
 * may rebuild its index of the WAL (cairn.db-shm), which holds nothing durable.
 */
#include "base/error.h"
#include "base/lock.h"
#include "base/notify.h"
#include "base/os.h"
#include "base/struct_take.h"
#include "storage/rows_int.h"
#include "storage/rows_meta.h"
#include "storage/schema.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOCK_WAIT_MS = 30000,
    SETTLE_WAIT_MS = 2000 /* a closing writer gives up tidying after this */
};

static int end_making(const struct store_paths *paths, struct cairn_error *error)
{
    if (unlink(paths->making) == 0 || errno == ENOENT)
        return 0;
    return error_sys(error, errno, "cannot remove %s", paths->making);
}

static int fill_database(const struct store_paths *paths, struct cairn_error *error)
{
    const struct db_options options = {.dir = paths->dir, .path = paths->making};
    struct db *db;
    int rc = db_open(&db, &options, error);
    if (rc)
        return rc;
    rc =
        db_script(db, sql_unsafe, error) ?: schema_prepare(db, paths->dir, true, error);
    db_close(db);
    return rc;
}

/* Bytes 18 and 19 of a database say whether it has a WAL (2) or a rollback journal (1):
 * SQLite itself would change them in a synced transaction. */
static int finish_database(int fd, const struct cairn_store *store,
                           struct cairn_error *error)
{
    int rc = store->journal == DB_WAL ? os_write_at(fd, STR("\2\2"), 18) : 0;
    if (!rc && fsync(fd) < 0)
        rc = errno;
    if (!rc && rename(store->paths.making, store->paths.db) < 0)
        rc = errno;
    return rc ? error_sys(error, rc, "cannot make %s", store->paths.db) : 0;
}

/* The database is made under another name and gets its own when all of it is on the
 * disk, and so is the name of its directory, whoever made that. Its mode is from here; -wal and -shm inherit it. Closing the descriptor drops
 * nobody's lock, since nobody has the file open. */
static int make_database(const struct cairn_store *store, struct cairn_error *error)
{
    const struct store_paths *paths = &store->paths;
    int rc = end_making(paths, error);
    if (rc)
        return rc;
    int fd = open(paths->making, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_sys(error, errno, "cannot make %s", paths->making);
    rc = fill_database(paths, error)
             ?: os_sync_parent(paths->dir, error)
             ?: finish_database(fd, store, error);
    close(fd);
    if (rc)
        (void)unlink(paths->making);
    return rc ?: os_sync_dir(paths->dir, error);
}

/* Refuses a database that is not ours or is newer, by the file's header alone and
 * before anything is written beside it. 1: there is nothing in it yet. */
static int check_header(const struct cairn_store *store, struct cairn_error *error)
{
    assert(!store->db);
    struct db_options options = {.dir = store->paths.dir, .path = store->paths.db};
    struct store_journal journal;
    struct db_header header;
    int rc = store_file(store->paths.db, NULL, NULL, error);
    if (rc <= 0)
        return rc < 0 ? rc : 1;
    rc = db_probe(&options, &header, error);
    if (rc == 0)
        rc = schema_check(&header, store->paths.dir, error);
    else if (rc > 0)
        rc = 0; /* not known yet: opening it will find out */
    /* The same if power failed while the first transaction was written: opening rolls
     * it back. */
    if (rc < 0 && rc != CAIRN_ENOTFOUND &&
        store_journal_read(&store->paths, &journal) && journal.before == 0)
        rc = 0;
    return rc == CAIRN_ENOTFOUND ? 1 : rc;
}

/* Nothing is there, or only the beginning of a store. */
static int no_store(struct cairn_store *store, bool begun, struct cairn_error *error)
{
    const char *dir = store->paths.dir;
    int64_t size = 0;
    bool there = store_file(store->paths.db, NULL, &size, NULL) != 0;
    if (there ? size != 0 && !begun
              : store_file(store->paths.making, NULL, NULL, NULL) <= 0)
        return error_set(error, CAIRN_ENOTFOUND,
                         "there is no store in %s; `cairn run FILE` makes one", dir);
    if (store->lock.fd < 0)
        lock_open_read(&store->lock, store->paths.lock, NULL);
    if (lock_held(&store->lock, LOCK_COMMIT, NULL) > 0)
        return error_set(error, CAIRN_ENOTFOUND,
                         "the store %s is being made by another process: try again",
                         dir);
    return error_set(error, CAIRN_ENOTFOUND,
                     "the making of the store %s was interrupted; `cairn run FILE` "
                     "puts it right",
                     dir);
}

/* Only a writer can roll back an interrupted transaction. Was it one of those by which
 * an older cairn made the store? The last of these is the switch to the WAL, which
 * changes only the header, so that the tables can be read in spite of the journal. After
 * any other transaction they cannot: it may be half written. */
static bool is_unmade(const struct cairn_store *store)
{
    assert(!store->db && store->read_only);
    struct db_options options = {
        .dir = store->paths.dir, .path = store->paths.db, .immutable = true};
    struct store_journal journal;
    struct db *db;
    int64_t next = 0;
    if (!store_journal_read(&store->paths, &journal))
        return false;
    if (journal.before == 0)
        return true;
    if (journal.saved > 1 || db_open(&db, &options, NULL))
        return false;
    int rc = db_get_int(db, SQL_NEXT_RUN, NO_VALUES, &next, NULL);
    db_close(db);
    return rc == 0 && next == 1;
}

static int load_id(struct cairn_store *store, struct cairn_error *error)
{
    assert(store->db);
    char id[sizeof store->id + 1] = "";
    int rc = store_setting(store, "id", id, sizeof id, error);
    if (rc < 0)
        return rc;
    if (strlen(id) != sizeof store->id - 1)
        return error_set(error, CAIRN_EDAMAGED,
                         "the store %s has lost its id: run `cairn doctor`",
                         store->paths.dir);
    memcpy(store->id, id, sizeof store->id);
    return 0;
}

static int open_reader(struct cairn_store *store, struct cairn_error *error)
{
    assert(store->read_only && !store->db);
    int rc = store_check_files(&store->paths, store->journal, error)
                 ?: check_header(store, error);
    if (rc > 0)
        return no_store(store, false, error);
    if (!rc)
        rc = lock_open_read(&store->lock, store->paths.lock, error);
    if (!rc && store->journal == DB_WAL)
        rc = store_check_log(&store->paths, &store->lock, error);
    if (!rc)
        rc = store_connect(store, &store->db, error);
    if (rc == CAIRN_EIO && is_unmade(store))
        return no_store(store, true, error);
    return rc ?: load_id(store, error) ?: store_look_at_place(store, error);
}

static int open_locked(struct cairn_store *store, struct cairn_error *error)
{
    assert(!store->db && store->lock.fd >= 0);
    int rc = store_check_files(&store->paths, store->journal, error);
    int there = rc ? rc : store_file(store->paths.db, NULL, NULL, error);
    rc = there < 0 ? there : store_dir_furnish(&store->paths, there == 0, error);
    if (!rc && !there)
        rc = make_database(store, error);
    if (!rc && store->journal == DB_WAL)
        rc = store_check_log(&store->paths, &store->lock, error);
    /* Held exclusively only by a last writer that is closing, and by a repair. */
    return rc
           ?: lock_wait(&store->lock, LOCK_WRITERS, LOCK_SHARED, store->lock_wait_ms,
                        error)
           ?: store_connect(store, &store->db, error)
           ?: load_id(store, error)
           ?: end_making(&store->paths, error);
}

static int open_writer(struct cairn_store *store, bool create,
                       struct cairn_error *error)
{
    assert(!store->read_only && !store->db);
    int rc = store_check_files(&store->paths, store->journal, error)
                 ?: check_header(store, error);
    if (rc > 0 && !create)
        return no_store(store, false, error);
    if (rc > 0)
        rc = store_file(store->paths.db, NULL, NULL, error) == 0
                 ? store_dir_vacant(&store->paths, error)
                 : 0;
    if (!rc)
        rc = lock_open(&store->lock, store->paths.lock, error)
                 ?: store_take_lock(store, store->lock_wait_ms, error);
    if (rc)
        return rc;
    rc = open_locked(store, error);
    lock_drop(&store->lock, LOCK_COMMIT);
    return rc ?: store_settle_place(store, error);
}

static int find_place(struct cairn_store *store, enum store_place place,
                      struct cairn_error *error)
{
    assert(store->paths.dir);
    int rc = 0;
    if (place == STORE_NETWORK)
        store->network_fs = "network file system";
    else if (place == STORE_DETECT)
        rc = os_network_fs(store->paths.dir, &store->network_fs, error);
    store->journal = store->network_fs ? DB_ROLLBACK : DB_WAL;
    return rc < 0 ? rc : 0;
}

/* By path only: closing a descriptor of the database would drop SQLite's locks. */
static int note_place(struct cairn_store *store, struct cairn_error *error)
{
    struct stat st;
    if (stat(store->paths.db, &st) < 0)
        return error_sys(error, errno, "cannot look at %s", store->paths.db);
    store->db_device = st.st_dev;
    store->db_inode = st.st_ino;
    return 0;
}

/* Field by field: structs may have gaps. */
static void look_at_files(const struct cairn_store *store, struct store_look *look)
{
    const char *const paths[STORE_LOOKED_AT] = {store->paths.dir, store->paths.db,
                                                store->paths.wal, store->paths.lock};
    struct stat st;
    *look = (struct store_look){.version = -1};
    for (size_t i = 0; i < STORE_LOOKED_AT; i++) {
        if (lstat(paths[i], &st) < 0)
            continue;
        look->at[i].device = st.st_dev;
        look->at[i].inode = st.st_ino;
        look->at[i].mode = st.st_mode;
        look->at[i].uid = st.st_uid;
        look->at[i].gid = st.st_gid;
    }
}

static int note_version(struct cairn_store *store, struct cairn_error *error)
{
    struct db_header header;
    int rc = db_header(store->db, &header, error);
    if (!rc)
        store->look.version = header.user_version;
    return rc;
}

static bool same_files(const struct store_look *a, const struct store_look *b)
{
    for (size_t i = 0; i < STORE_LOOKED_AT; i++)
        if (a->at[i].device != b->at[i].device || a->at[i].inode != b->at[i].inode ||
            a->at[i].mode != b->at[i].mode || a->at[i].uid != b->at[i].uid ||
            a->at[i].gid != b->at[i].gid)
            return false;
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_paths(const struct cairn_store *store,
                       const struct cairn_store_options *options)
{
    struct store_paths now = {.dir = NULL};
    bool same = store_paths_find(&now, options, NULL) == 0;
    same = same && same_text(now.dir, store->paths.dir) &&
           same_text(now.fork_dir, store->paths.fork_dir) &&
           same_text(now.project, store->paths.project) &&
           now.fork_session == store->paths.fork_session;
    store_paths_release(&now);
    return same;
}

/* What open_reader finds out by the files alone. */
static bool has_good_files(const struct cairn_store *store)
{
    struct lock_file lock = store->lock;
    return store_check_files(&store->paths, store->journal, NULL) == 0 &&
           (store->journal != DB_WAL ||
            store_check_log(&store->paths, &lock, NULL) == 0);
}

static bool is_unchanged(const struct cairn_store *store,
                         const struct cairn_store_options *options)
{
    struct store_look now;
    struct db_header header;
    if (!store->read_only || store->key || store->reads > 0 || store->read_open ||
        !options->read_only || options->key_file || !same_paths(store, options))
        return false;
    look_at_files(store, &now);
    return same_files(&now, &store->look) && has_good_files(store) &&
           db_header(store->db, &header, NULL) == 0 &&
           header.user_version == store->look.version;
}

bool cairn_store_is_unchanged(const struct cairn_store *store,
                              const struct cairn_store_options *options)
{
    struct cairn_store_options whole;
    return struct_take(&whole, sizeof whole, STRUCT_FIRST(cairn_store_options, whole),
                       options, "cairn_store_options", NULL) == 0 &&
           is_unchanged(store, &whole);
}

bool store_in_place(const struct cairn_store *store)
{
    struct stat st;
    if (stat(store->paths.db, &st) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return st.st_dev == store->db_device && st.st_ino == store->db_inode;
}

bool cairn_store_is_current(const struct cairn_store *store)
{
    return store_in_place(store);
}

int store_open_at(struct cairn_store **out, const struct cairn_store_options *options,
                  enum store_place place, struct cairn_error *error)
{
    assert(options);
    struct cairn_store *store = calloc(1, sizeof *store);
    if (!store)
        return error_nomem(error);
    store->lock.fd = store->marker_fd = store->notify = -1;
    store->read_only = options->read_only;
    store->sync = options->sync;
    store->lock_wait_ms = options->lock_wait_ms ? options->lock_wait_ms : LOCK_WAIT_MS;
    store->transfer_pages = STORE_TRANSFER_PAGES;
    store->sha = sha256_new();
    int rc = store->sha ? 0 : error_nomem(error);
    if (!rc && options->key_file)
        rc = store_key_read(options->key_file, store->sha, &store->key, error);
    if (!rc)
        rc = store_paths_find(&store->paths, options, error)
                 ?: find_place(store, place, error);
    if (!rc && store->read_only) /* before: what is replaced meanwhile has changed */
        look_at_files(store, &store->look);
    if (!rc)
        rc = store->read_only ? open_reader(store, error)
                              : open_writer(store, options->create, error);
    if (!rc)
        rc = note_place(store, error);
    if (!rc && store->read_only)
        rc = note_version(store, error);
    if (rc) {
        cairn_store_close(store);
        return rc;
    }
    *out = store;
    return 0;
}

int cairn_store_open(struct cairn_store **out,
                     const struct cairn_store_options *options,
                     struct cairn_error *error)
{
    STRUCT_TAKE(cairn_store_options, options, error);
    static const struct cairn_store_options defaults;
    return store_open_at(out, options ? options : &defaults, STORE_DETECT, error);
}

int store_open_beside(const struct cairn_store *store, struct cairn_store **out,
                      struct cairn_error *error)
{
    const struct cairn_store_options options = {.path = store->paths.dir,
                                                .sync = store->sync,
                                                .lock_wait_ms = store->lock_wait_ms};
    assert(!store->read_only);
    int rc = store_open_at(out, &options, STORE_DETECT, error);
    if (rc ||
        ((*out)->db_device == store->db_device && (*out)->db_inode == store->db_inode))
        return rc;
    cairn_store_close(*out);
    return error_set(error, CAIRN_EBUSY, "the store %s was replaced", store->paths.dir);
}

/* The last writer transfers the WAL and removes the marker. The locks stay until the
 * lock file is closed, which must come after the database.
 *
 * A transaction whose commit failed may be in the WAL as if it were whole. It is not in
 * the index of the WAL, so the transfer leaves it out; but if the transfer fails, the
 * next process finds it. That is harmless: what it records did happen. */
static void settle_log(struct cairn_store *store)
{
    assert(!store->writing && !store->read_only);
    bool complete = false;
    if (store->journal != DB_WAL ||
        store_file(store->paths.marker, NULL, NULL, NULL) <= 0 ||
        lock_wait(&store->lock, LOCK_COMMIT, LOCK_EXCLUSIVE, SETTLE_WAIT_MS, NULL))
        return;
    /* The order of locks is that of opening: write lock first. */
    if (lock_try(&store->lock, LOCK_WRITERS, LOCK_EXCLUSIVE, NULL) != 1 ||
        store_check_wal(store, NULL) ||
        (store->poisoned && store_reopen(store, NULL))) {
        lock_drop(&store->lock, LOCK_COMMIT);
        return;
    }
    /* The log is emptied last: an empty one beside the marker means lost commits. */
    if (db_transfer(store->db, &complete, NULL) == 0 && complete &&
        unlink(store->paths.marker) == 0 && os_sync_dir(store->paths.dir, NULL) == 0)
        db_empty_wal(store->db);
}

void cairn_store_close(struct cairn_store *store)
{
    if (!store)
        return;
    if (store->writing)
        store_abort(store);
    if (store->read_open)
        db_rollback(store->db);
    if (store->db && !store->read_only)
        settle_log(store);
    store_leave_marker(store);
    db_close(store->db);
    lock_close(&store->lock);
    if (store->notify >= 0)
        close(store->notify);
    object_codec_free(store->codec);
    store_key_free(store->key);
    sha256_free(store->sha);
    store_paths_release(&store->paths);
    for (size_t i = 0; i < COUNT_OF(store->known); i++)
        free(store->known[i].id);
    free(store->done);
    buf_release(&store->notices);
    free(store);
}

static int ignore_news(void *context, const struct notify_event *event)
{
    (void)context;
    (void)event;
    return 0;
}

static int watch_directory(struct cairn_store *store)
{
    int dir = open(store->paths.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int notify = dir < 0 ? -1 : notify_open();
    if (notify >= 0 && notify_add(notify, dir, NOTIFY_ENTRIES) < 0) {
        close(notify);
        notify = -1;
    }
    if (dir >= 0)
        close(dir);
    return notify;
}

int cairn_store_watch(struct cairn_store *store)
{
    if (store->notify < 0)
        store->notify = watch_directory(store);
    else
        (void)notify_read(store->notify, ignore_news, NULL);
    return store->notify;
}

const char *cairn_store_path(const struct cairn_store *store)
{
    assert(store->paths.dir);
    return store->paths.dir;
}

const char *cairn_store_project(const struct cairn_store *store)
{
    const struct store_paths *paths = &store->paths;
    return paths->project ? paths->project : paths->fork_dir;
}

bool cairn_store_is_fork(const struct cairn_store *store)
{
    return store->paths.fork_session != 0;
}

const char *store_lineage(const struct cairn_store *store)
{
    assert(store->id[0]);
    return store->id;
}

const char *store_id(const struct cairn_store *store)
{
    assert(store->identity[0]);
    return store->identity;
}

bool store_read_only(const struct cairn_store *store)
{
    return store->read_only;
}

const struct hmac_key *store_key(const struct cairn_store *store)
{
    return store->key;
}

struct hmac_key *store_swap_key(struct cairn_store *store, struct hmac_key *key)
{
    struct hmac_key *old = store->key;
    store->key = key;
    return old;
}

int store_bind_thread(struct cairn_store *store, bool *bound, struct cairn_error *error)
{
    int rc = db_thread_check(&store->thread, error);
    if (rc)
        return rc;
    *bound = !store->thread.bound;
    store->thread = (struct db_thread){true, pthread_self()};
    return 0;
}

void store_unbind_thread(struct cairn_store *store)
{
    store->thread.bound = false;
}

int store_lock_wait_ms(const struct cairn_store *store)
{
    return store->lock_wait_ms < INT_MAX / 2 ? store->lock_wait_ms : INT_MAX / 2;
}

struct lock_file *store_lock_file(struct cairn_store *store)
{
    return &store->lock;
}

const char *store_live_dir(const struct cairn_store *store)
{
    assert(store->paths.live);
    return store->paths.live;
}

const char *store_network_fs(const struct cairn_store *store)
{
    assert(!store->network_fs == (store->journal == DB_WAL));
    return store->network_fs;
}
