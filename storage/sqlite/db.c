/* SPDX-License-Identifier: MIT */
/* Connections: opening, transactions, WAL transfer.
 *
 * Invariants
 * - No connection transfers the WAL by itself: not when it grows (our hook replaces the
 *   automatic transfer) and not when it closes.
 * - A failed write inside a transaction sticks (`failed`) until the rollback. */
#include "storage/sqlite/db.h"
#include "storage/sqlite/db_int.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

/* Waits inside SQLite. In WAL mode a writer waits only while another process rebuilds
 * the WAL index after a crash: writers queue at our own lock. With a rollback journal
 * readers and the writer wait for each other, and every store has one until its maker
 * has switched it to the WAL. */
enum { BUSY_WAL_MS = 250, BUSY_ROLLBACK_MS = 5000 };

/* ---- Opening ---- */

static int note_wal(void *context, sqlite3 *handle, const char *name, int pages)
{
    assert(pages >= 0);
    struct db *db = context;
    (void)handle;
    (void)name;
    db->wal_pages = (unsigned)pages;
    return SQLITE_OK;
}

static int configure_connection(struct db *db, bool read_only,
                                struct cairn_error *error)
{
    assert(db->handle);
    static const struct {
        int option, value;
    } settings[] = {{SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
                    {SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    /* We make none (but temporary views, which stay allowed): those
                     * that somebody put into a store are ignored. */
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                    {SQLITE_DBCONFIG_ENABLE_FKEY, 1}};
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        int rc = sqlite3_db_config(db->handle, settings[i].option, settings[i].value,
                                   (int *)NULL);
        if (rc != SQLITE_OK)
            return db_fail(db, rc, false, error);
    }
    sqlite3_busy_timeout(db->handle, BUSY_ROLLBACK_MS);
    sqlite3_wal_autocheckpoint(db->handle, 0);
    sqlite3_wal_hook(db->handle, note_wal, db);
    return db_script(db, read_only ? sql_settings : sql_settings_writer, error);
}

/* "file:" and the path, with the characters escaped that mean something in a URI. */
static void add_uri(struct buf *out, const char *path)
{
    buf_text(out, "file:");
    for (const char *c = path; *c; c++) {
        if (strchr("?#%", *c))
            buf_format(out, "%%%02X", (unsigned)(unsigned char)*c);
        else
            buf_byte(out, (uint8_t)*c);
    }
}

/* SQLite refuses a path behind which the name of a journal has no room. */
int db_path_limit(size_t *out, struct cairn_error *error)
{
    const sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    if (!files) /* it could not start */
        return error_nomem(error);
    assert(files->mxPathname > 100);
    *out = (size_t)files->mxPathname - strlen("-journal");
    return 0;
}

static int open_handle(struct db *db, const struct db_options *options,
                       struct cairn_error *error)
{
    struct buf uri = BUF_INIT;
    add_uri(&uri, options->path);
    if (options->immutable)
        buf_text(&uri, "?immutable=1");
    int rc = buf_check(&uri, error);
    if (!rc) {
        bool reader = options->read_only || options->immutable;
        int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                    SQLITE_OPEN_EXRESCODE |
                    (reader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
        int result = sqlite3_open_v2(uri.data, &db->handle, flags, NULL);
        if (result != SQLITE_OK)
            rc = db_fail(db, result, false, error);
    }
    buf_release(&uri);
    return rc;
}

static int open_configured(struct db *db, const struct db_options *options,
                           struct cairn_error *error)
{
    db->dir = options->dir;
    return open_handle(db, options, error)
               ?: configure_connection(db, options->read_only || options->immutable,
                                       error);
}

int db_open(struct db **out, const struct db_options *options,
            struct cairn_error *error)
{
    assert(options->dir && options->path);
    struct db *db = calloc(1, sizeof *db);
    if (!db)
        return error_nomem(error);
    db->thread = options->thread;
    int rc = open_configured(db, options, error);
    if (rc) {
        db_close(db);
        return rc;
    }
    *out = db;
    return 0;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    assert(db->running == 0 && !db->writing);
    for (size_t i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(db->statements[i]);
    int rc = sqlite3_close(db->handle);
    assert(rc == SQLITE_OK); /* fails only if a statement was leaked */
    (void)rc;
    free(db);
}

static int set_mode(struct db *db, enum sql_id id, struct str mode,
                    struct cairn_error *error)
{
    struct query query;
    assert(id == SQL_JOURNAL_WAL || id == SQL_JOURNAL_DELETE);
    bool set = false;
    query_start(&query, db, id, NO_VALUES, error);
    /* To the end: the row says what was tried, the end whether it could be written. */
    while (query_step(&query))
        set = str_equal(query_text(&query, 0), mode);
    int rc = query_end(&query);
    if (rc || set)
        return rc;
    return error_set(error, CAIRN_EIO,
                     "the store %s cannot be used with journal mode %.*s: is another "
                     "process reading it, or its file system without shared memory?",
                     db->dir, (int)mode.len, mode.ptr);
}

int db_set_journal(struct db *db, enum db_journal journal, enum cairn_sync sync,
                   struct cairn_error *error)
{
    assert(!db->writing && sqlite3_get_autocommit(db->handle));
    assert(db->running == 0);
    if (journal == DB_ROLLBACK) {
        int rc = set_mode(db, SQL_JOURNAL_DELETE, STR("delete"), error);
        return rc ?: db_script(db, sql_sync_extra, error);
    }
    int rc = set_mode(db, SQL_JOURNAL_WAL, STR("wal"), error);
    if (rc)
        return rc;
    sqlite3_busy_timeout(db->handle, BUSY_WAL_MS);
    return db_script(db,
                     sync == CAIRN_SYNC_FULL     ? sql_sync_full
                     : sync == CAIRN_SYNC_NORMAL ? sql_sync_normal
                                                 : sql_sync_off,
                     error);
}

int db_header(struct db *db, struct db_header *header, struct cairn_error *error)
{
    struct db_header found;
    int rc =
        db_get_int(db, SQL_GET_APPLICATION_ID, NO_VALUES, &found.application_id, error)
            ?: db_get_int(db, SQL_GET_USER_VERSION, NO_VALUES, &found.user_version,
                          error);
    if (!rc)
        *header = found;
    return rc;
}

int db_probe(const struct db_options *options, struct db_header *header,
             struct cairn_error *error)
{
    assert(options->dir && options->path);
    struct db *db = calloc(1, sizeof *db);
    if (!db)
        return error_nomem(error);
    struct db_options look = *options;
    look.immutable = true;
    /* Even the first statement may find the file shorter than its header says. */
    int rc = open_configured(db, &look, error) ?: db_header(db, header, error);
    if (rc && (db->result & 0xff) == SQLITE_CORRUPT)
        rc = 1;
    db_close(db);
    return rc;
}

/* By SQLite's own descriptor: closing another one would drop its locks. */
bool db_read_file(struct db *db, uint64_t at, void *out, size_t n)
{
    sqlite3_file *file = NULL;
    assert(n <= INT_MAX && at <= INT64_MAX);
    return sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) ==
               SQLITE_OK &&
           file && file->pMethods &&
           file->pMethods->xRead(file, out, (int)n, (sqlite3_int64)at) == SQLITE_OK;
}

int db_script(struct db *db, const char *sql, struct cairn_error *error)
{
    assert(sql[0]);
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : db_fail(db, rc, true, error);
}

/* ---- Transactions ---- */

int db_begin_write(struct db *db, struct cairn_error *error)
{
    assert(!db->writing);
    /* Without memory a read transaction may not have ended. */
    if (!sqlite3_get_autocommit(db->handle) && !db_rollback(db))
        return error_set(error, CAIRN_EIO,
                         "the database cannot end a transaction; try again");
    db->failed = db->broken = false;
    int rc = db_run(db, SQL_BEGIN_WRITE, NO_VALUES, error);
    assert(rc || !sqlite3_get_autocommit(db->handle));
    if (!rc)
        db->writing = true;
    return rc;
}

int db_commit(struct db *db, struct cairn_error *error)
{
    assert(db->writing && !db->failed);
    int rc = db_run(db, SQL_COMMIT, NO_VALUES, error);
    assert(rc || sqlite3_get_autocommit(db->handle));
    if (!rc || db_commit_unsynced(db))
        db->writing = db->failed = false;
    return rc;
}

bool db_rollback(struct db *db)
{
    bool good = true;
    if (!sqlite3_get_autocommit(db->handle))
        good = db_run(db, SQL_ROLLBACK, NO_VALUES, NULL) == 0;
    assert(!good || sqlite3_get_autocommit(db->handle));
    db->writing = db->failed = false;
    return good;
}

bool db_writing(const struct db *db)
{
    return db->writing;
}

bool db_failed(const struct db *db)
{
    return db->failed;
}

bool db_broken(const struct db *db)
{
    return db->broken;
}

uint64_t db_changes(const struct db *db)
{
    return (unsigned)sqlite3_total_changes(db->handle);
}

size_t db_running(const struct db *db)
{
    return db->running;
}

uint32_t db_version(struct db *db)
{
    unsigned version = 0;
    int rc =
        sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    assert(rc == SQLITE_OK); /* fails only for an unknown database name */
    (void)rc;
    return version;
}

/* ---- WAL transfer ---- */

unsigned db_wal_pages(const struct db *db)
{
    return db->wal_pages;
}

/* Through SQLite's own handle: it must stay the only one to open the file. The page
 * size is the one that schema.c chose; another would only make the file grow too far or
 * too little. */
void db_reserve_wal(struct db *db)
{
    assert(!db->writing);
    enum { FRAME = 24 + 2048, AHEAD = 16, LEAST = 64 << 10, MOST = 512 << 10 };
    static const char zeros[16 << 10];
    sqlite3_int64 size;
    sqlite3_file *file = db_journal_file(db);
    if (!file || file->pMethods->xFileSize(file, &size))
        return;
    int64_t end = size + (size < LEAST ? LEAST : size > MOST ? MOST : size);
    if (((int64_t)db->wal_pages + AHEAD) * FRAME > size)
        while (size < end &&
               file->pMethods->xWrite(file, zeros, sizeof zeros, size) == SQLITE_OK)
            size += (int64_t)sizeof zeros;
}

bool db_empty_wal(struct db *db)
{
    assert(!db->writing);
    sqlite3_busy_timeout(db->handle, 0);
    int rc = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                       NULL, NULL);
    sqlite3_busy_timeout(db->handle, BUSY_WAL_MS);
    return rc == SQLITE_OK;
}

int db_transfer(struct db *db, bool *complete, struct cairn_error *error)
{
    assert(!db->writing);
    int pages = -1, copied = -1;
    sqlite3_busy_timeout(db->handle, 0); /* readers are not waited for */
    int rc = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE,
                                       &pages, &copied);
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY) {
        rc = db_fail(db, rc, false, error);
        sqlite3_busy_timeout(db->handle, BUSY_WAL_MS);
        return rc;
    }
    sqlite3_busy_timeout(db->handle, BUSY_WAL_MS);
    *complete = pages >= 0 && pages == copied;
    return 0;
}
