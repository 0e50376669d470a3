/* SPDX-License-Identifier: MIT */
/* Rows of events, turns, and packed lists of tasks.
 *
 * The newest turn of a run is the largest in its attempts and events. An index gives
 * that of the events; for the attempts all of them must be read. But only the
 * workflow's owner writes attempts: as long as this handle has held that lock without a
 * break, its own cached number covers the attempts, whoever else commits events. */
#include "storage/rows_event.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/str.h"
#include "storage/rows_int.h"

#include <assert.h>

/* ---- Events ---- */

static struct sql_value value_task(uint32_t number)
{
    return value_unless(number, UINT32_MAX);
}

int store_put_event(struct cairn_store *store, const struct event_row *row,
                    struct cairn_error *error)
{
    int64_t n;
    store_assert_writing(store);
    assert(row->turn && row->kind);
    store_turn_put(store, row->run, row->turn);
    return db_get_int(store->db, SQL_NEXT_EVENT,
                      VALUES(value_u64(row->run), value_u64(row->turn)), &n, error)
               ?: store_write_summed(
                      store, SQL_PUT_EVENT,
                      VALUES(value_u64(row->run), value_u64(row->turn), value_int(n),
                             value_int(row->time_ns), value_int(row->kind),
                             value_unless(row->argument, 0), value_unless(row->gen, 0),
                             value_task(row->task),
                             value_some(SQL_VALUE_BLOB, row->data)),
                      error);
}

static void event_from(const struct query *query, struct event_row *row)
{
    *row = (struct event_row){
        .run = query_u64(query, EVENT_RUN_AT),
        .turn = query_u64(query, EVENT_TURN_AT),
        .id = query_u64(query, EVENT_N_AT),
        .time_ns = query_int(query, EVENT_TIME_NS_AT),
        .kind = query_u8(query, EVENT_KIND_AT),
        .argument = query_u8(query, EVENT_ARGUMENT_AT),
        .gen = (uint32_t)query_int(query, EVENT_GEN_AT),
        .task = (uint32_t)query_int_or(query, EVENT_TASK_AT, UINT32_MAX),
        .data = query_blob(query, EVENT_DATA_AT)};
}

int store_each_event(struct cairn_store *store, uint64_t run, uint64_t after,
                     event_row_fn *each, void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    query_start(&query, store->db, SQL_EACH_EVENT,
                VALUES(value_u64(run), value_u64(after)), error);
    while (query_step(&query)) {
        struct event_row row;
        event_from(&query, &row);
        query.rc = each(context, &row);
    }
    return query_end(&query);
}

int store_get_event(struct cairn_store *store, uint64_t run, uint64_t turn, uint64_t id,
                    event_row_fn *got, void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(got);
    query_start(&query, store->db, SQL_GET_EVENT,
                VALUES(value_u64(run), value_u64(turn), value_u64(id)), error);
    if (query_step(&query)) {
        struct event_row row;
        event_from(&query, &row);
        query.rc = got(context, &row);
    } else if (!query.rc) {
        query.rc = error_set(
            error, CAIRN_ENOTFOUND, "run %llu has no event %llu in turn %llu",
            (unsigned long long)run, (unsigned long long)id, (unsigned long long)turn);
    }
    return query_end(&query);
}

/* ---- Turns ---- */

void store_turn_put(struct cairn_store *store, uint64_t run, uint64_t turn)
{
    store_assert_writing(store);
    struct store_turns *turns = &store->turns;
    if (run == turns->run && turn > turns->put)
        turns->put = turn;
}

void store_turns_end(struct cairn_store *store, bool committed)
{
    struct store_turns *turns = &store->turns;
    if (!committed)
        *turns = (struct store_turns){0};
    else if (turns->put > turns->newest)
        turns->newest = turns->put;
    turns->put = 0;
}

static int newest_event(struct cairn_store *store, uint64_t run, uint64_t *turn,
                        struct cairn_error *error)
{
    int64_t found;
    int rc =
        db_get_int(store->db, SQL_EVENT_TURN, VALUES(value_u64(run)), &found, error);
    if (!rc && (uint64_t)found > *turn)
        *turn = (uint64_t)found;
    return rc;
}

static int newest_attempt(struct cairn_store *store, uint64_t run, uint64_t *turn,
                          struct cairn_error *error)
{
    int64_t found;
    int rc =
        db_get_int(store->db, SQL_ATTEMPT_TURN, VALUES(value_u64(run)), &found, error);
    if (!rc && (uint64_t)found > *turn)
        *turn = (uint64_t)found;
    return rc;
}

