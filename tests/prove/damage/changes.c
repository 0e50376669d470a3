/* SPDX-License-Identifier: MIT */
/* Columns of rows, set to what no writer puts there: the limits of numbers, those just
 * beside the right one, nothing at all. */
#include "damage.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const numbers[] = {"0",
                                      "1",
                                      "-1",
                                      "255",
                                      "256",
                                      "4294967295",
                                      "4294967296",
                                      "9223372036854775807",
                                      "(-9223372036854775807 - 1)",
                                      "%s + 1",
                                      "%s - 1",
                                      NULL};
static const char *const blobs[] = {"x''", "x'00'", "zeroblob(40)", "zeroblob(70000)",
                                    NULL};
static const char *const texts[] = {"''", "'x'", "CAST(zeroblob(70000) AS TEXT)", NULL};

struct finding {
    struct sqlite3 *db;
    struct changes *out;
    unsigned rows; /* of each table */
};

typedef bool row_fn(struct finding *f, sqlite3_stmt *row, const char *table);

/* Calls `each` for every row of a query. */
static bool query(struct finding *f, const char *sql, const char *table, row_fn *each)
{
    sqlite3_stmt *statement = NULL;
    bool good = sqlite3_prepare_v2(f->db, sql, -1, &statement, NULL) == SQLITE_OK;
    int rc = SQLITE_DONE;
    while (good && (rc = sqlite3_step(statement)) == SQLITE_ROW)
        good = each(f, statement, table);
    sqlite3_finalize(statement);
    return good && rc == SQLITE_DONE;
}

static const char *column_text(sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);
    return text ? (const char *)text : "";
}

/* Keeps the change if the schema lets it through and it changes something. */
static bool keep(struct finding *f, const struct buf *sql)
{
    struct changes *out = f->out;
    bool works = sqlite3_exec(f->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK &&
                 sqlite3_exec(f->db, sql->data, NULL, NULL, NULL) == SQLITE_OK &&
                 sqlite3_changes(f->db) > 0;
    sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
    if (!works)
        return true;
    char **more = realloc(out->sql, (out->n + 1) * sizeof *more);
    if (!more)
        return false;
    out->sql = more;
    out->sql[out->n] = strdup(sql->data);
    return out->sql[out->n++] != NULL;
}

/* One column of one row: `row` has the column, its type, and what finds the row. */
static bool change_column(struct finding *f, sqlite3_stmt *row, const char *table)
{
    const char *column = column_text(row, 0), *type = column_text(row, 1);
    const char *const *values = strcmp(type, "INTEGER") == 0 ? numbers
                                : strcmp(type, "BLOB") == 0  ? blobs
                                                             : texts;
    bool good = true;
    for (; *values && good; values++) {
        struct buf sql = BUF_INIT;
        char value[80];
        snprintf(value, sizeof value, *values, column);
        buf_format(&sql, "UPDATE %s SET %s = %s WHERE %s AND %s IS NOT %s", table,
                   column, value, column_text(row, 2), column, value);
        buf_byte(&sql, 0);
        good = !sql.failed && keep(f, &sql);
        buf_release(&sql);
    }
    return good;
}

/* A row: `row` has a text that finds it. */
static bool change_row(struct finding *f, sqlite3_stmt *row, const char *table)
{
    char *sql = sqlite3_mprintf("SELECT name, type, %Q FROM pragma_table_info(%Q) "
                                "ORDER BY cid",
                                column_text(row, 0), table);
    bool good = sql && query(f, sql, table, change_column);
    sqlite3_free(sql);
    return good;
}

/* A table: `row` has its name, and an expression that makes the text. The rows are
 * spread over the table. */
static bool change_table(struct finding *f, sqlite3_stmt *row, const char *unused)
{
    const char *table = column_text(row, 0);
    (void)unused;
    char *sql = sqlite3_mprintf(
        "WITH r AS (SELECT %s AS found, row_number() OVER () - 1 AS n, count(*) OVER "
        "() "
        "AS total FROM %s) SELECT found FROM r WHERE n %% max(1, total / %u) = 0",
        column_text(row, 1), table, f->rows);
    bool good = sql && query(f, sql, table, change_row);
    sqlite3_free(sql);
    return good;
}

bool changes_find(struct changes *out, const char *database, unsigned rows)
{
    struct finding f = {NULL, out, rows};
    *out = (struct changes){0};
    bool good =
        sqlite3_open_v2(database, &f.db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        query(&f,
              "SELECT t.name, ifnull((SELECT group_concat('''' || c.name || ' = '' || "
              "quote(' "
              "|| c.name || ')', ' || '' AND '' || ') FROM pragma_table_info(t.name) "
              "c WHERE c.pk > 0), "
              "'''rowid = '' || rowid') FROM sqlite_master t WHERE t.type = 'table'",
              NULL, change_table);
    sqlite3_close(f.db);
    return good && out->n > 0;
}

bool changes_make(const char *database, const char *sql)
{
    struct sqlite3 *db = NULL;
    bool good =
        sqlite3_open_v2(database, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    return sqlite3_close(db) == SQLITE_OK && good;
}
