/* SPDX-License-Identifier: MIT */
/* Rows of workflows and runs.
 *
 * run.sum is over every other column and the workflow's name. It shows damage, so that
 * a run is not resumed with another graph or as another workflow. That of a keyed run
 * also shows changes by somebody who has no key (row_hmac.c). */
#include "storage/rows_run.h"

#include "storage/rows_checkpoint.h"
#include "storage/rows_int.h"

#include <assert.h>

/* ---- Workflows ---- */

int store_workflow_id(struct cairn_store *store, struct str name, bool create,
                      uint64_t *id, struct cairn_error *error)
{
    store_assert_open(store);
    assert(!create || store->writing); /* also if the name is there already */
    const struct sql_value key = value_text(name);
    int64_t found;
    int rc = db_get_int(store->db, SQL_GET_WORKFLOW_ID, &key, 1, &found, error);
    if (rc == CAIRN_ENOTFOUND && create) {
        rc = store_write(store, SQL_ADD_WORKFLOW, &key, 1, error)
                 ?: db_get_int(store->db, SQL_GET_WORKFLOW_ID, &key, 1, &found, error);
    } else if (rc == CAIRN_ENOTFOUND) {
        return error_set(error, CAIRN_ENOTFOUND,
                         "the store has no run of a workflow \"%.*s\"",
                         (int)(name.len < 300 ? name.len : 300), name.ptr);
    }
    if (!rc)
        *id = (uint64_t)found;
    return rc;
}

/* ---- The checksum ---- */

static int sum_row(struct cairn_store *store, const struct run_row *row,
                   struct str name, struct row_sum *sum, struct cairn_error *error)
{
    const uint64_t numbers[] = {
        row->run,
        row->workflow,
        row->gen,
        row->tasks,
        row->state,
        (uint64_t)row->started_ns,
        (uint64_t)row->ended_ns,
        row->from_run,
        row->from_seq,
        (uint64_t)row->owner_pid,
        row->owner_start,
        (uint64_t)row->owner_since_ns,
        row->unsaved,
    };
    const struct str texts[] = {
        name,           digest_view(&row->params), row->params_text,
        row->file,      digest_view(&row->graph),  row->owner_host,
        row->owner_boot};
    struct summed summed = {"run", numbers, COUNT_OF(numbers), texts, COUNT_OF(texts)};
    return row_sum(store, &summed, sum, error);
}

/* ---- Writing ---- */

/* The row's own workflow_name is a view that readers fill: look it up. */
static int sum_stored(struct cairn_store *store, const struct run_row *row,
                      struct row_sum *sum, struct cairn_error *error)
{
    struct query query;
    query_start(&query, store->db, SQL_GET_WORKFLOW_NAME,
                VALUES(value_u64(row->workflow)), error);
    if (query_step(&query))
        query.rc = sum_row(store, row, query_text(&query, 0), sum, error);
    else if (!query.rc)
        query.rc = error_set(error, CAIRN_ENOTFOUND, "there is no workflow %llu",
                             (unsigned long long)row->workflow);
    return query_end(&query);
}

enum { RUN_COLUMNS = RUN_COLUMNS_READ - 1 }; /* the name is joined */

static int run_values(struct cairn_store *store, const struct run_row *row,
                      struct row_sum *sum, struct sql_value values[RUN_COLUMNS],
                      struct cairn_error *error)
{
    store_assert_writing(store);
    int rc = sum_stored(store, row, sum, error);
    if (rc)
        return rc;
    const struct sql_value all[RUN_COLUMNS] = {
        value_u64(row->run),
        value_u64(row->workflow),
        value_blob(digest_view(&row->params)),
        value_blob(row->params_text),
        value_text(row->file),
        value_int(row->gen),
        value_blob(digest_view(&row->graph)),
        value_int(row->tasks),
        value_int(row->state),
        value_int(row->started_ns),
        value_int(row->ended_ns),
        value_u64(row->from_run),
        value_u64(row->from_seq),
        value_int(row->owner_pid),
        value_u64(row->owner_start),
        value_text(row->owner_host),
        value_text(row->owner_boot),
        value_int(row->owner_since_ns),
        value_int(row->unsaved),
        value_blob(sum_view(sum)),
    };
    memcpy(values, all, sizeof all);
    return 0;
}

