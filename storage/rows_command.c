/* SPDX-License-Identifier: MIT */
/* Rows of commands and of claims. Both decide something, so both carry a checksum over
 * every other column (row_hmac.c). */
#include "storage/rows_command.h"

#include "storage/store_int.h"

#include <assert.h>

/* ---- Commands to a live run ---- */

static int sum_command(struct cairn_store *store, const struct command_row *row,
                       bool taken, struct row_sum *sum, struct cairn_error *error)
{
    const uint64_t numbers[] = {
        row->id,  row->run,  row->verb,     taken,
        row->gen, row->task, row->argument, (uint64_t)row->time_ns};
    struct summed summed = {"command", numbers, sizeof numbers / sizeof numbers[0],
                            &row->data, 1};
    return row_sum(store, &summed, sum, error);
}

int store_put_command(struct cairn_store *store, struct command_row *row,
                      struct cairn_error *error)
{
    struct command_row put = *row;
    struct row_sum sum;
    int64_t id;
    store_assert_writing(store);
    int rc = sum_check_keyed(store, put.run, error);
    if (!rc)
        rc = db_get_int(store->db, SQL_NEXT_COMMAND_ID, NO_VALUES, &id, error);
    put.id = rc ? 0 : (uint64_t)id;
    if (!rc)
        rc = sum_command(store, &put, false, &sum, error);
    if (!rc)
        rc = store_write(store, SQL_PUT_COMMAND,
                         VALUES(value_u64(put.id), value_u64(put.run),
                                value_int(put.verb), value_int(put.time_ns),
                                value_int(0), value_int(put.argument),
                                value_int(put.gen), value_int(put.task),
                                value_blob(put.data), value_blob(sum_view(&sum))),
                         error);
    if (!rc)
        row->id = put.id;
    return rc;
}

/* Version 1 had no checksum, and only one verb, with nothing to it. */
static bool is_old(const struct query *query)
{
    bool bare = true;
    for (int column = 5; column <= 9; column++)
        bare = bare && query_null(query, column);
    return bare && query_int(query, 2) == COMMAND_CANCEL;
}

/* CAIRN_EDAMAGED if the row's checksum does not hold. `row->data` is a view. */
static int command_from(struct cairn_store *store, const struct query *query,
                        struct command_row *row, struct cairn_error *error)
{
    struct row_sum sum;
    *row = (struct command_row){.id = query_u64(query, 0),
                                .run = query_u64(query, 1),
                                .verb = query_u8(query, 2),
                                .time_ns = query_int(query, 3),
                                .argument = query_u8(query, 5),
                                .gen = (uint32_t)query_int(query, 6),
                                .task = (uint32_t)query_int_or(query, 7, UINT32_MAX),
                                .data = query_blob(query, 8)};
    if (is_old(query) && !store->key)
        return 0;
    int rc = sum_command(store, row, query_int(query, 4) != 0, &sum, error);
    if (!rc && !sum_matches(&sum, query_blob(query, 9)))
        rc = error_set(error, CAIRN_EDAMAGED,
                       "command %llu to run %llu is damaged and was not carried out: "
                       "give it again",
                       (unsigned long long)row->id, (unsigned long long)row->run);
    return rc;
}

/* A damaged row keeps the checksum that does not hold. */
static int lay_aside(struct cairn_store *store, const struct command_row *row,
                     bool damaged, struct cairn_error *error)
{
    struct row_sum sum;
    assert(row->id);
    int rc = sum_command(store, row, true, &sum, error);
    if (rc)
        return rc;
    struct str keep = {NULL, 0};
    return store_write(
        store, SQL_TAKE_COMMAND,
        VALUES(value_u64(row->id),
               value_some(SQL_VALUE_BLOB, damaged ? keep : sum_view(&sum))),
        error);
}

