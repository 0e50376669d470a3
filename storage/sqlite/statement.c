/* SPDX-License-Identifier: MIT */
/* Statements, prepared once per connection, bound and stepped through one helper; what
 * SQLite's errors mean. */
#include "storage/sqlite/statement.h"
#include "storage/sqlite/db.h"
#include "storage/sqlite/db_int.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* What SQLite's errors mean: for the open transaction, and in words for the user. */

static bool is_full(int rc, int sys)
{
    return (rc & 0xff) == SQLITE_FULL ||
           ((rc & 0xff) == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT));
}

/* The WAL's or rollback journal's file, as SQLite has it open; NULL if it has not. */
sqlite3_file *db_journal_file(struct db *db)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) ||
        !file || !file->pMethods || !file->pMethods->xFileControl)
        return NULL; /* or it is in memory */
    return file;
}

/* The newest errno that one of the files keeps. */
static int file_error(struct db *db)
{
    int sys = 0;
    sqlite3_file *file = db_journal_file(db);
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

/* Damage never keeps SQLite from getting a page of a list (it checks the number first),
 * and at a page of a tree it has a code of its own. */
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

/* The errno behind an input/output error. SQLite passes it on for some statements only;
 * for a commit the file keeps it. */
static int system_error(struct db *db, int rc)
{
    int sys = sqlite3_system_errno(db->handle);
    return sys || (rc & 0xff) != SQLITE_IOERR ? sys : file_error(db);
}

/* Where the system could not read a page, SQLite says that the database is malformed
 * (SQLITE_IOERR_CORRUPTFS becomes SQLITE_CORRUPT). But then the disk is at fault, not
 * the store, and the next try may well succeed. */
static int find_read_error(struct db *db, int rc)
{
    if ((rc & 0xff) != SQLITE_CORRUPT || !db->handle)
        return rc;
    return db_read_error(db) ? SQLITE_IOERR_READ : rc;
}

/* ": " and the text of a system error, for a message; "" for none. */
static const char *system_reason(int sys, char *out, size_t size)
{
    char text[128];
    out[0] = 0;
    if (sys)
        snprintf(out, size, ": %s", strerror_r(sys, text, sizeof text));
    return out;
}

/* Nothing that SQLite refuses to read for its size was ever written by it. */
static bool is_damage(int rc, bool write)
{
    int kind = rc & 0xff;
    return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB ||
           (kind == SQLITE_TOOBIG && !write);
}

static int describe_error(struct db *db, int rc, bool write, struct cairn_error *error)
{
    assert(db->dir);
    bool replaced = rc == SQLITE_IOERR_READ; /* SQLite's message is about damage */
    const char *text =
        db->handle && !replaced ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc);
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
    switch (is_damage(rc, write) ? SQLITE_CORRUPT : rc & 0xff) {
    case SQLITE_CORRUPT:
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
            db->dir, text, system_reason(sys, why, sizeof why));
        break;
    default:
        error_set(error, CAIRN_EIO,
                  "input/output error on the store %s (%s%s): look at the disk and the "
                  "system's log",
                  db->dir, text, system_reason(sys, why, sizeof why));
    }
    if (error)
        error->sys = sys;
    return CAIRN_EIO;
}

int db_fail(struct db *db, int rc, bool write, struct cairn_error *error)
{
    assert(rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE);
    assert(!db->failed || db->writing);
    rc = find_read_error(db, rc);
    int kind = rc & 0xff;
    db->result = rc;
    db->malformed = db->malformed || is_damage(rc, write);
    if (db->writing && (write || sqlite3_get_autocommit(db->handle))) {
        db->failed = true;
        if (kind == SQLITE_IOERR || kind == SQLITE_FULL || kind == SQLITE_CANTOPEN)
            db->broken = true;
    }
    int code = describe_error(db, rc, write, error);
    assert(code < 0);
    return code;
}

bool db_malformed(const struct db *db)
{
    return db->malformed;
}

bool db_commit_unsynced(const struct db *db)
{
    return db->result == SQLITE_IOERR_DIR_FSYNC;
}

/* Statements: prepared once per connection, bound and stepped through one helper. */

static int prepare_statement(struct db *db, enum sql_id id, bool keep,
                             sqlite3_stmt **out, struct cairn_error *error)
{
    assert(!keep || !db->statements[id]);
    const char *sql = sql_text(id);
    int rc = sqlite3_prepare_v3(db->handle, sql, -1,
                                keep ? SQLITE_PREPARE_PERSISTENT : 0, out, NULL);
    return rc == SQLITE_OK ? 0 : db_fail(db, rc, false, error);
}