int store_add_run(struct cairn_store *store, struct run_row *row,
                  struct cairn_error *error)
{
    struct sql_value values[RUN_COLUMNS];
    struct row_sum sum;
    int64_t next, named;
    store_assert_writing(store);
    int rc = db_get_int(store->db, SQL_NEXT_RUN, NO_VALUES, &next, error)
                 ?: db_get_int(store->db, SQL_NAMED_SEQ, NO_VALUES, &named, error);
    if (rc)
        return rc;
    store_keep_seq(store, (uint64_t)named);
    uint64_t before = row->run;
    row->run = (uint64_t)next;
    rc = run_values(store, row, &sum, values, error)
             ?: store_write(store, SQL_ADD_RUN, values, RUN_COLUMNS, error);
    if (rc)
        row->run = before;
    return rc;
}

int store_restore_run(struct cairn_store *store, const struct run_row *row, bool keyed,
                      struct cairn_error *error)
{
    struct sql_value values[RUN_COLUMNS];
    struct row_sum sum;
    store_assert_writing(store);
    int rc = run_values(store, row, &sum, values, error);
    if (!rc && keyed) {
        memset(sum.bytes + SUM_BYTES, 0, SUM_KEYED_BYTES - SUM_BYTES);
        sum.size = SUM_KEYED_BYTES;
        values[RUN_COLUMNS - 1] = value_blob(sum_view(&sum));
    }
    return rc
           ?: store_write(store, SQL_DROP_RUN, values, 1, error)
           ?: store_write(store, SQL_ADD_RUN, values, RUN_COLUMNS, error);
}

int store_set_run(struct cairn_store *store, const struct run_row *row,
                  struct cairn_error *error)
{
    struct sql_value values[RUN_COLUMNS];
    struct row_sum sum;
    int64_t changed;
    store_assert_writing(store);
    int rc = sum_check_keyed(store, row->run, error)
             ?: run_values(store, row, &sum, values, error)
             ?: db_get_int(store->db, SQL_SET_RUN, values, RUN_COLUMNS, &changed,
                           error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, CAIRN_ENOTFOUND, "there is no run %llu",
                         (unsigned long long)row->run);
    return rc;
}

/* ---- Reading ---- */

static int run_from(struct cairn_store *store, const struct query *query,
                    struct run_row *row, struct cairn_error *error)
{
    struct row_sum sum;
    *row = (struct run_row){
        .run = query_u64(query, RUN_RUN_AT),
        .workflow = query_u64(query, RUN_WORKFLOW_AT),
        .workflow_name = query_text(query, RUN_NAME_AT),
        .params_text = query_blob(query, RUN_PARAMS_TEXT_AT),
        .file = query_text(query, RUN_FILE_AT),
        .gen = (uint32_t)query_int(query, RUN_GEN_AT),
        .tasks = (uint32_t)query_int(query, RUN_TASKS_AT),
        .state = query_u8(query, RUN_STATE_AT),
        .started_ns = query_int(query, RUN_STARTED_NS_AT),
        .ended_ns = query_int(query, RUN_ENDED_NS_AT),
        .from_run = query_u64(query, RUN_FROM_RUN_AT),
        .from_seq = query_u64(query, RUN_FROM_SEQ_AT),
        .owner_pid = query_int(query, RUN_OWNER_PID_AT),
        .owner_start = query_u64(query, RUN_OWNER_START_AT),
        .owner_host = query_text(query, RUN_OWNER_HOST_AT),
        .owner_boot = query_text(query, RUN_OWNER_BOOT_AT),
        .owner_since_ns = query_int(query, RUN_OWNER_SINCE_NS_AT),
        .unsaved = (uint32_t)query_int(query, RUN_UNSAVED_AT),
    };
    bool whole = digest_from(query_blob(query, RUN_PARAMS_AT), &row->params);
    whole = digest_from(query_blob(query, RUN_GRAPH_AT), &row->graph) && whole;
    int rc = sum_row(store, row, row->workflow_name, &sum, error);
    if (rc)
        return rc;
    row->sum_ok = whole && sum_holds(&sum, query_blob(query, RUN_SUM_AT));
    row->bytes_ok = whole && sum_bytes_hold(&sum, query_blob(query, RUN_SUM_AT));
    row->keyed = query_blob(query, RUN_SUM_AT).len == SUM_KEYED_BYTES;
    return 0;
}

