/* SPDX-License-Identifier: MIT */
/* Rows of the index of threads' states. */
#include "storage/sessions/rows_thread.h"

#include "storage/rows_checkpoint.h"
#include "storage/rows_int.h"

#include <assert.h>

static struct sql_value value_bytes(struct str bytes)
{
    return value_blob(bytes.ptr ? bytes : STR(""));
}

int store_put_thread_state(struct cairn_store *store,
                           const struct thread_state_row *row,
                           struct cairn_error *error)
{
    store_assert_writing(store);
    assert(row->branch && (row->seq || row->writes.len));
    return store_write(store, SQL_PUT_THREAD_STATE,
                       VALUES(value_u64(row->branch), value_bytes(row->space),
                              value_bytes(row->id), value_u64(row->seq),
                              value_bytes(row->writes)),
                       error);
}

int store_drop_thread_state(struct cairn_store *store, uint64_t branch,
                            struct str space, struct str id, struct cairn_error *error)
{
    store_assert_writing(store);
    return store_write(store, SQL_DROP_THREAD_STATE,
                       VALUES(value_u64(branch), value_bytes(space), value_bytes(id)),
                       error);
}

int store_delete_thread_states(struct cairn_store *store, uint64_t branch,
                               struct cairn_error *error)
{
    store_assert_writing(store);
    return store_write(store, SQL_DELETE_THREAD_STATES, VALUES(value_u64(branch)),
                       error);
}

static void row_from(const struct query *query, struct thread_state_row *row)
{
    *row =
        (struct thread_state_row){.branch = query_u64(query, THREAD_STATE_BRANCH_AT),
                                  .space = query_blob(query, THREAD_STATE_SPACE_AT),
                                  .id = query_blob(query, THREAD_STATE_ID_AT),
                                  .seq = query_u64(query, THREAD_STATE_SEQ_AT),
                                  .writes = query_blob(query, THREAD_STATE_WRITES_AT)};
}

static int each_row(struct query *query, thread_state_fn *each, void *context)
{
    while (query_step(query)) {
        struct thread_state_row row;
        row_from(query, &row);
        query->rc = each(context, &row);
    }
    int rc = query_end(query);
    return rc > 0 ? 0 : rc;
}

int store_get_thread_state(struct cairn_store *store, uint64_t branch, struct str space,
                           const struct str *id, thread_state_fn *got, void *context,
                           struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    if (id)
        query_start(&query, store->db, SQL_GET_THREAD_STATE,
                    VALUES(value_u64(branch), value_bytes(space), value_bytes(*id)),
                    error);
    else
        query_start(&query, store->db, SQL_LAST_THREAD_STATE,
                    VALUES(value_u64(branch), value_bytes(space)), error);
    bool found = query_step(&query);
    if (found) {
        struct thread_state_row row;
        row_from(&query, &row);
        query.rc = got(context, &row);
    }
    int rc = query_end(&query);
    return rc || found ? rc : CAIRN_ENOTFOUND;
}

int store_count_thread_states(struct cairn_store *store, uint64_t branch,
                              uint64_t *states, struct cairn_error *error)
{
    int64_t n = 0;
    store_assert_open(store);
    int rc = db_get_int(store->db, SQL_COUNT_THREAD_STATES, VALUES(value_u64(branch)),
                        &n, error);
    *states = (uint64_t)n;
    return rc;
}

int store_each_thread_branch(struct cairn_store *store,
                             int (*each)(void *context, uint64_t branch), void *context,
                             struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    query_start(&query, store->db, SQL_EACH_THREAD_BRANCH,
                VALUES(value_u64(NAMESPACE_DEBUG)), error);
    while (query_step(&query))
        query.rc = each(context, query_u64(&query, 0));
    return query_end(&query);
}

/* One space of one thread is read in the order of the index, whatever is behind. */
int store_each_thread_state(struct cairn_store *store,
                            const struct thread_state_range *range,
                            thread_state_fn *each, void *context,
                            struct cairn_error *error)
{
    struct query query;
    struct sql_value null = {0}, limit = value_int(sql_limit(range->limit));
    struct sql_value space = range->space ? value_bytes(*range->space) : null,
                     below = range->below ? value_bytes(*range->below) : null;
    store_assert_open(store);
    if (range->branch && range->space)
        query_start(
            &query, store->db,
            range->below ? SQL_EACH_SPACE_STATE_BELOW : SQL_EACH_SPACE_STATE,
            (const struct sql_value[]){value_u64(range->branch), space, limit, below},
            range->below ? 4 : 3, error);
    else
        query_start(
            &query, store->db, range->branch ? SQL_EACH_THREAD_STATE : SQL_EACH_STATE,
            VALUES(value_u64(range->branch), space, limit, below,
                   value_u64(range->below_branch), value_bytes(range->below_space)),
            error);
    return each_row(&query, each, context);
}

int store_all_thread_states(struct cairn_store *store, uint64_t branch,
                            thread_state_fn *each, void *context,
                            struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    query_start(&query, store->db, SQL_ALL_THREAD_STATE, VALUES(value_u64(branch)),
                error);
    return each_row(&query, each, context);
}