static int bind_value(sqlite3_stmt *statement, int index, const struct sql_value *value)
{
    assert(index > 0);
    assert(value->bytes.ptr || value->bytes.len == 0);
    /* SQLite takes a NULL pointer for the value NULL, even with length 0. */
    const char *bytes = value->bytes.ptr ? value->bytes.ptr : "";
    switch (value->kind) {
    case SQL_VALUE_NULL:
        return sqlite3_bind_null(statement, index);
    case SQL_VALUE_INT:
        return sqlite3_bind_int64(statement, index, value->integer);
    case SQL_VALUE_BLOB:
        return sqlite3_bind_blob64(statement, index, bytes, value->bytes.len,
                                   SQLITE_STATIC);
    case SQL_VALUE_TEXT:
        return sqlite3_bind_text64(statement, index, bytes, value->bytes.len,
                                   SQLITE_STATIC, SQLITE_UTF8);
    }
    return SQLITE_MISUSE;
}

int db_thread_check(const struct db_thread *thread, struct cairn_error *error)
{
    if (!thread || !thread->bound || pthread_equal(thread->id, pthread_self()))
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "this handle of the store is used by a run on another thread: "
                     "open another one");
}

static void note_result(struct query *query, int rc)
{
    if (rc != SQLITE_OK)
        query->rc = db_fail(query->db, rc, !sqlite3_stmt_readonly(query->statement),
                            query->error);
}

void query_start(struct query *query, struct db *db, enum sql_id id,
                 const struct sql_value *values, size_t n, struct cairn_error *error)
{
    assert((unsigned)id < SQL_COUNT);
    assert(n == 0 || values);
    *query = (struct query){.db = db, .id = id, .error = error};
    query->rc = db_thread_check(db->thread, error);
    if (query->rc)
        return;
    sqlite3_stmt *statement = db->statements[id];
    bool temporary = db->busy[id];
    if (temporary || !statement) {
        query->rc = prepare_statement(db, id, !temporary, &statement, error);
        if (query->rc)
            return;
        if (!temporary)
            db->statements[id] = statement;
    }
    query->statement = statement;
    query->temporary = temporary;
    if (!temporary)
        db->busy[id] = true;
    db->running++;
    assert(!sqlite3_stmt_busy(statement)); /* it was reset after its last use */
    assert((size_t)sqlite3_bind_parameter_count(statement) == n);
    for (size_t i = 0; i < n && !query->rc; i++)
        note_result(query, bind_value(statement, (int)i + 1, &values[i]));
}

bool query_step(struct query *query)
{
    query->columns = 0;
    if (query->rc)
        return false;
    assert(query->statement); /* started, and not ended */
    int rc = sqlite3_step(query->statement);
    if (rc == SQLITE_ROW)
        query->columns = sqlite3_data_count(query->statement);
    else if (rc != SQLITE_DONE)
        note_result(query, rc);
    return rc == SQLITE_ROW;
}

int query_end(struct query *query)
{
    int result = query->rc < 0 ? query->rc : 0;
    if (!query->statement)
        return result;
    assert(query->db->running > 0);
    assert(query->temporary || query->db->busy[query->id]);
    /* Both only repeat the error of the step before. */
    if (query->temporary)
        sqlite3_finalize(query->statement);
    else
        sqlite3_reset(query->statement);
    if (!query->temporary)
        query->db->busy[query->id] = false;
    query->db->running--;
    query->statement = NULL;
    query->columns = 0;
    return result;
}

/* Columns are read by our own numbers, and only while there is a row. */
static sqlite3_stmt *row_of(const struct query *query, int column)
{
    assert(column >= 0 && column < query->columns);
    return query->statement;
}

int64_t query_int(const struct query *query, int column)
{
    return sqlite3_column_int64(row_of(query, column), column);
}

uint64_t query_u64(const struct query *query, int column)
{
    return (uint64_t)query_int(query, column);
}

