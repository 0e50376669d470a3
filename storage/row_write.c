/* SPDX-License-Identifier: MIT */
/* Every row is written through here: inside a write transaction, and not after a write
 * of it has failed. */
#include "storage/rows_int.h"

#include <assert.h>

int store_write(struct cairn_store *store, enum sql_id id,
                const struct sql_value *values, size_t n, struct cairn_error *error)
{
    store_assert_writing(store);
    if (db_failed(store->db))
        return error_set(error, CAIRN_EIO,
                         "an earlier write of this transaction failed");
    return db_run(store->db, id, values, n, error);
}

int store_write_summed(struct cairn_store *store, enum sql_id id,
                       const struct sql_value *values, size_t n,
                       struct cairn_error *error)
{
    struct sql_value all[ROW_COLUMNS_MOST];
    struct value_sum sum;
    assert(n > 0 && n < ROW_COLUMNS_MOST);
    memcpy(all, values, n * sizeof *values);
    values_sum(store->sha, values, n, &sum);
    all[n] = value_blob(value_sum_view(&sum));
    return store_write(store, id, all, n + 1, error);
}
