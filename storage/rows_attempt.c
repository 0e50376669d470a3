/* SPDX-License-Identifier: MIT */
/* Rows of attempts. */
#include "storage/rows_attempt.h"

#include "storage/rows_int.h"

#include <assert.h>

int store_put_intent(struct cairn_store *store, const struct attempt_row *row,
                     struct cairn_error *error)
{
    const uint16_t of_its_end = ATTEMPT_TIMED_OUT | ATTEMPT_INTERRUPTED |
                                ATTEMPT_ADOPTED | ATTEMPT_RETRY | ATTEMPT_OUT_LIST |
                                ATTEMPT_ERR_LIST;
    assert(row->run && row->gen && row->number);
    assert(!row->started_ns && !row->ended_ns && !row->outcome);
    assert(!(row->flags & of_its_end));
    store_turn_put(store, row->run, row->start_turn);
    /* The checksum is over all columns, in the order of the table. */
    struct sql_value all[ATTEMPT_COLUMNS_READ] = {{0}};
    struct value_sum sum;
    const struct sql_value key[] = {value_u64(row->run), value_int(row->gen),
                                    value_int(row->task), value_int(row->number),
                                    value_int(row->intent_ns)};
    _Static_assert(sizeof key / sizeof *key == ATTEMPT_INTENT_NS_AT + 1,
                   "the first columns of an attempt");
    memcpy(all, key, sizeof key);
    all[ATTEMPT_FLAGS_AT] = value_unless(row->flags, 0);
    all[ATTEMPT_START_TURN_AT] = value_unless((int64_t)row->start_turn, 0);
    values_sum(store->sha, all, ATTEMPT_COLUMNS_READ, &sum);
    return store_write(store, SQL_PUT_INTENT,
                       VALUES(key[0], key[1], key[2], key[3], key[4],
                              all[ATTEMPT_FLAGS_AT], all[ATTEMPT_START_TURN_AT],
                              value_blob(value_sum_view(&sum))),
                       error);
}

/* Differences are taken and added modulo 2^64, so any two times survive the trip. */
static int64_t time_difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* NULL stands for 0 (not started, not ended). */
static struct sql_value value_since(int64_t time_ns, int64_t start_ns)
{
    struct sql_value value = value_int(time_difference(time_ns, start_ns));
    if (time_ns == 0)
        value.kind = SQL_VALUE_NULL;
    return value;
}

static int64_t time_from(const struct query *query, int column, int64_t start_ns)
{
    if (query_null(query, column))
        return 0;
    return (int64_t)((uint64_t)start_ns + query_u64(query, column));
}

int store_put_attempt(struct cairn_store *store, const struct attempt_row *row,
                      struct cairn_error *error)
{
    assert(row->run); /* a repair brings rows whose generation is damaged */
    int64_t start_ns = row->started_ns ? row->started_ns : row->intent_ns;
    store_turn_put(store, row->run,
                   row->end_turn > row->start_turn ? row->end_turn : row->start_turn);
    return store_write_summed(
        store, SQL_PUT_ATTEMPT,
        VALUES(value_u64(row->run), value_int(row->gen), value_int(row->task),
               value_int(row->number), value_int(row->intent_ns),
               value_since(row->started_ns, row->intent_ns),
               value_since(row->ended_ns, start_ns), value_unless(row->outcome, 0),
               value_unless(row->flags, 0), value_unless(row->exit_code, -1),
               value_unless(row->signal, 0), value_unless(row->cpu_us, 0),
               value_unless(row->peak_kib, 0), value_unless((int64_t)row->out_bytes, 0),
               value_unless((int64_t)row->err_bytes, 0),
               value_unless((int64_t)row->out_head, 0),
               value_unless((int64_t)row->err_head, 0),
               value_some(SQL_VALUE_BLOB, row->out),
               value_some(SQL_VALUE_BLOB, row->err),
               value_some(SQL_VALUE_BLOB, row->outputs),
               value_some(SQL_VALUE_TEXT, row->text),
               value_unless((int64_t)row->start_turn, 0),
               value_unless((int64_t)row->end_turn, 0),
               value_unless((int64_t)row->checkpoint, 0)),
        error);
}

