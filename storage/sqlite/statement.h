/* SPDX-License-Identifier: MIT */
/* Statements (sql.h), prepared at first use and kept by their connection.
 *
 *   struct query q;
 *   query_start(&q, db, SQL_GET_RUN, VALUES(value_u64(run)), error);
 *   while (query_step(&q))
 *       q.rc = each(context, query_u64(&q, 0));
 *   return query_end(&q);               (always, also after a failed start)
 *
 * The first error stays in `rc`: after it there is no row, and the end returns it. A
 * user sets `rc` to end the rows early: to an error of its own, or above 0 without one.
 *
 * Values given to query_start are borrowed until query_end; views of columns live until
 * the next step, and are read only while there is a row. A statement that is already
 * running (a callback came back) is prepared a second time for the inner use. */
#ifndef STORAGE_SQLITE_STATEMENT_H
#define STORAGE_SQLITE_STATEMENT_H

#include "cairn/error.h"
#include "storage/sqlite/sql.h"
#include "storage/sqlite/sql_value.h"

#include <stdbool.h>

struct db;
struct sqlite3_stmt;

struct query {
    struct db *db;
    struct sqlite3_stmt *statement; /* NULL: not started */
    struct cairn_error *error;
    int rc;
    enum sql_id id;
    bool temporary;
    int columns; /* of the row that it stands on; 0: on none */
};
void query_start(struct query *query, struct db *db, enum sql_id id,
                 const struct sql_value *values, size_t n, struct cairn_error *error);
/* Whether there is another row. */
bool query_step(struct query *query);
/* 0, or the error. */
int query_end(struct query *query);
int64_t query_int(const struct query *query, int column);
uint64_t query_u64(const struct query *query, int column);
/* A small number. One that does not fit is read as 255, which no such column holds, so
 * that a damaged value is not cut to a good one. */
uint8_t query_u8(const struct query *query, int column);
uint16_t query_u16(const struct query *query, int column);
bool query_null(const struct query *query, int column);
/* `absent` for NULL. */
int64_t query_int_or(const struct query *query, int column, int64_t absent);
/* As it is stored; a number with a fraction, which nothing here writes, is truncated.
 */
struct sql_value query_value(const struct query *query, int column);
/* Empty for NULL. */
struct str query_blob(const struct query *query, int column);
struct str query_text(const struct query *query, int column);

/* A statement without rows. */
int db_run(struct db *db, enum sql_id id, const struct sql_value *values, size_t n,
           struct cairn_error *error);
/* A statement with one row of one integer; CAIRN_ENOTFOUND (no text) without a row. */
int db_get_int(struct db *db, enum sql_id id, const struct sql_value *values, size_t n,
               int64_t *out, struct cairn_error *error);
/* The same for a truth value. */
int db_is(struct db *db, enum sql_id id, const struct sql_value *values, size_t n,
          bool *is, struct cairn_error *error);
/* Call `each` with the one integer, or the two, of every row of a statement that takes
 * no values. A non-zero return of `each` stops; a negative one is returned. */
int db_each_number(struct db *db, enum sql_id id, int (*each)(void *, uint64_t),
                   void *context, struct cairn_error *error);
int db_each_pair(struct db *db, enum sql_id id, int (*each)(void *, uint64_t, uint64_t),
                 void *context, struct cairn_error *error);

/* What a full text table (FTS5) has in its lists, phrase by phrase. Its own ranking
 * reads each list twice, and a row of sizes for each entry; this reads the lists once,
 * and leaves the counting to whoever asks. */

enum { PHRASE_COLUMNS = 2 };
struct phrase_row {
    int phrase; /* of the expression, from 0 */
    int64_t row;
    uint32_t often[PHRASE_COLUMNS]; /* in each column */
};
/* For each phrase, in turn, the rows that have it, by number. `id`: a statement that
 * calls the function cairn_phrases for one row that fits ?1. A positive return of
 * `each` skips the rest of the phrase; a negative one stops, and is returned. */
int db_each_phrase(struct db *db, enum sql_id id, struct str expression,
                   int (*each)(void *, const struct phrase_row *), void *context,
                   struct cairn_error *error);

#endif
