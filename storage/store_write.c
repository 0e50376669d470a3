/* SPDX-License-Identifier: MIT */
/* Write transactions, the marker of an open store, and WAL transfer. All of it happens
 * under the write lock (byte LOCK_COMMIT), because SQLite before 3.51.3 can corrupt a
 * database when one connection transfers the WAL while another one writes.
 *
 * The marker (`open`) is made durable before the first commit of a writer and removed
 * after the last writer has transferred everything. While it stands the WAL must exist:
 * a missing one held commits. */
#include "base/lock.h"
#include "base/os.h"
#include "storage/schema.h"
#include "storage/store_int.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    SETTLE_WAIT_MS = 2000, /* a closing writer gives up tidying after this */
    TRANSFER_STEP = 1000   /* pages until the next try, where readers hold the WAL */
};

int store_take_lock(struct cairn_store *store, int wait_ms, struct cairn_error *error)
{
    assert(!store->writing && !store->read_only);
    int rc = lock_wait(&store->lock, LOCK_COMMIT, LOCK_EXCLUSIVE, wait_ms, error);
    if (rc == CAIRN_EBUSY)
        return error_set(error, CAIRN_EBUSY,
                         "another cairn process is writing to the store %s (waited %d "
                         "ms): try again",
                         store->paths.dir, wait_ms);
    if (rc)
        error_context(error, "the store %s", store->paths.dir);
    return rc;
}

/* ---- Marker ---- */

static int make_marker(struct cairn_store *store, struct cairn_error *error)
{
    char host[64];
    assert(store->journal == DB_WAL);
    os_host_name(host);
    struct buf text = BUF_INIT;
    buf_format(&text, "pid %ld on %s\n" STORE_LOG_EMPTY "\nsync %s\n", (long)getpid(),
               host,
               store->sync == CAIRN_SYNC_FULL     ? "full"
               : store->sync == CAIRN_SYNC_NORMAL ? "normal"
                                                  : "off");
    int rc = buf_check(&text, error);
    /* The name of the WAL first: directories keep no order, and after a power cut the
     * marker without the WAL would be taken for lost commits. */
    if (!rc)
        rc = os_sync_dir(store->paths.dir, error);
    if (!rc)
        rc = os_write_file(store->paths.marker, 0600, buf_view(&text), error);
    buf_release(&text);
    return rc;
}

/* From now on the log is not empty while the marker stands: see store_log_begun. What
 * is cut off of this by a power cut makes it tell less, nothing false. A commit that
 * changed nothing wrote nothing. */
static void note_log(struct cairn_store *store)
{
    assert(store->journal == DB_WAL && !store->writing);
    static const char line[] = STORE_LOG_BEGUN "\n";
    if (db_wal_pages(store->db) == 0)
        return;
    store->log_noted = true;
    if (store->sync != CAIRN_SYNC_FULL || store_log_begun(&store->paths))
        return;
    int fd = os_open_plain(store->paths.marker, O_WRONLY | O_APPEND);
    if (fd < 0)
        return;
    if (write(fd, line, sizeof line - 1) != (ssize_t)sizeof line - 1)
        store->log_noted = false;
    close(fd);
}

/* Our WAL must still be in its place: commits into a deleted file would be lost. */
static int check_wal(const struct cairn_store *store, struct cairn_error *error)
{
    assert(store->journal == DB_WAL);
    uint64_t inode = 0;
    int rc = store_file(store->paths.wal, &inode, NULL, error);
    if (rc < 0 || (rc > 0 && inode == store->wal_inode))
        return rc < 0 ? rc : 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "commits were lost: %s was removed or replaced while the store "
                     "was in use",
                     store->paths.wal);
}

static int see_to_marker(struct cairn_store *store, struct cairn_error *error)
{
    assert(!store->marked);
    int rc = store_file(store->paths.marker, NULL, NULL, error);
    /* Who syncs less than others says so: see store_check_log. */
    if (rc == 0 || (rc > 0 && store->sync != CAIRN_SYNC_FULL))
        rc = make_marker(store, error);
    if (rc >= 0)
        store->marked = true;
    return rc < 0 ? rc : 0;
}

/* ---- Reopening ---- */

static int tail_differs(const struct cairn_store *store, struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "the store %s does not hold what was last committed (checkpoint "
                     "%llu): run `cairn doctor`",
                     store->paths.dir, (unsigned long long)store->committed.seq);
}

/* The newest checkpoint that we committed must be there. It may have been pruned by
 * somebody else since then; its number stays taken. */