static void attempt_from(const struct query *query, struct attempt_row *row)
{
    *row = (struct attempt_row){
        .run = query_u64(query, ATTEMPT_RUN_AT),
        .gen = (uint32_t)query_int(query, ATTEMPT_GEN_AT),
        .task = (uint32_t)query_int(query, ATTEMPT_TASK_AT),
        .number = (uint32_t)query_int(query, ATTEMPT_N_AT),
        .intent_ns = query_int(query, ATTEMPT_INTENT_NS_AT),
        .outcome = query_u8(query, ATTEMPT_OUTCOME_AT),
        .flags = query_u16(query, ATTEMPT_FLAGS_AT),
        .exit_code = (int32_t)query_int_or(query, ATTEMPT_EXIT_CODE_AT, -1),
        .signal = (int32_t)query_int(query, ATTEMPT_SIGNAL_AT),
        .cpu_us = query_int(query, ATTEMPT_CPU_US_AT),
        .peak_kib = query_int(query, ATTEMPT_PEAK_KIB_AT),
        .out_bytes = query_u64(query, ATTEMPT_OUT_BYTES_AT),
        .err_bytes = query_u64(query, ATTEMPT_ERR_BYTES_AT),
        .out_head = query_u64(query, ATTEMPT_OUT_HEAD_AT),
        .err_head = query_u64(query, ATTEMPT_ERR_HEAD_AT),
        .out = query_blob(query, ATTEMPT_OUT_AT),
        .err = query_blob(query, ATTEMPT_ERR_AT),
        .outputs = query_blob(query, ATTEMPT_OUTPUTS_AT),
        .text = query_text(query, ATTEMPT_TEXT_AT),
        .start_turn = query_u64(query, ATTEMPT_START_TURN_AT),
        .end_turn = query_u64(query, ATTEMPT_END_TURN_AT),
        .checkpoint = query_u64(query, ATTEMPT_CHECKPOINT_AT),
    };
    row->started_ns = time_from(query, ATTEMPT_WAIT_NS_AT, row->intent_ns);
    row->ended_ns = time_from(query, ATTEMPT_DURATION_NS_AT,
                              row->started_ns ? row->started_ns : row->intent_ns);
}

static int each_row(struct cairn_store *store, enum sql_id id,
                    const struct sql_value *values, size_t n, attempt_row_fn *each,
                    void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    query_start(&query, store->db, id, values, n, error);
    while (query_step(&query)) {
        struct attempt_row row;
        attempt_from(&query, &row);
        query.rc = each(context, &row);
    }
    return query_end(&query);
}

int store_each_attempt(struct cairn_store *store, uint64_t run, uint32_t gen,
                       uint32_t task, attempt_row_fn *each, void *context,
                       struct cairn_error *error)
{
    return each_row(store, SQL_EACH_ATTEMPT,
                    VALUES(value_u64(run), value_int(gen), value_int(task)), each,
                    context, error);
}

int store_each_run_attempt(struct cairn_store *store, uint64_t run, uint32_t gen,
                           bool open_only, attempt_row_fn *each, void *context,
                           struct cairn_error *error)
{
    return each_row(store, open_only ? SQL_EACH_OPEN_ATTEMPT : SQL_EACH_RUN_ATTEMPT,
                    VALUES(value_u64(run), value_int(gen)), each, context, error);
}

int store_each_new_attempt(struct cairn_store *store, uint64_t run, uint64_t after,
                           attempt_row_fn *each, void *context,
                           struct cairn_error *error)
{
    return each_row(store, SQL_EACH_NEW_ATTEMPT,
                    VALUES(value_u64(run), value_u64(after)), each, context, error);
}

int store_get_attempt(struct cairn_store *store, const struct attempt_row *key,
                      attempt_row_fn *got, void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    query_start(&query, store->db, SQL_GET_ATTEMPT,
                VALUES(value_u64(key->run), value_int(key->gen), value_int(key->task),
                       value_int(key->number)),
                error);
    if (query_step(&query)) {
        struct attempt_row row;
        attempt_from(&query, &row);
        query.rc = got ? got(context, &row) : 0;
    } else if (!query.rc) {
        query.rc =
            error_set(error, CAIRN_ENOTFOUND,
                      "run %llu has no attempt %u of task %u (generation %u)",
                      (unsigned long long)key->run, key->number, key->task, key->gen);
    }
    return query_end(&query);
}
