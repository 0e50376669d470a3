/* SPDX-License-Identifier: MIT */
#include "storage/sessions/rows_checked_int.h"

#include <assert.h>
#include <stdio.h>

const struct checked_table
    checked_sessions = {"ntiitinbbb", "the row of session %lld", 0},
    checked_branches = {"nntynitb", "branch %lld of session %lld", 0},
    checked_items = {"nywbb", "the item of session %lld, kind %lld, number %lld",
                     ITEM_COLUMNS_READ - ITEM_ABOUT_AT},
    checked_logs = {"nnwiyynbbb", "the log of session %lld, turn %lld, number %lld", 0},
    checked_annotations = {"nwiyytb", "the annotation of checkpoint %lld, number %lld",
                           0},
    checked_messages = {"nnnniyynnnnnnnttbbbbb",
                        "the message of session %lld, number %lld", 0};

/* ---- Whether a row is what was written ---- */

static bool fits_column(char column, const struct sql_value *value)
{
    int64_t most = column == 'w' ? UINT32_MAX : column == 'y' ? UINT8_MAX : INT64_MAX;
    int64_t least = column == 'i' ? INT64_MIN : 0;
    switch (column) {
    case 't':
        return value->kind == SQL_VALUE_TEXT;
    case 'b':
        return value->kind == SQL_VALUE_BLOB;
    case 'B':
        return value->kind == SQL_VALUE_BLOB || value->kind == SQL_VALUE_NULL;
    default:
        return value->kind == SQL_VALUE_INT && value->integer >= least &&
               value->integer <= most;
    }
}

static bool is_sound(struct checked *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!fits_column(rows->table->columns[i], &rows->values[i]))
            return false;
    return derived_sound(rows->values + n, rows->table->derived) &&
           values_sound(rows->store->sha, rows->values, n, true);
}

static void note_damage(struct checked *rows)
{
    const struct sql_value *v = rows->values;
    if (!rows->damaged[0])
        snprintf(rows->damaged, sizeof rows->damaged, rows->table->format,
                 (long long)v[0].integer, (long long)v[1].integer,
                 (long long)v[2].integer);
}

/* ---- Reading ---- */

void checked_start(struct checked *rows, enum sql_id id, const struct sql_value *values,
                   size_t n, struct cairn_error *error)
{
    store_assert_open(rows->store);
    assert(strlen(rows->table->columns) + rows->table->derived <= CHECKED_COLUMNS_MOST);
    query_start(&rows->query, rows->store->db, id, values, n, error);
}

bool checked_step(struct checked *rows)
{
    size_t n = strlen(rows->table->columns);
    while (query_step(&rows->query)) {
        for (size_t i = 0; i < n + rows->table->derived; i++) {
            struct sql_value *value = &rows->values[i];
            *value = query_value(&rows->query, (int)i);
            if (value->kind != SQL_VALUE_NULL && !value->bytes.ptr)
                value->bytes.ptr = ""; /* empty is not the same as none */
        }
        if (is_sound(rows, n))
            return true;
        note_damage(rows);
    }
    return false;
}

int checked_stop(struct checked *rows)
{
    query_end(&rows->query);
    return rows->query.rc;
}

int checked_look(struct checked *rows, enum sql_id id, const struct sql_value *values,
                 size_t n, struct cairn_error *error)
{
    checked_start(rows, id, values, n, error);
    while (checked_step(rows))
        continue;
    return checked_stop(rows);
}

int checked_result(const struct checked *rows, int rc, struct cairn_error *error)
{
    if (rc < 0 || !rows->damaged[0])
        return rc < 0 ? rc : 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "%s is damaged: its checksum does not match; `cairn doctor "
                     "--repair` saves all others",
                     rows->damaged);
}

/* ---- Writing ---- */

int checked_next_number(struct cairn_store *store, enum sql_id id, const char *what,
                        uint64_t *number, struct cairn_error *error)
{
    int64_t last = 0;
    store_assert_writing(store);
    int rc = db_get_int(store->db, id, NO_VALUES, &last, error);
    if (!rc && (last < 0 || last == INT64_MAX))
        return error_set(error, CAIRN_EDAMAGED,
                         "the store %s is damaged (it names %s %lld): run `cairn "
                         "doctor`",
                         store->paths.dir, what, (long long)last);
    *number = (uint64_t)last + 1;
    return rc;
}

int checked_put(struct cairn_store *store, enum sql_id id,
                const struct sql_value *values, size_t n, struct cairn_error *error)
{
    struct sql_value all[CHECKED_COLUMNS_MOST];
    struct value_sum sum;
    int64_t put = 0;
    store_assert_writing(store);
    assert(n > 0 && n < CHECKED_COLUMNS_MOST);
    if (db_failed(store->db))
        return error_set(error, CAIRN_EIO,
                         "an earlier write of this transaction failed");
    memcpy(all, values, n * sizeof *values);
    values_sum(store->sha, values, n, &sum);
    all[n] = value_blob(value_sum_view(&sum));
    return db_get_int(store->db, id, all, n + 1, &put, error);
}