int store_get_run(struct cairn_store *store, uint64_t run, run_row_fn *got,
                  void *context, struct cairn_error *error)
{
    store_assert_open(store);
    const struct sql_value key = value_u64(run);
    struct query query;
    struct run_row row;
    query_start(&query, store->db, run ? SQL_GET_RUN : SQL_GET_NEWEST_RUN, &key,
                run ? 1 : 0, error);
    if (query_step(&query)) {
        query.rc = run_from(store, &query, &row, error);
        if (!query.rc && got)
            query.rc = got(context, &row);
    } else if (!query.rc && run) {
        query.rc = error_set(error, CAIRN_ENOTFOUND, "there is no run %llu",
                             (unsigned long long)run);
    } else if (!query.rc) {
        query.rc = error_set(error, CAIRN_ENOTFOUND, "there is no run yet");
    }
    return query_end(&query);
}

/* NULL matches runs with any parameters. */
static struct sql_value params_value(const struct run_filter *filter)
{
    if (!filter->params)
        return value_some(SQL_VALUE_BLOB, (struct str){NULL, 0});
    return value_blob(digest_view(filter->params));
}

int store_each_run(struct cairn_store *store, const struct run_filter *filter,
                   run_row_fn *each, void *context, struct cairn_error *error)
{
    store_assert_open(store);
    assert(each);
    const struct sql_value values[] = {
        value_u64(filter->workflow), params_value(filter),
        value_int(sql_limit(filter->limit)), value_int(sql_offset(filter->offset))};
    bool any = filter->workflow == 0;
    enum sql_id ascending = any ? SQL_EACH_RUN_ASC : SQL_EACH_WORKFLOW_RUN_ASC;
    enum sql_id descending = any ? SQL_EACH_RUN_DESC : SQL_EACH_WORKFLOW_RUN_DESC;
    struct query query;
    query_start(&query, store->db, filter->ascending ? ascending : descending,
                any ? values + 1 : values, any ? 3 : 4, error);
    while (query_step(&query)) {
        struct run_row row;
        query.rc = run_from(store, &query, &row, error);
        if (!query.rc)
            query.rc = each(context, &row);
    }
    return query_end(&query);
}

int store_count_runs(struct cairn_store *store, const struct run_filter *filter,
                     uint64_t *count, struct cairn_error *error)
{
    store_assert_open(store);
    const struct sql_value values[] = {value_u64(filter->workflow),
                                       params_value(filter)};
    bool any = filter->workflow == 0;
    int64_t n;
    int rc = db_get_int(store->db, any ? SQL_COUNT_RUNS : SQL_COUNT_WORKFLOW_RUNS,
                        any ? values + 1 : values, any ? 1 : 2, &n, error);
    if (!rc)
        *count = (uint64_t)n;
    return rc;
}

static int note_sound(void *context, const struct run_row *row)
{
    bool *sound = context;
    *sound = row->sum_ok;
    return 0;
}