static int check_tail(const struct cairn_store *store, struct db *db,
                      struct cairn_error *error)
{
    int64_t next;
    struct query query;
    assert(db != store->db);
    if (store->committed.seq == 0)
        return 0;
    int rc = db_get_int(db, SQL_NEXT_SEQ, NO_VALUES, &next, error);
    if (rc)
        return rc;
    if ((uint64_t)next <= store->committed.seq)
        return tail_differs(store, error);
    rc = query_start(&query, db, SQL_GET_CHECKPOINT,
                     VALUES(value_u64(store->committed.seq)), error);
    if (!rc)
        rc = query_step(&query, error);
    if (rc > 0)
        rc = str_equal(query_blob(&query, 7), digest_view(&store->committed.digest))
                 ? 0
                 : tail_differs(store, error);
    query_end(&query);
    return rc;
}

/* The new connection is opened before the old one is closed. So the index of the WAL is
 * never rebuilt from the file in between, which could bring back a transaction whose
 * frames were written but whose commit was reported as failed. */
static int reopen(struct cairn_store *store, struct cairn_error *error)
{
    struct db *db;
    assert(store->poisoned && !store->writing && !store->read_open);
    if (db_running(store->db))
        return error_set(error, CAIRN_EBUSY,
                         "the store %s must be reopened, but is being read",
                         store->paths.dir);
    int rc = store_connect(store, &db, error);
    if (rc)
        return rc;
    rc = check_tail(store, db, error);
    if (rc) {
        db_close(db);
        return rc;
    }
    db_close(store->db);
    store->db = db;
    store->poisoned = false;
    store->next_seq = 0;
    store->turns = (struct store_turns){0};
    store->knows_collecting = false;
    /* Perhaps the disk is full: what the WAL holds, moved into the database, makes room
     * to write it from its start again. If that fails, the next commit tells. */
    if (store->journal == DB_WAL) {
        bool complete;
        db_transfer(db, false, &complete, NULL);
    }
    return 0;
}

/* ---- Closing ---- */

/* A transaction whose commit failed may stand in the WAL as if it were whole. It is not
 * in the index of the WAL, so the transfer leaves it out; but a process that comes
 * after a failed transfer will find it. That is no lie, only late: it did happen. */
void store_settle(struct cairn_store *store)
{
    assert(!store->writing && !store->read_only);
    bool complete = false;
    if (store->journal != DB_WAL ||
        store_file(store->paths.marker, NULL, NULL, NULL) <= 0 ||
        lock_wait(&store->lock, LOCK_COMMIT, LOCK_EXCLUSIVE, SETTLE_WAIT_MS, NULL))
        return;
    /* The order of locks is that of opening: write lock first. */
    if (lock_try(&store->lock, LOCK_WRITERS, LOCK_EXCLUSIVE, NULL) != 1 ||
        check_wal(store, NULL) || (store->poisoned && reopen(store, NULL))) {
        lock_drop(&store->lock, LOCK_COMMIT);
        return;
    }
    /* The log is emptied last: an empty one beside the marker had lost commits. */
    if (db_transfer(store->db, false, &complete, NULL) == 0 && complete &&
        unlink(store->paths.marker) == 0 && os_sync_dir(store->paths.dir, NULL) == 0)
        db_transfer(store->db, true, &complete, NULL);
}

/* ---- Transactions ---- */

static int begin_locked(struct cairn_store *store, struct cairn_error *error)
{
    assert(!store->writing);
    int rc = lock_check(&store->lock, store->paths.lock, error);
    if (!rc && store->journal == DB_WAL)
        rc = check_wal(store, error);
    if (!rc && store->poisoned)
        rc = reopen(store, error);
    if (!rc && store->journal == DB_WAL && !store->marked)
        rc = see_to_marker(store, error);
    return rc ? rc : db_begin_write(store->db, error);
}

int store_begin(struct cairn_store *store, int wait_ms, struct cairn_error *error)
{
    store_assert_open(store);
    assert(!store->writing && !store->read_open);
    if (store->read_only)
        return error_set(error, CAIRN_EUSAGE, "the store %s was opened read-only",
                         store->paths.dir);
    if (store->in_doubt)
        return error_set(error, CAIRN_EIO,
                         "the directory %s could not be synced, so whether the last "
                         "commit lasts is not known: nothing more is written now; "
                         "`cairn resume` goes on from what is there",
                         store->paths.dir);
    int rc = store_take_lock(store, wait_ms < 0 ? store->lock_wait_ms : wait_ms, error);
    if (rc)
        return rc;
    rc = begin_locked(store, error);
    if (rc) {
        lock_drop(&store->lock, LOCK_COMMIT);
        return rc;
    }
    store->writing = true;
    store->pending = store->committed;
    if (db_version(store->db) != store->version) {
        store->next_seq = 0;
        store->turns.fresh = false;
        store->knows_collecting = false;
    }
    return 0;
}

