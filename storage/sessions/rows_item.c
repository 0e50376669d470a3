/* SPDX-License-Identifier: MIT */
/* Rows of items. */
#include "storage/sessions/rows_checked_int.h"
#include "storage/sessions/rows_session.h"

#include <assert.h>

int store_put_item(struct cairn_store *store, const struct item_row *row,
                   struct cairn_error *error)
{
    const struct sql_value values[] = {value_number(row->session), value_int(row->kind),
                                       value_int(row->n), value_blob(row->body)};
    enum { KEY = 3, ALL = 4 };
    assert(row->session);
    int rc = tally_drop_rows(store, TALLY_ITEMS, row->session, SQL_ITEM_SUM, values,
                             KEY, error);
    if (!rc)
        rc = store_write_summed(store, SQL_PUT_ITEM, values, ALL, error);
    return rc ? rc
              : tally_put_row(store, TALLY_ITEMS, row->session, values, ALL, error);
}

void store_item_tally(struct cairn_store *store, const struct item_row *row,
                      struct row_tally *tally)
{
    struct value_sum sum;
    values_sum(store->sha,
               VALUES(value_number(row->session), value_int(row->kind),
                      value_int(row->n), value_blob(row->body)),
               &sum);
    tally_add(tally, value_sum_view(&sum));
}

int store_drop_item(struct cairn_store *store, uint64_t session, uint8_t kind,
                    uint32_t n, struct cairn_error *error)
{
    const struct sql_value key[] = {value_number(session), value_int(kind),
                                    value_int(n)};
    int rc = tally_drop_rows(store, TALLY_ITEMS, session, SQL_ITEM_SUM, key, 3, error);
    return rc ? rc : store_write(store, SQL_DROP_ITEM, key, 3, error);
}

/* Calls for rows until one is of another session. */
static int each_of(struct checked *rows, uint64_t session, struct row_tally *found,
                   item_row_fn *each, void *context, struct cairn_error *error)
{
    int rc;
    while ((rc = checked_step(rows, error)) > 0) {
        const struct sql_value *v = rows->values;
        struct item_row row = {.session = (uint64_t)v[ITEM_SESSION_AT].integer,
                               .kind = (uint8_t)v[ITEM_KIND_AT].integer,
                               .n = (uint32_t)v[ITEM_N_AT].integer,
                               .body = v[ITEM_BODY_AT].bytes};
        if (row.session != session)
            return 0;
        tally_add(found, v[ITEM_SUM_AT].bytes);
        rc = each(context, &row);
        if (rc)
            break;
    }
    return rc;
}

int store_each_item(struct cairn_store *store, uint64_t session, item_row_fn *each,
                    void *context, struct cairn_error *error)
{
    struct checked rows = {.store = store, .table = &checked_items};
    const struct sql_value bound[] = {value_number(session)};
    struct row_tally found = {0};
    assert(each);
    int rc = store_begin_read(store, error); /* both see one moment */
    if (rc)
        return rc;
    rc = checked_look(&rows, SQL_ITEM_BEFORE, bound, 1, error);
    if (!rc) {
        rc = checked_start(&rows, SQL_EACH_ITEM, bound, 1, error);
        if (!rc)
            rc = each_of(&rows, session, &found, each, context, error);
        checked_stop(&rows);
    }
    if (!rc && !rows.damaged[0])
        rc = store_tally_compare(store, TALLY_ITEMS, session, &found, error);
    store_end_read(store);
    return rc > 0 ? 0 : checked_result(&rows, rc, error);
}