int run_sound(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    bool sound = false;
    int rc = store_get_run(store, run, note_sound, &sound, error);
    return rc ? rc : sound;
}

/* ---- Runs that other rows refer to ---- */

bool store_has_workflow(struct cairn_store *store, uint64_t id)
{
    struct query query;
    store_assert_open(store);
    query_start(&query, store->db, SQL_GET_WORKFLOW_NAME, VALUES(value_u64(id)), NULL);
    bool has = query_step(&query);
    query_end(&query);
    return has;
}

int store_last_gen(struct cairn_store *store, uint64_t run, uint32_t *gen,
                   struct cairn_error *error)
{
    store_assert_open(store);
    int64_t found = 1;
    int rc = db_get_int(store->db, SQL_LAST_GEN, VALUES(value_u64(run)), &found, error);
    *gen = found > UINT32_MAX ? UINT32_MAX : (uint32_t)found;
    return rc;
}

int store_each_orphan(struct cairn_store *store, int (*each)(void *, uint64_t run),
                      void *context, struct cairn_error *error)
{
    store_assert_open(store);
    return db_each_number(store->db, SQL_EACH_ORPHAN, each, context, error);
}

int store_each_lost_gen(struct cairn_store *store,
                        int (*each)(void *, uint64_t run, uint64_t gen), void *context,
                        struct cairn_error *error)
{
    store_assert_open(store);
    return db_each_pair(store->db, SQL_EACH_LOST_GEN, each, context, error);
}

int store_each_bare_run(struct cairn_store *store, int (*each)(void *, uint64_t run),
                        void *context, struct cairn_error *error)
{
    store_assert_open(store);
    return db_each_number(store->db, SQL_EACH_BARE_RUN, each, context, error);
}

/* ---- Graphs of earlier generations ---- */

int store_drop_stray_graphs(struct cairn_store *store, struct cairn_error *error)
{
    return store_write(store, SQL_DROP_STRAY_GRAPHS, NO_VALUES, error);
}

int store_put_run_graph(struct cairn_store *store, uint64_t run, uint32_t gen,
                        const struct digest *graph, struct cairn_error *error)
{
    store_assert_writing(store);
    return store_write_summed(
        store, SQL_PUT_RUN_GRAPH,
        VALUES(value_u64(run), value_int(gen), value_blob(digest_view(graph))), error);
}

int store_get_run_graph(struct cairn_store *store, uint64_t run, uint32_t gen,
                        struct digest *graph, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    query_start(&query, store->db, SQL_GET_RUN_GRAPH,
                VALUES(value_u64(run), value_int(gen)), error);
    struct digest found;
    if (!query_step(&query))
        query.rc = query.rc ? query.rc
                            : error_set(error, CAIRN_ENOTFOUND,
                                        "run %llu has no graph of generation %u",
                                        (unsigned long long)run, gen);
    else if (!digest_from(query_blob(&query, 0), &found))
        query.rc = error_set(
            error, CAIRN_EDAMAGED,
            "the graph of run %llu, generation %u, is damaged: run `cairn doctor`",
            (unsigned long long)run, gen);
    else
        *graph = found;
    return query_end(&query);
}

/* ---- Where tasks stand in definitions ---- */

bool store_known_task(const struct cairn_store *store, const struct digest *definition,
                      const char *id, uint32_t *task)
{
    for (size_t i = 0; i < COUNT_OF(store->known) && i < store->n_known; i++) {
        const struct known_task *known = &store->known[i];
        if (known->id && digest_equal(&known->definition, definition) &&
            strcmp(known->id, id) == 0) {
            *task = known->task;
            return true;
        }
    }
    return false;
}

void store_note_task(struct cairn_store *store, const struct digest *definition,
                     const char *id, uint32_t task)
{
    struct known_task *known = &store->known[store->n_known++ % COUNT_OF(store->known)];
    free(known->id);
    *known = (struct known_task){*definition, strdup(id), task};
}
