/* SPDX-License-Identifier: MIT */
/* Reading rows under a checksum. A row whose checksum does not hold is passed over, and
 * the first of them is named at the end:
 *
 *   struct checked rows = {.store = store, .table = &checked_items};
 *   checked_start(&rows, SQL_EACH_ITEM, VALUES(value_u64(session)), error);
 *   while (checked_step(&rows))
 *       rows.query.rc = use(rows.values);
 *   return checked_result(&rows, checked_stop(&rows), error);
 *
 * A damaged key puts a row out of order, so that a search may end beside it, and a list
 * that is bounded by keys may begin too late or end too early. Where a search goes
 * wrong it ends right before or right behind that row, since it compared the bound with
 * both of its neighbours. So whoever reads a range also reads the row before it and the
 * one behind it. Where all rows of the table are few, they are all read.
 *
 * For this a bound must be of one column, and the columns before it equal: then SQLite
 * compares it once, with the key at which the search ends. What it compares with each
 * row (bounds of several columns) makes it pass over the row that is out of order. */
#ifndef STORAGE_SESSIONS_ROWS_CHECKED_INT_H
#define STORAGE_SESSIONS_ROWS_CHECKED_INT_H

#include "storage/rows_int.h"

enum { CHECKED_COLUMNS_MOST = MESSAGE_COLUMNS_READ };

struct checked_table {
    /* Of each column what it may hold: i any integer, n one that is not negative, w one
     * of 32 bits, y one of 8 bits, t text, b blob, B blob or NULL. The checksum is the
     * last. */
    const char *columns;
    const char *format; /* of a row's name, with its first three columns */
    /* Columns behind the checksum that follow from the others: numbers, or all NULL. */
    size_t derived;
};
extern const struct checked_table checked_sessions, checked_branches, checked_items,
    checked_logs, checked_annotations, checked_messages;

struct checked {
    struct cairn_store *store;
    const struct checked_table *table;
    struct query query;
    struct sql_value values[CHECKED_COLUMNS_MOST]; /* of the row; views */
    char damaged[120]; /* the name of the first damaged row; "": none */
};
/* May be called again after checked_stop: what is damaged stays noted. */
void checked_start(struct checked *rows, enum sql_id id, const struct sql_value *values,
                   size_t n, struct cairn_error *error);
/* Whether there is another sound row. */
bool checked_step(struct checked *rows);
/* The query's rc. */
int checked_stop(struct checked *rows);
/* Runs a statement only to see whether its rows are sound. */
int checked_look(struct checked *rows, enum sql_id id, const struct sql_value *values,
                 size_t n, struct cairn_error *error);
/* `rc` if it is an error; else CAIRN_EDAMAGED if a row was damaged, else 0. */
int checked_result(const struct checked *rows, int rc, struct cairn_error *error);

/* Numbers that a row is found by fit in 63 bits: this one is beyond all of them. */
static inline struct sql_value value_number(uint64_t number)
{
    return value_int(number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

/* One more than `id` finds; CAIRN_EDAMAGED where that is not a number. */
int checked_next_number(struct cairn_store *store, enum sql_id id, const char *what,
                        uint64_t *number, struct cairn_error *error);
/* Runs a statement that inserts or updates one row, with the checksum behind its
 * values, and returns 1 for that row. CAIRN_ENOTFOUND: there is no such row. */
int checked_put(struct cairn_store *store, enum sql_id id,
                const struct sql_value *values, size_t n, struct cairn_error *error);

#endif
