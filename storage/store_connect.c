/* SPDX-License-Identifier: MIT */
/* The connection of a store: made ready for use, and made anew after an error of the
 * system (the state "poisoned" in store_int.h). */
#include "base/lock.h"
#include "storage/rows_int.h"
#include "storage/schema.h"

#include <assert.h>
#include <sys/statvfs.h>

/* ---- Connecting ---- */

/* On a file system mounted read-only SQLite cannot make the files that WAL mode needs,
 * and nobody can change the database: then that file alone is read. */
static bool is_frozen(const struct cairn_store *store)
{
    struct statvfs fs;
    int64_t wal = 0, journal = 0;
    return statvfs(store->paths.dir, &fs) == 0 && (fs.f_flag & ST_RDONLY) &&
           store_file(store->paths.wal, NULL, &wal, NULL) >= 0 && wal == 0 &&
           store_file(store->paths.journal, NULL, &journal, NULL) >= 0 && journal == 0;
}

static int prepare_writer(struct cairn_store *store, struct db *db,
                          struct cairn_error *error)
{
    struct db_header header;
    assert(!store->read_only && db != store->db);
    bool alone = lock_held(&store->lock, LOCK_WRITERS, NULL) == 0;
    int rc = schema_prepare(db, store->paths.dir, alone, error)
                 ?: db_set_journal(db, store->journal, store->sync, error);
    if (rc || store->journal != DB_WAL)
        return rc;
    /* SQLite opens the WAL with the next read. */
    rc = db_header(db, &header, error)
             ?: store_file(store->paths.wal, &store->wal_inode, NULL, error);
    return rc < 0 ? rc : 0;
}

static int prepare_reader(struct cairn_store *store, struct db *db,
                          struct cairn_error *error)
{
    struct db_header header;
    assert(store->read_only);
    int rc = db_header(db, &header, error)
             ?: schema_check(&header, store->paths.dir, error)
             ?: schema_stand_in(db, &header, error);
    if (!rc)
        store->stands_in =
            header.user_version < SCHEMA_VERSION ? header.user_version : 0;
    return rc;
}

int store_connect(struct cairn_store *store, struct db **out, struct cairn_error *error)
{
    assert(store->read_only || store->lock.fd >= 0);
    struct db_options options = {.dir = store->paths.dir,
                                 .path = store->paths.db,
                                 .read_only = store->read_only,
                                 .immutable = store->read_only && is_frozen(store),
                                 .thread = &store->thread};
    struct db *db;
    int rc = db_open(&db, &options, error);
    if (rc)
        return rc;
    rc = store->read_only ? prepare_reader(store, db, error)
                          : prepare_writer(store, db, error);
    assert(db_running(db) == 0 && !db_writing(db));
    if (rc)
        db_close(db);
    else
        *out = db;
    return rc;
}

/* ---- Reopening ---- */

static int tail_differs(const struct cairn_store *store, struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "the store %s does not hold what was last committed (checkpoint "
                     "%llu): run `cairn doctor`",
                     store->paths.dir, (unsigned long long)store->committed.seq);
}

/* The newest checkpoint that we committed must be there. Another process may have
 * pruned it since then, but its number stays taken. */
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
    query_start(&query, db, SQL_GET_CHECKPOINT, VALUES(value_u64(store->committed.seq)),
                error);
    if (query_step(&query))
        query.rc = str_equal(query_blob(&query, CHECKPOINT_DIGEST_AT),
                             digest_view(&store->committed.digest))
                       ? 0
                       : tail_differs(store, error);
    return query_end(&query);
}

/* The new connection is opened before the old one is closed. So the index of the WAL is
 * never rebuilt from the file in between, which could bring back a transaction whose
 * frames were written but whose commit was reported as failed. */
int store_reopen(struct cairn_store *store, struct cairn_error *error)
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
    /* The disk may be full: once the WAL's pages are in the database, the WAL can be
     * written from its start again. If that fails, the next commit returns the error.
     */
    if (store->journal == DB_WAL) {
        bool complete;
        db_transfer(db, &complete, NULL);
    }
    return 0;
}
