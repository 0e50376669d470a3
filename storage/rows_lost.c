/* SPDX-License-Identifier: MIT */
/* What rows refer to and is missing. What a repair could not save is noted in the table
 * `quarantine`: a checkpoint under its number, content under a negative number, so that
 * it counts as a known loss and is not reported as damage again. */
#include "storage/rows_lost.h"

#include "storage/rows_int.h"

#include <assert.h>

int store_each_lost_checkpoint(struct cairn_store *store,
                               int (*each)(void *, uint64_t run, uint64_t seq),
                               void *context, struct cairn_error *error)
{
    store_assert_open(store);
    return db_each_pair(store->db, SQL_EACH_LOST_CHECKPOINT, each, context, error);
}

int store_each_gap(struct cairn_store *store,
                   int (*each)(void *, uint64_t first, uint64_t last), void *context,
                   struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    uint64_t next = 1;
    int rc = query_start(&query, store->db, SQL_EACH_TAKEN_SEQ, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        uint64_t first = query_u64(&query, 0), last = query_u64(&query, 1);
        rc = first > next ? each(context, next, first - 1) : 0;
        if (rc)
            break;
        next = last >= next ? last + 1 : next;
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
}

int store_each_lost_object(struct cairn_store *store,
                           int (*each)(void *, const char *hex), void *context,
                           struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    int rc = query_start(&query, store->db, SQL_EACH_LOST_OBJECT, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        struct str hex = query_text(&query, 0);
        rc = each(context, hex.len ? hex.ptr : "");
        if (rc)
            break;
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
}

int store_put_known_loss(struct cairn_store *store, const char *hex,
                         struct cairn_error *error)
{
    store_assert_writing(store);
    return store_write(store, SQL_PUT_KNOWN_LOSS, VALUES(value_text(str_of(hex))),
                       error);
}

int store_is_known_loss(struct cairn_store *store, const char *hex, bool *known,
                        struct cairn_error *error)
{
    store_assert_open(store);
    return db_is(store->db, SQL_IS_KNOWN_LOSS, VALUES(value_text(str_of(hex))), known,
                 error);
}

int store_was_quarantined(struct cairn_store *store, uint64_t seq, bool *was,
                          struct cairn_error *error)
{
    store_assert_open(store);
    return db_is(store->db, SQL_WAS_QUARANTINED, VALUES(value_u64(seq)), was, error);
}
