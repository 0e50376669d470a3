/* SPDX-License-Identifier: MIT */
/* Transactions: for writing, under the write lock (byte LOCK_COMMIT), and for reading.
 *
 * Every transfer of the WAL happens under the write lock, too, because SQLite before
 * 3.51.3 can corrupt a database when one connection transfers the WAL while another one
 * writes. */
#include "base/os.h"
#include "storage/schema.h"
#include "storage/sqlite/db.h"
#include "storage/sqlite/statement.h"
#include "storage/store_int.h"

#include <assert.h>
#include <time.h>

/* Pages until the next try, where readers hold the WAL. */
enum { TRANSFER_STEP = 1000 };

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

/* ---- Writing ---- */

static int begin_locked(struct cairn_store *store, struct cairn_error *error)
{
    assert(!store->writing);
    int rc = lock_check(&store->lock, store->paths.lock, error);
    if (!rc && store->journal == DB_WAL)
        rc = store_check_wal(store, error);
    if (!rc && store->poisoned)
        rc = store_reopen(store, error);
    if (!rc && store->journal == DB_WAL && !store->marked)
        rc = store_ensure_marker(store, error);
    return rc ?: db_begin_write(store->db, error);
}

int store_begin(struct cairn_store *store, int wait_ms, struct cairn_error *error)
{
    int code = db_thread_check(&store->thread, error);
    if (code)
        return code;
    store_assert_open(store);
    assert(!store->writing && !store->read_open && wait_ms >= -1);
    if (store->read_only)
        return error_set(error, CAIRN_EUSAGE, "the store %s was opened read-only",
                         store->paths.dir);
    if (store->in_doubt)
        return error_set(error, CAIRN_EIO,
                         "the directory %s could not be synced, so whether the last "
                         "commit lasts is not known: nothing more is written now; "
                         "`cairn resume` continues from what is there",
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
    store->changes = db_changes(store->db);
    if (db_version(store->db) != store->version) {
        store->next_seq = 0;
        store->turns.fresh = false;
        store->knows_collecting = false;
    }
    store_assert_writing(store);
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
    store_tallies_end(store);
    store->annotations_fit = false;
    store->items_fit = 0;
    store->writing = false;
    store_assert_open(store);
    lock_drop(&store->lock, LOCK_COMMIT);
    store_end_notices(store, false);
}

/* A failed transfer undoes nothing: the commits are durable in the WAL. */
static void transfer_if_grown(struct cairn_store *store)
{
    bool complete;
    assert(!store->writing);
    unsigned pages = db_wal_pages(store->db);
    if (pages < store->wal_pages)
        store->transfer_pages = STORE_TRANSFER_PAGES; /* the WAL was restarted */
    store->wal_pages = pages;
    if (store->journal != DB_WAL || pages < store->transfer_pages)
        return;
    if (db_transfer(store->db, &complete, NULL))
        store->poisoned = true;
    store->transfer_pages = pages + TRANSFER_STEP;
}

/* Whoever reads holds it for a short time only. Others may write between the tries. The
 * marker may stand beside an empty log: it names the last commit, which is then in the
 * database (store_check.c). */
void store_empty_log(struct cairn_store *store)
{
    enum { TRIES = 15 };
    static const struct timespec pause = {.tv_nsec = 20000000};
    bool emptied = store->read_only || store->journal != DB_WAL;
    for (int i = 0; i < TRIES && !emptied; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        if (store_take_lock(store, store->lock_wait_ms, NULL))
            return;
        if (store->poisoned || store_check_wal(store, NULL))
            emptied = true; /* not by us */
        else
            emptied = db_empty_wal(store->db);
        lock_drop(&store->lock, LOCK_COMMIT);
    }
}

/* A commit that took effect must not be reported as failed: the caller would write the
 * same a second time. */
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
    int rc = store_put_tallies(store, error)
             ?: store_number_commit(store, error)
             ?: commit_once(store, error);
    if (rc) {
        store_abort(store);
        store->poisoned = true;
        return rc;
    }
    store->writing = false;
    store_assert_open(store);
    if (store->journal == DB_WAL && !store->log_noted)
        store_note_log(store);
    if (store->journal == DB_WAL)
        store_note_commit(store);
    store->committed = store->pending;
    store_turns_end(store, true);
    store_tallies_end(store);
    store->version = db_version(store->db);
    transfer_if_grown(store);
    if (store->journal == DB_WAL && store->sync == CAIRN_SYNC_FULL && !store->poisoned)
        db_reserve_wal(store->db);
    lock_drop(&store->lock, LOCK_COMMIT);
    store_end_notices(store, true);
    return 0;
}

/* ---- Reading ---- */

/* A writer may since have migrated the older store that this reader has open. */
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
    bool older = header.user_version < SCHEMA_VERSION;
    if (!rc && older)
        rc = schema_stand_in(store->db, &header, error);
    if (!rc)
        store->stands_in = older ? header.user_version : 0;
    return rc;
}

int store_begin_read(struct cairn_store *store, struct cairn_error *error)
{
    int code = db_thread_check(&store->thread, error);
    if (code)
        return code;
    store_assert_open(store);
    if (store->reads == 0 && !store->writing) {
        int rc = end_stand_in(store, error)
                     ?: db_run(store->db, SQL_BEGIN_READ, NO_VALUES, error);
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
    /* Unreadable counts as a change: the caller will read, and get the error. */
    if (db_get_int(store->db, SQL_GET_DATA_VERSION, NO_VALUES, &version, NULL))
        return UINT32_MAX;
    return (uint32_t)version;
}

uint32_t cairn_store_changes(struct cairn_store *store)
{
    return store_data_version(store);
}