static int read_command(struct cairn_store *store, struct query *query,
                        struct command_row *row, struct buf *data,
                        struct cairn_error *error)
{
    size_t before = data->size;
    int rc = command_from(store, query, row, error);
    buf_str(data, row->data);
    row->data = STR("");
    if (data->failed)
        return error_nomem(error);
    if (data->size > before)
        row->data = (struct str){data->data + before, data->size - before};
    return rc;
}

int store_next_command(struct cairn_store *store, uint64_t run, uint64_t after,
                       struct command_row *row, struct buf *data,
                       struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    *row = (struct command_row){0};
    int rc = query_start(&query, store->db, SQL_NEXT_COMMAND,
                         VALUES(value_u64(run), value_u64(after)), error);
    if (!rc)
        rc = query_step(&query, error);
    if (rc > 0)
        rc = read_command(store, &query, row, data, error);
    query_end(&query);
    return rc;
}

static int take_commands(struct cairn_store *store, uint64_t run, uint64_t up_to,
                         uint8_t verb, struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    struct command_row row = {0};
    int rc = 0;
    store_assert_writing(store);
    while (!rc) {
        struct cairn_error damage = {0};
        buf_clear(&data);
        rc = store_next_command(store, run, row.id, &row, &data, &damage);
        bool damaged = rc == CAIRN_EDAMAGED && row.id;
        if (rc && !damaged && error)
            *error = damage;
        if ((rc && !damaged) || !row.id || row.id > up_to) {
            rc = damaged ? 0 : rc;
            break;
        }
        /* A damaged verb tells nothing: whoever carries commands out will tell. */
        bool meant = !verb || (!damaged && row.verb == verb);
        rc = meant ? lay_aside(store, &row, damaged, error) : 0;
    }
    buf_release(&data);
    return rc;
}

int store_mark_commands(struct cairn_store *store, uint64_t run, uint64_t up_to,
                        struct cairn_error *error)
{
    return take_commands(store, run, up_to, 0, error);
}

int store_drop_commands(struct cairn_store *store, uint64_t run, uint8_t verb,
                        struct cairn_error *error)
{
    assert(verb);
    return take_commands(store, run, UINT64_MAX, verb, error);
}

int store_has_command(struct cairn_store *store, uint64_t run, bool *has, uint8_t *verb,
                      struct cairn_error *error)
{
    store_assert_open(store);
    int64_t found = 0;
    int rc = db_get_int(store->db, SQL_WAITING_COMMAND, VALUES(value_u64(run)), &found,
                        error);
    if (rc && rc != CAIRN_ENOTFOUND)
        return rc;
    *has = rc == 0;
    if (verb)
        *verb = found > 0 && found < UINT8_MAX ? (uint8_t)found : 0;
    return 0;
}

int store_command_taken(struct cairn_store *store, uint64_t id, bool *taken,
                        struct cairn_error *error)
{
    int64_t found;
    store_assert_open(store);
    int rc =
        db_get_int(store->db, SQL_COMMAND_TAKEN, VALUES(value_u64(id)), &found, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, CAIRN_ENOTFOUND, "there is no command %llu",
                         (unsigned long long)id);
    if (!rc)
        *taken = found != 0;
    return rc;
}

int command_sound(struct cairn_store *store, const struct sql_value values[10],
                  struct cairn_error *error)
{
    const struct sql_value *v = values;
    struct row_sum sum;
    bool bare = v[2].integer == COMMAND_CANCEL;
    for (int i = 5; i < 10; i++)
        bare = bare && v[i].kind == SQL_VALUE_NULL;
    struct command_row row = {
        .id = (uint64_t)v[0].integer,
        .run = (uint64_t)v[1].integer,
        .verb = (uint8_t)v[2].integer,
        .time_ns = v[3].integer,
        .argument = (uint8_t)v[5].integer,
        .gen = (uint32_t)v[6].integer,
        .task = v[7].kind == SQL_VALUE_NULL ? UINT32_MAX : (uint32_t)v[7].integer,
        .data = v[8].bytes};
    if (v[4].integer != 0 && v[4].integer != 1)
        return 0;
    int rc = sum_command(store, &row, v[4].integer != 0, &sum, error);
    return rc ? rc : bare || sum_matches(&sum, v[9].bytes);
}

