/* SPDX-License-Identifier: MIT */
/* Statements: prepared once per connection, bound and stepped through one helper. */
#include "storage/sqlite/db_int.h"

#include <assert.h>

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

int query_start(struct query *query, struct db *db, enum sql_id id,
                const struct sql_value *values, size_t n, struct cairn_error *error)
{
    assert((unsigned)id < SQL_COUNT);
    assert(n == 0 || values);
    *query = (struct query){.db = db, .id = id};
    int code = db_thread_check(db->thread, error);
    if (code)
        return code;
    sqlite3_stmt *statement = db->statements[id];
    bool temporary = db->busy[id];
    if (temporary || !statement) {
        int rc = prepare_statement(db, id, !temporary, &statement, error);
        if (rc)
            return rc;
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
    for (size_t i = 0; i < n; i++) {
        int rc = bind_value(statement, (int)i + 1, &values[i]);
        if (rc != SQLITE_OK)
            return db_fail(db, rc, !sqlite3_stmt_readonly(statement), error);
    }
    return 0;
}

int query_step(struct query *query, struct cairn_error *error)
{
    assert(query->statement); /* started, and not ended */
    int rc = sqlite3_step(query->statement);
    query->columns = rc == SQLITE_ROW ? sqlite3_data_count(query->statement) : 0;
    if (rc == SQLITE_ROW)
        return 1;
    if (rc == SQLITE_DONE)
        return 0;
    return db_fail(query->db, rc, !sqlite3_stmt_readonly(query->statement), error);
}

void query_end(struct query *query)
{
    if (!query->statement)
        return;
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
    int rc = query_start(&query, db, id, values, n, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0)
        continue;
    query_end(&query);
    return rc;
}

int db_get_int(struct db *db, enum sql_id id, const struct sql_value *values, size_t n,
               int64_t *out, struct cairn_error *error)
{
    struct query query;
    int rc = query_start(&query, db, id, values, n, error);
    if (rc >= 0)
        rc = query_step(&query, error);
    if (rc == 0)
        rc = error_set(error, CAIRN_ENOTFOUND, "not found");
    int64_t found = rc > 0 ? query_int(&query, 0) : 0;
    /* To the end, where a statement that also writes may still fail. */
    while (rc > 0)
        rc = query_step(&query, error);
    query_end(&query);
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