void store_abort(struct cairn_store *store)
{
    if (!store->writing)
        return;
    if (db_broken(store->db))
        store->poisoned = true;
    if (!db_rollback(store->db))
        store->poisoned = true;
    store->next_seq = 0;
    store->knows_collecting = false;
    store_turns_end(store, false);
    store->writing = false;
    lock_drop(&store->lock, LOCK_COMMIT);
}

/* A transfer that fails takes nothing back: the commits are durable in the WAL. */
static void transfer_if_grown(struct cairn_store *store)
{
    bool complete;
    assert(!store->writing);
    unsigned pages = db_wal_pages(store->db);
    if (pages < store->wal_pages)
        store->transfer_pages = STORE_TRANSFER_PAGES; /* it began anew */
    store->wal_pages = pages;
    if (store->journal != DB_WAL || pages < store->transfer_pages)
        return;
    if (db_transfer(store->db, false, &complete, NULL))
        store->poisoned = true;
    store->transfer_pages = pages + TRANSFER_STEP;
}

/* What took place and was told as failed would be written a second time. */
static int commit_once(struct cairn_store *store, struct cairn_error *error)
{
    assert(store->writing && !store->poisoned);
    if (db_failed(store->db))
        return error_set(error, CAIRN_EIO,
                         "an earlier write of this transaction failed");
    int rc = db_commit(store->db, error);
    if (rc && db_commit_unsynced(store->db)) {
        rc = os_sync_dir(store->paths.dir, error);
        store->in_doubt = rc != 0;
    }
    return rc;
}

int store_commit(struct cairn_store *store, struct cairn_error *error)
{
    store_assert_writing(store);
    int rc = commit_once(store, error);
    if (rc) {
        store_abort(store);
        store->poisoned = true;
        return rc;
    }
    store->writing = false;
    if (store->journal == DB_WAL && !store->log_noted)
        note_log(store);
    store->committed = store->pending;
    store_turns_end(store, true);
    store->version = db_version(store->db);
    transfer_if_grown(store);
    if (store->journal == DB_WAL && store->sync == CAIRN_SYNC_FULL && !store->poisoned)
        db_reserve_wal(store->db);
    lock_drop(&store->lock, LOCK_COMMIT);
    return 0;
}

int store_write(struct cairn_store *store, enum sql_id id,
                const struct sql_value *values, size_t n, struct cairn_error *error)
{
    store_assert_writing(store);
    if (db_failed(store->db))
        return error_set(error, CAIRN_EIO,
                         "an earlier write of this transaction failed");
    return db_run(store->db, id, values, n, error);
}

/* ---- Reading ---- */

/* A writer may have migrated the older store that this reader has open. */
static int end_stand_in(struct cairn_store *store, struct cairn_error *error)
{
    struct db_header header;
    assert(store->read_only || !store->stands_in);
    if (!store->stands_in || db_running(store->db))
        return 0;
    int rc = db_header(store->db, &header, error);
    if (rc || header.user_version == store->stands_in)
        return rc;
    rc = schema_stand_in_end(store->db, store->stands_in, error);
    if (rc == 0)
        store->stands_in =
            header.user_version < SCHEMA_VERSION ? header.user_version : 0;
    return rc;
}

int store_begin_read(struct cairn_store *store, struct cairn_error *error)
{
    store_assert_open(store);
    if (store->reads == 0 && !store->writing) {
        int rc = end_stand_in(store, error);
        if (!rc)
            rc = db_run(store->db, SQL_BEGIN_READ, NO_VALUES, error);
        if (rc)
            return rc;
        store->read_open = true;
    }
    store->reads++;
    return 0;
}

void store_end_read(struct cairn_store *store)
{
    assert(store->reads > 0);
    if (--store->reads > 0 || !store->read_open)
        return;
    store->read_open = false;
    if (db_run(store->db, SQL_COMMIT, NO_VALUES, NULL))
        db_rollback(store->db);
}

bool store_malformed(const struct cairn_store *store)
{
    return db_malformed(store->db);
}

uint32_t store_data_version(struct cairn_store *store)
{
    store_assert_open(store);
    int64_t version = 0;
    /* Unreadable looks like a change: whoever asked will read, and meet the error. */
    if (db_get_int(store->db, SQL_GET_DATA_VERSION, NO_VALUES, &version, NULL))
        return UINT32_MAX;
    return (uint32_t)version;
}