/* ---- Claims of external tasks ---- */

static int sum_claim(struct cairn_store *store, const struct claim_row *row,
                     struct row_sum *sum, struct cairn_error *error)
{
    const uint64_t numbers[] = {row->run,
                                row->gen,
                                row->task,
                                (uint64_t)row->until_boot_ns,
                                (uint64_t)row->time_ns,
                                row->spent};
    const struct str texts[] = {row->token, row->holder, row->boot};
    struct summed summed = {"claim", numbers, sizeof numbers / sizeof numbers[0], texts,
                            3};
    return row_sum(store, &summed, sum, error);
}

int store_put_claim(struct cairn_store *store, const struct claim_row *row,
                    struct cairn_error *error)
{
    struct row_sum sum;
    store_assert_writing(store);
    int rc = sum_check_keyed(store, row->run, error);
    if (!rc)
        rc = sum_claim(store, row, &sum, error);
    if (rc)
        return rc;
    return store_write(store, SQL_PUT_CLAIM,
                       VALUES(value_u64(row->run), value_int(row->gen),
                              value_int(row->task), value_text(row->token),
                              value_text(row->holder), value_text(row->boot),
                              value_int(row->until_boot_ns), value_int(row->time_ns),
                              value_int(row->spent), value_blob(sum_view(&sum))),
                       error);
}

static int claim_from(struct cairn_store *store, const struct query *query,
                      struct claim_row *row, struct cairn_error *error)
{
    struct row_sum sum;
    *row = (struct claim_row){.run = query_u64(query, 0),
                              .gen = (uint32_t)query_int(query, 1),
                              .task = (uint32_t)query_int(query, 2),
                              .token = query_text(query, 3),
                              .holder = query_text(query, 4),
                              .boot = query_text(query, 5),
                              .until_boot_ns = query_int(query, 6),
                              .time_ns = query_int(query, 7),
                              .spent = query_int(query, 8) != 0};
    int rc = sum_claim(store, row, &sum, error);
    row->sum_ok = !rc && sum_matches(&sum, query_blob(query, 9));
    return rc;
}

int claim_sound(struct cairn_store *store, const struct sql_value values[10],
                struct cairn_error *error)
{
    const struct sql_value *v = values;
    struct row_sum sum;
    struct claim_row row = {.run = (uint64_t)v[0].integer,
                            .gen = (uint32_t)v[1].integer,
                            .task = (uint32_t)v[2].integer,
                            .token = v[3].bytes,
                            .holder = v[4].bytes,
                            .boot = v[5].bytes,
                            .until_boot_ns = v[6].integer,
                            .time_ns = v[7].integer,
                            .spent = v[8].integer != 0};
    int rc = sum_claim(store, &row, &sum, error);
    return rc ? rc : sum_matches(&sum, v[9].bytes);
}

int store_each_claim(struct cairn_store *store, uint64_t run, uint32_t gen,
                     claim_row_fn *each, void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    bool damaged = false, stopped = false;
    uint32_t task = 0;
    int rc = query_start(&query, store->db, SQL_EACH_CLAIM,
                         VALUES(value_u64(run), value_int(gen)), error);
    while (rc >= 0 && !stopped && (rc = query_step(&query, error)) > 0) {
        struct claim_row row;
        rc = claim_from(store, &query, &row, error);
        if (rc)
            break;
        if (!row.sum_ok && !damaged) {
            damaged = true;
            task = row.task;
        }
        rc = each(context, &row);
        stopped = rc != 0;
    }
    query_end(&query);
    if (rc < 0 || stopped || !damaged)
        return rc < 0 ? rc : 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "the claim of task %u (generation %u) of run %llu is damaged: its "
                     "token is void, take the task again with `cairn claim`",
                     task, gen, (unsigned long long)run);
}
