/* SPDX-License-Identifier: MIT */
/* Rows of commands and of claims. Runs act on both, so both carry a checksum over every
 * other column, with an HMAC in keyed runs (row_hmac.c). */
#include "storage/rows_command.h"

#include "storage/rows_int.h"

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
    assert(put.verb >= COMMAND_CANCEL && put.verb <= COMMAND_TAKE_BACK);
    int rc = sum_check_keyed(store, put.run, error)
                 ?: db_get_int(store->db, SQL_NEXT_COMMAND_ID, NO_VALUES, &id, error);
    put.id = rc ? 0 : (uint64_t)id;
    if (!rc)
        rc =
            sum_command(store, &put, false, &sum, error)
                ?: store_write(store, SQL_PUT_COMMAND,
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

/* Version 1 had no checksum, and only one verb, without arguments. */
static bool is_old(const struct query *query)
{
    bool bare = true;
    for (int column = COMMAND_ARGUMENT_AT; column <= COMMAND_SUM_AT; column++)
        bare = bare && query_null(query, column);
    return bare && query_int(query, COMMAND_VERB_AT) == COMMAND_CANCEL;
}

/* CAIRN_EDAMAGED if the row's checksum does not hold. `row->data` is a view. */
static int command_from(struct cairn_store *store, const struct query *query,
                        struct command_row *row, struct cairn_error *error)
{
    struct row_sum sum;
    *row = (struct command_row){
        .id = query_u64(query, COMMAND_ID_AT),
        .run = query_u64(query, COMMAND_RUN_AT),
        .verb = query_u8(query, COMMAND_VERB_AT),
        .time_ns = query_int(query, COMMAND_TIME_NS_AT),
        .argument = query_u8(query, COMMAND_ARGUMENT_AT),
        .gen = (uint32_t)query_int(query, COMMAND_GEN_AT),
        .task = (uint32_t)query_int_or(query, COMMAND_TASK_AT, UINT32_MAX),
        .data = query_blob(query, COMMAND_DATA_AT)};
    if (is_old(query) && !store->key)
        return 0;
    int rc =
        sum_command(store, row, query_int(query, COMMAND_TAKEN_AT) != 0, &sum, error);
    if (!rc && !sum_matches(&sum, query_blob(query, COMMAND_SUM_AT)))
        rc = error_set(error, CAIRN_EDAMAGED,
                       "command %llu to run %llu is damaged and was not carried out: "
                       "give it again",
                       (unsigned long long)row->id, (unsigned long long)row->run);
    return rc;
}

/* A damaged row keeps the checksum that does not hold. */
static int mark_taken(struct cairn_store *store, const struct command_row *row,
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

int store_answer_command(struct cairn_store *store, const struct command_row *row,
                         struct cairn_error *error)
{
    struct row_sum sum;
    store_assert_writing(store);
    assert(row->id);
    return sum_check_keyed(store, row->run, error)
           ?: sum_command(store, row, true, &sum, error)
           ?: store_write(store, SQL_ANSWER_COMMAND,
                          VALUES(value_u64(row->id), value_int(row->verb),
                                 value_int(row->argument), value_blob(row->data),
                                 value_blob(sum_view(&sum))),
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

static int one_command(struct cairn_store *store, enum sql_id statement, uint64_t run,
                       uint64_t number, struct command_row *row, struct buf *data,
                       struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    *row = (struct command_row){0};
    query_start(&query, store->db, statement, VALUES(value_u64(run), value_u64(number)),
                error);
    if (query_step(&query))
        query.rc = read_command(store, &query, row, data, error);
    return query_end(&query);
}

int store_next_command(struct cairn_store *store, uint64_t run, uint64_t after,
                       struct command_row *row, struct buf *data,
                       struct cairn_error *error)
{
    return one_command(store, SQL_NEXT_COMMAND, run, after, row, data, error);
}

int store_get_command(struct cairn_store *store, uint64_t run, uint64_t id,
                      struct command_row *row, struct buf *data,
                      struct cairn_error *error)
{
    return one_command(store, SQL_GET_COMMAND, run, id, row, data, error);
}

static int each_addition(struct cairn_store *store, enum sql_id statement, uint64_t of,
                         command_row_fn *each, void *context, struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    struct query query;
    store_assert_open(store);
    query_start(
        &query, store->db, statement,
        VALUES(value_u64(of), value_int(COMMAND_ADD), value_int(COMMAND_WITHDRAW)),
        error);
    while (query_step(&query)) {
        struct command_row row;
        buf_clear(&data);
        query.rc = read_command(store, &query, &row, &data, error);
        if (query.rc == CAIRN_EDAMAGED)
            error_set(error, CAIRN_EDAMAGED,
                      "the record of tasks that were added to run %llu is damaged",
                      (unsigned long long)row.run);
        if (!query.rc)
            query.rc = each(context, &row);
    }
    buf_release(&data);
    return query_end(&query);
}

int store_each_addition(struct cairn_store *store, uint64_t run, command_row_fn *each,
                        void *context, struct cairn_error *error)
{
    return each_addition(store, SQL_EACH_ADDITION, run, each, context, error);
}

int store_each_workflow_addition(struct cairn_store *store, uint64_t workflow,
                                 command_row_fn *each, void *context,
                                 struct cairn_error *error)
{
    return each_addition(store, SQL_EACH_WORKFLOW_ADDITION, workflow, each, context,
                         error);
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
        /* The verb of a damaged command is not known: its owner reports it. */
        bool meant = !verb || (!damaged && row.verb == verb);
        rc = meant ? mark_taken(store, &row, damaged, error) : 0;
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
                        uint64_t up_to, struct cairn_error *error)
{
    assert(verb);
    return take_commands(store, run, up_to, verb, error);
}

int store_newest_command(struct cairn_store *store, uint64_t *id,
                         struct cairn_error *error)
{
    int64_t next;
    store_assert_open(store);
    int rc = db_get_int(store->db, SQL_NEXT_COMMAND_ID, NO_VALUES, &next, error);
    if (!rc)
        *id = (uint64_t)next - 1;
    return rc;
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

int command_sound(struct cairn_store *store,
                  const struct sql_value values[COMMAND_COLUMNS_READ],
                  struct cairn_error *error)
{
    const struct sql_value *v = values, *task = &v[COMMAND_TASK_AT];
    struct row_sum sum;
    int64_t taken = v[COMMAND_TAKEN_AT].integer;
    bool bare = v[COMMAND_VERB_AT].integer == COMMAND_CANCEL;
    for (int i = COMMAND_ARGUMENT_AT; i <= COMMAND_SUM_AT; i++)
        bare = bare && v[i].kind == SQL_VALUE_NULL;
    struct command_row row = {
        .id = (uint64_t)v[COMMAND_ID_AT].integer,
        .run = (uint64_t)v[COMMAND_RUN_AT].integer,
        .verb = (uint8_t)v[COMMAND_VERB_AT].integer,
        .time_ns = v[COMMAND_TIME_NS_AT].integer,
        .argument = (uint8_t)v[COMMAND_ARGUMENT_AT].integer,
        .gen = (uint32_t)v[COMMAND_GEN_AT].integer,
        .task = task->kind == SQL_VALUE_NULL ? UINT32_MAX : (uint32_t)task->integer,
        .data = v[COMMAND_DATA_AT].bytes};
    if (taken != 0 && taken != 1)
        return 0;
    int rc = sum_command(store, &row, taken != 0, &sum, error);
    return rc ? rc : bare || sum_matches(&sum, v[COMMAND_SUM_AT].bytes);
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
    return sum_check_keyed(store, row->run, error)
           ?: sum_claim(store, row, &sum, error)
           ?: store_write(store, SQL_PUT_CLAIM,
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
    *row = (struct claim_row){.run = query_u64(query, CLAIM_RUN_AT),
                              .gen = (uint32_t)query_int(query, CLAIM_GEN_AT),
                              .task = (uint32_t)query_int(query, CLAIM_TASK_AT),
                              .token = query_text(query, CLAIM_TOKEN_AT),
                              .holder = query_text(query, CLAIM_HOLDER_AT),
                              .boot = query_text(query, CLAIM_BOOT_AT),
                              .until_boot_ns = query_int(query, CLAIM_UNTIL_BOOT_NS_AT),
                              .time_ns = query_int(query, CLAIM_TIME_NS_AT),
                              .spent = query_int(query, CLAIM_SPENT_AT) != 0};
    int rc = sum_claim(store, row, &sum, error);
    row->sum_ok = !rc && sum_matches(&sum, query_blob(query, CLAIM_SUM_AT));
    return rc;
}

int claim_sound(struct cairn_store *store,
                const struct sql_value values[CLAIM_COLUMNS_READ],
                struct cairn_error *error)
{
    const struct sql_value *v = values;
    struct row_sum sum;
    struct claim_row row = {.run = (uint64_t)v[CLAIM_RUN_AT].integer,
                            .gen = (uint32_t)v[CLAIM_GEN_AT].integer,
                            .task = (uint32_t)v[CLAIM_TASK_AT].integer,
                            .token = v[CLAIM_TOKEN_AT].bytes,
                            .holder = v[CLAIM_HOLDER_AT].bytes,
                            .boot = v[CLAIM_BOOT_AT].bytes,
                            .until_boot_ns = v[CLAIM_UNTIL_BOOT_NS_AT].integer,
                            .time_ns = v[CLAIM_TIME_NS_AT].integer,
                            .spent = v[CLAIM_SPENT_AT].integer != 0};
    return sum_claim(store, &row, &sum, error)
               ?: sum_matches(&sum, v[CLAIM_SUM_AT].bytes);
}

int store_drop_claim(struct cairn_store *store, uint64_t run, uint32_t gen,
                     uint32_t task, struct cairn_error *error)
{
    store_assert_writing(store);
    return store_write(store, SQL_DROP_CLAIM,
                       VALUES(value_u64(run), value_int(gen), value_int(task)), error);
}

int store_each_claim(struct cairn_store *store, uint64_t run, uint32_t gen,
                     claim_row_fn *each, void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    bool damaged = false;
    uint32_t task = 0;
    query_start(&query, store->db, SQL_EACH_CLAIM,
                VALUES(value_u64(run), value_int(gen)), error);
    while (query_step(&query)) {
        struct claim_row row;
        query.rc = claim_from(store, &query, &row, error);
        if (query.rc)
            break;
        if (!row.sum_ok && !damaged) {
            damaged = true;
            task = row.task;
        }
        query.rc = each(context, &row);
    }
    int rc = query_end(&query);
    if (query.rc || !damaged)
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     "the claim of task %u (generation %u) of run %llu is damaged: its "
                     "token is void, take the task again with `cairn claim RUN TASK`",
                     task, gen, (unsigned long long)run);
}
