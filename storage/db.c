/* SPDX-License-Identifier: MIT */
/* Connections: opening, transactions, WAL transfer, and what SQLite's errors mean.
 *
 * Invariants
 * - No connection transfers the WAL by itself: not when it grows (our hook replaces the
 *   automatic transfer) and not when it closes.
 * - A failed write inside a transaction sticks (`failed`) until the rollback. */
#include "storage/db_int.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Waits inside SQLite. A writer in WAL mode should never wait (writers meet at our own
 * lock) but for the moment in which another process rebuilds the WAL index after a
 * crash. With a rollback journal readers and the writer wait for each other, and every
 * store has one until its maker has switched it to the WAL. */
enum { BUSY_WAL_MS = 250, BUSY_ROLLBACK_MS = 5000 };

static bool is_full(int rc, int sys)
{
    return (rc & 0xff) == SQLITE_FULL ||
           ((rc & 0xff) == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT));
}

/* The WAL's or rollback journal's file, as SQLite has it open; NULL if it has not. */
static sqlite3_file *journal_file(struct db *db)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) ||
        !file || !file->pMethods)
        return NULL;
    return file;
}

/* The newest errno that stayed with one of the files. */
static int file_error(struct db *db)
{
    int sys = 0;
    sqlite3_file *file = journal_file(db);
    if (file)
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &sys);
    if (!sys)
        sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_LAST_ERRNO, &sys);
    return sys;
}

int db_read_error(struct db *db)
{
    int sys = file_error(db);
    return sys == EIO || sys == ENXIO ? sys : 0;
}

/* Damage never keeps SQLite from getting a page of a list (it looks at the number
 * before), and has a code of its own at a page of a tree. */
bool db_lacked_memory(const char *findings)
{
    static const char of_list[] = "failed to get page",
                      of_tree[] = "unable to get the page. error code=";
    if (!findings || strstr(findings, of_list))
        return true;
    while ((findings = strstr(findings, of_tree))) {
        findings += sizeof of_tree - 1;
        long code = strtol(findings, NULL, 10);
        if (code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
            return true;
    }
    return false;
}

/* The errno behind an input/output error. SQLite hands it on for some statements only;
 * for a commit it stays with the file. */
static int system_error(struct db *db, int rc)
{
    int sys = sqlite3_system_errno(db->handle);
    return sys || (rc & 0xff) != SQLITE_IOERR ? sys : file_error(db);
}

/* Where the system could not read a page SQLite says that the database is malformed
 * (SQLITE_IOERR_CORRUPTFS becomes SQLITE_CORRUPT). That is for the disk, not for
 * `cairn doctor`, and the next try may well succeed. */
static int unmask(struct db *db, int rc)
{
    if ((rc & 0xff) != SQLITE_CORRUPT || !db->handle)
        return rc;
    return db_read_error(db) ? SQLITE_IOERR_READ : rc;
}

/* A system error in parentheses of a message; "" for none. */
static const char *reason(int sys, char *out, size_t size)
{
    char text[128];
    out[0] = 0;
    if (sys)
        snprintf(out, size, ": %s", strerror_r(sys, text, sizeof text));
    return out;
}

static int describe(struct db *db, int rc, struct cairn_error *error)
{
    assert(db->dir);
    bool unmasked = rc == SQLITE_IOERR_READ; /* the message is of something else */
    const char *text =
        db->handle && !unmasked ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc);
    int sys = db->handle ? system_error(db, rc) : 0;
    char why[160];
    if (is_full(rc, sys)) {
        error_set(error, CAIRN_EIO,
                  "the disk that holds %s is full: free some space there and go on",
                  db->dir);
        if (error)
            error->sys = ENOSPC;
        return CAIRN_EIO;
    }
    if (rc == SQLITE_READONLY_ROLLBACK)
        return error_set(
            error, CAIRN_EIO,
            "a process was interrupted while it wrote to the store %s: the "
            "next command that writes, such as `cairn resume`, puts it "
            "right",
            db->dir);
    switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* a table or column of the schema is missing */
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return error_set(error, CAIRN_EDAMAGED,
                         "the store %s is damaged (%s): run `cairn doctor`", db->dir,
                         text);
    case SQLITE_NOMEM:
        return error_nomem(error);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return error_set(error, CAIRN_EBUSY,
                         "the store %s is in use by another process (%s): try again",
                         db->dir, text);
    case SQLITE_TOOBIG:
        return error_set(error, CAIRN_ELIMIT, "too large for the store %s (%s)",
                         db->dir, text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
        error_set(
            error, CAIRN_EIO,
            "cannot open or write the store %s (%s%s): make its directory and files "
            "writable, or give another with --store",
            db->dir, text, reason(sys, why, sizeof why));
        break;
    default:
        error_set(error, CAIRN_EIO,
                  "input/output error on the store %s (%s%s): look at the disk and the "
                  "system's log",
                  db->dir, text, reason(sys, why, sizeof why));
    }
    if (error)
        error->sys = sys;
    return CAIRN_EIO;
}