uint8_t query_u8(const struct query *query, int column)
{
    int64_t value = query_int(query, column);
    return value >= 0 && value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

uint16_t query_u16(const struct query *query, int column)
{
    int64_t value = query_int(query, column);
    return value >= 0 && value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
}

bool query_null(const struct query *query, int column)
{
    return sqlite3_column_type(row_of(query, column), column) == SQLITE_NULL;
}

int64_t query_int_or(const struct query *query, int column, int64_t absent)
{
    return query_null(query, column) ? absent : query_int(query, column);
}

struct sql_value query_value(const struct query *query, int column)
{
    switch (sqlite3_column_type(row_of(query, column), column)) {
    case SQLITE_NULL:
        return value_some(SQL_VALUE_BLOB, (struct str){NULL, 0});
    case SQLITE_BLOB:
        return value_blob(query_blob(query, column));
    case SQLITE_TEXT:
        return value_text(query_text(query, column));
    default:
        return value_int(query_int(query, column));
    }
}

/* Out of memory SQLite gives no pointer, but still the length. */
static struct str view_of(const char *bytes, int size)
{
    assert(size >= 0);
    return (struct str){bytes, bytes ? (size_t)size : 0};
}

struct str query_blob(const struct query *query, int column)
{
    sqlite3_stmt *row = row_of(query, column);
    const char *bytes = sqlite3_column_blob(row, column);
    return view_of(bytes, sqlite3_column_bytes(row, column));
}

struct str query_text(const struct query *query, int column)
{
    sqlite3_stmt *row = row_of(query, column);
    const void *bytes = sqlite3_column_text(row, column);
    return view_of(bytes, sqlite3_column_bytes(row, column));
}

int db_run(struct db *db, enum sql_id id, const struct sql_value *values, size_t n,
           struct cairn_error *error)
{
    struct query query;
    query_start(&query, db, id, values, n, error);
    while (query_step(&query))
        continue;
    return query_end(&query);
}

int db_get_int(struct db *db, enum sql_id id, const struct sql_value *values, size_t n,
               int64_t *out, struct cairn_error *error)
{
    struct query query;
    query_start(&query, db, id, values, n, error);
    int64_t found = 0;
    if (query_step(&query)) {
        found = query_int(&query, 0);
        while (query_step(&query)) /* to the end: a write may still fail there */
            continue;
    } else if (!query.rc) {
        query.rc = error_set(error, CAIRN_ENOTFOUND, "not found");
    }
    int rc = query_end(&query);
    if (!rc)
        *out = found;
    return rc;
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
    query_start(&query, db, id, NO_VALUES, error);
    while (query_step(&query))
        query.rc = each(context, query_u64(&query, 0));
    return query_end(&query);
}

int db_each_pair(struct db *db, enum sql_id id, int (*each)(void *, uint64_t, uint64_t),
                 void *context, struct cairn_error *error)
{
    struct query query;
    assert(each);
    query_start(&query, db, id, NO_VALUES, error);
    while (query_step(&query))
        query.rc = each(context, query_u64(&query, 0), query_u64(&query, 1));
    return query_end(&query);
}

/* The function cairn_phrases of a connection, by which FTS5 gives its lists: for the
 * first row that fits, it reads them all. */

struct phrase_reading {
    int (*each)(void *, const struct phrase_row *);
    void *context;
    struct phrase_row row;
    int rc; /* the first negative return of `each` */
};

static int read_row(const Fts5ExtensionApi *api, Fts5Context *fts, void *user)
{
    struct phrase_reading *reading = user;
    struct phrase_row *row = &reading->row;
    Fts5PhraseIter place;
    int column, offset;
    row->row = api->xRowid(fts);
    memset(row->often, 0, sizeof row->often);
    int rc = api->xPhraseFirst(fts, 0, &place, &column, &offset);
    for (; rc == SQLITE_OK && column >= 0;
         api->xPhraseNext(fts, &place, &column, &offset))
        if (column < PHRASE_COLUMNS)
            row->often[column]++;
    if (rc != SQLITE_OK)
        return rc;
    int given = reading->each(reading->context, row);
    if (given < 0)
        reading->rc = given;
    return given ? SQLITE_DONE : SQLITE_OK;
}

static void read_phrases(const Fts5ExtensionApi *api, Fts5Context *fts,
                         sqlite3_context *result, int n, sqlite3_value **values)
{
    struct db *db = api->xUserData(fts);
    struct phrase_reading *reading = db->phrases;
    int phrases = api->xPhraseCount(fts), rc = SQLITE_OK;
    (void)n;
    (void)values;
    for (int i = 0; reading && i < phrases && rc == SQLITE_OK && !reading->rc; i++) {
        reading->row.phrase = i;
        rc = api->xQueryPhrase(fts, i, reading, read_row);
    }
    if (rc != SQLITE_OK)
        sqlite3_result_error_code(result, rc);
    else
        sqlite3_result_int(result, phrases);
}

static int add_function(struct db *db, struct cairn_error *error)
{
    fts5_api *api = NULL;
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db->handle, "SELECT fts5(?1)", -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_pointer(statement, 1, &api, "fts5_api_ptr", NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) != SQLITE_ROW)
        rc = sqlite3_errcode(db->handle);
    sqlite3_finalize(statement);
    if (rc == SQLITE_OK && !api)
        rc = SQLITE_ERROR;
    if (rc == SQLITE_OK)
        rc = api->xCreateFunction(api, "cairn_phrases", db, read_phrases, NULL);
    return rc == SQLITE_OK ? 0 : db_fail(db, rc, false, error);
}

/* Whom the function is called for: NULL, nobody. */
static void serve(struct db *db, struct phrase_reading *reading)
{
    db->phrases = reading;
}

int db_each_phrase(struct db *db, enum sql_id id, struct str expression,
                   int (*each)(void *, const struct phrase_row *), void *context,
                   struct cairn_error *error)
{
    struct phrase_reading reading = {.each = each, .context = context};
    struct query query;
    int rc = db->has_phrases ? 0 : add_function(db, error);
    if (rc)
        return rc;
    db->has_phrases = true;
    serve(db, &reading);
    query_start(&query, db, id, VALUES(value_text(expression)), error);
    query_step(&query);
    rc = query_end(&query);
    serve(db, NULL);
    return reading.rc ? reading.rc : rc;
}