/* The lock of the run's workflow if this handle holds it, else 0. */
static int held_lock(struct cairn_store *store, uint64_t run, int64_t *offset,
                     struct cairn_error *error)
{
    int64_t workflow;
    int rc = db_get_int(store->db, SQL_GET_RUN_WORKFLOW, VALUES(value_u64(run)),
                        &workflow, error);
    *offset = 0;
    if (rc == CAIRN_ENOTFOUND)
        return 0;
    if (!rc && store_holds(store, LOCK_WORKFLOW + workflow))
        *offset = LOCK_WORKFLOW + workflow;
    return rc;
}

/* The rows of the transaction are read, too, so one follows another. */
int store_note_activity(struct cairn_store *store, enum event_kind kind,
                        uint64_t number, uint64_t turn, struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    struct event_row row = {.run = EVENTS_OF_STORE,
                            .time_ns = clock_utc_ns(),
                            .task = UINT32_MAX,
                            .kind = (uint8_t)kind};
    store_assert_writing(store);
    buf_varint(&data, number);
    buf_varint(&data, turn);
    int rc = buf_check(&data, error)
                 ?: newest_event(store, EVENTS_OF_STORE, &row.turn, error);
    row.turn++;
    row.data = buf_view(&data);
    if (!rc)
        rc = store_put_event(store, &row, error);
    buf_release(&data);
    return rc;
}

int store_event_turn(struct cairn_store *store, uint64_t run, uint64_t *turn,
                     struct cairn_error *error)
{
    store_assert_open(store);
    *turn = 0;
    return newest_event(store, run, turn, error);
}

static int look_up_turns(struct cairn_store *store, uint64_t run,
                         struct cairn_error *error)
{
    assert(store->writing);
    struct store_turns found = store->turns;
    bool begins = found.run != run || !found.owner;
    int rc = 0;
    if (begins) {
        found = (struct store_turns){.run = run};
        rc = held_lock(store, run, &found.owner, error)
                 ?: newest_attempt(store, run, &found.newest, error);
    }
    if (!rc)
        rc = newest_event(store, run, &found.newest, error);
    found.fresh = true;
    if (!rc && begins && run != EVENTS_OF_STORE)
        rc = store_note_activity(store, EVENT_RUN_ACTIVE, run, found.newest + 1, error);
    if (!rc)
        store->turns = found;
    return rc;
}

int store_next_turn(struct cairn_store *store, uint64_t run, uint64_t *turn,
                    struct cairn_error *error)
{
    store_assert_writing(store);
    if (store->turns.run != run || !store->turns.fresh) {
        int rc = look_up_turns(store, run, error);
        if (rc)
            return rc;
    }
    assert(store->turns.run == run && store->turns.fresh);
    *turn = store->turns.newest + 1;
    return 0;
}

int store_note_event(struct cairn_store *store, uint64_t run, enum event_kind kind,
                     struct str data, struct cairn_error *error)
{
    struct event_row row = {.run = run,
                            .time_ns = clock_utc_ns(),
                            .task = UINT32_MAX,
                            .kind = (uint8_t)kind,
                            .data = data};
    return store_next_turn(store, run, &row.turn, error)
               ?: store_put_event(store, &row, error);
}

/* ---- Lists of tasks ---- */

void tasks_pack(const uint32_t *tasks, uint32_t n, struct buf *out)
{
    assert(n == 0 || tasks);
    for (uint32_t i = 0; i < n; i++) {
        assert(i == 0 || tasks[i] > tasks[i - 1]);
        buf_varint(out, i ? tasks[i] - tasks[i - 1] : tasks[0]);
    }
}

static bool is_list(struct str packed, uint32_t limit)
{
    struct reader reader = reader_of(packed.ptr, packed.len);
    uint64_t task = 0;
    for (bool first = true; reader_left(&reader) && !reader.failed; first = false) {
        uint64_t step = read_varint(&reader);
        if ((step == 0 && !first) || step >= limit)
            return false;
        task += step;
        if (task >= limit)
            return false;
    }
    return reader_done(&reader);
}

bool tasks_unpack(struct str packed, uint32_t limit, int (*each)(void *, uint32_t task),
                  void *context)
{
    assert(each);
    struct reader reader = reader_of(packed.ptr, packed.len);
    uint64_t task = 0;
    if (!is_list(packed, limit))
        return false;
    while (reader_left(&reader)) {
        task += read_varint(&reader);
        if (each(context, (uint32_t)task))
            break;
    }
    return true;
}