int db_fail(struct db *db, int rc, bool write, struct cairn_error *error)
{
    assert(rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE);
    rc = unmask(db, rc);
    int kind = rc & 0xff;
    db->result = rc;
    db->malformed = db->malformed || kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB;
    if (db->writing && (write || sqlite3_get_autocommit(db->handle))) {
        db->failed = true;
        if (kind == SQLITE_IOERR || kind == SQLITE_FULL || kind == SQLITE_CANTOPEN)
            db->broken = true;
    }
    return describe(db, rc, error);
}

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

static int configure(struct db *db, bool read_only, struct cairn_error *error)
{
    assert(db->handle);
    static const struct {
        int option, value;
    } settings[] = {{SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
                    {SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    /* We make none (but temporary views, which stay allowed): what
                     * somebody put into a store is neither run nor looked through. */
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                    {SQLITE_DBCONFIG_ENABLE_FKEY, 1}};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
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

/* "file:" and the path with everything escaped that a URI gives a meaning. */
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
    int rc = open_handle(db, options, error);
    return rc ? rc : configure(db, options->read_only || options->immutable, error);
}

int db_open(struct db **out, const struct db_options *options,
            struct cairn_error *error)
{
    assert(options->dir && options->path);
    struct db *db = calloc(1, sizeof *db);
    if (!db)
        return error_nomem(error);
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
    assert(db->running == 0);
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
    int rc = query_start(&query, db, id, NO_VALUES, error);
    /* To the end: the row tells what was tried, the end whether it could be written. */
    while (rc >= 0 && (rc = query_step(&query, error)) > 0)
        set = str_equal(query_text(&query, 0), mode);
    query_end(&query);
    if (rc < 0 || set)
        return rc < 0 ? rc : 0;
    return error_set(error, CAIRN_EIO,
                     "the store %s cannot be used with journal mode %.*s: is another "
                     "process reading it, or its file system without shared memory?",
                     db->dir, (int)mode.len, mode.ptr);
}

int db_set_journal(struct db *db, enum db_journal journal, enum cairn_sync sync,
                   struct cairn_error *error)
{
    assert(!db->writing && sqlite3_get_autocommit(db->handle));
    if (journal == DB_ROLLBACK) {
        int rc = set_mode(db, SQL_JOURNAL_DELETE, STR("delete"), error);
        return rc ? rc : db_script(db, sql_sync_extra, error);
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
        db_get_int(db, SQL_GET_APPLICATION_ID, NO_VALUES, &found.application_id, error);
    if (!rc)
        rc =
            db_get_int(db, SQL_GET_USER_VERSION, NO_VALUES, &found.user_version, error);
    if (!rc)
        *header = found;
    return rc;
}

int db_probe(const struct db_options *options, struct db_header *header,
             struct cairn_error *error)
{
    struct db *db = calloc(1, sizeof *db);
    if (!db)
        return error_nomem(error);
    struct db_options look = *options;
    look.immutable = true;
    /* Already the first statement may find the file shorter than its header says. */
    int rc = open_configured(db, &look, error);
    if (!rc)
        rc = db_header(db, header, error);
    if (rc && (db->result & 0xff) == SQLITE_CORRUPT)
        rc = 1;
    db_close(db);
    return rc;
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
    assert(!db->writing && sqlite3_get_autocommit(db->handle));
    db->failed = db->broken = false;
    int rc = db_run(db, SQL_BEGIN_WRITE, NO_VALUES, error);
    if (!rc)
        db->writing = true;
    return rc;
}

int db_commit(struct db *db, struct cairn_error *error)
{
    assert(db->writing);
    int rc = db_run(db, SQL_COMMIT, NO_VALUES, error);
    if (!rc || db_commit_unsynced(db))
        db->writing = false;
    return rc;
}

bool db_malformed(const struct db *db)
{
    return db->malformed;
}

bool db_commit_unsynced(const struct db *db)
{
    return db->result == SQLITE_IOERR_DIR_FSYNC;
}

bool db_rollback(struct db *db)
{
    bool good = true;
    if (!sqlite3_get_autocommit(db->handle))
        good = db_run(db, SQL_ROLLBACK, NO_VALUES, NULL) == 0;
    db->writing = db->failed = false;
    return good;
}

bool db_failed(const struct db *db)
{
    return db->failed;
}

bool db_broken(const struct db *db)
{
    return db->broken;
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
 * size is the one that schema.c chose; being wrong about it would only waste or want
 * room. */
void db_reserve_wal(struct db *db)
{
    assert(!db->writing);
    enum { FRAME = 24 + 2048, AHEAD = 16, LEAST = 64 << 10, MOST = 512 << 10 };
    static const char zeros[16 << 10];
    sqlite3_int64 size;
    if (((int64_t)db->wal_pages + AHEAD) * FRAME <= db->wal_bytes)
        return;
    sqlite3_file *file = journal_file(db);
    if (!file || file->pMethods->xFileSize(file, &size))
        return;
    int64_t end = size + (size < LEAST ? LEAST : size > MOST ? MOST : size);
    if (((int64_t)db->wal_pages + AHEAD) * FRAME > size)
        while (size < end &&
               file->pMethods->xWrite(file, zeros, sizeof zeros, size) == SQLITE_OK)
            size += (int64_t)sizeof zeros;
    db->wal_bytes = size;
}

int db_transfer(struct db *db, bool truncate, bool *complete, struct cairn_error *error)
{
    assert(!db->writing);
    int pages = -1, copied = -1;
    sqlite3_busy_timeout(db->handle, 0); /* readers are not waited for */
    int rc = sqlite3_wal_checkpoint_v2(db->handle, NULL,
                                       truncate ? SQLITE_CHECKPOINT_TRUNCATE
                                                : SQLITE_CHECKPOINT_PASSIVE,
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

int db_is(struct db *db, enum sql_id id, const struct sql_value *values, size_t n,
          bool *is, struct cairn_error *error)
{
    int64_t found = 0;
    int rc = db_get_int(db, id, values, n, &found, error);
    *is = found != 0;
    return rc;
}

int db_each_number(struct db *db, enum sql_id id, int (*each)(void *, uint64_t),
                   void *context, struct cairn_error *error)
{
    struct query query;
    assert(each);
    int rc = query_start(&query, db, id, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        rc = each(context, query_u64(&query, 0));
        if (rc)
            break;
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
}

int db_each_pair(struct db *db, enum sql_id id, int (*each)(void *, uint64_t, uint64_t),
                 void *context, struct cairn_error *error)
{
    struct query query;
    assert(each);
    int rc = query_start(&query, db, id, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        rc = each(context, query_u64(&query, 0), query_u64(&query, 1));
        if (rc)
            break;
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
}
