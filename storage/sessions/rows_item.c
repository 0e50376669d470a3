/* SPDX-License-Identifier: MIT */
/* Rows of items. */
#include "storage/sessions/rows_checked_int.h"
#include "storage/sessions/rows_session.h"

#include <assert.h>

int store_put_item(struct cairn_store *store, const struct item_row *row,
                   struct cairn_error *error)
{
    assert(row->session);
    return store_write_summed(store, SQL_PUT_ITEM,
                              VALUES(value_number(row->session), value_int(row->kind),
                                     value_int(row->n), value_blob(row->body)),
                              error);
}

int store_drop_item(struct cairn_store *store, uint64_t session, uint8_t kind,
                    uint32_t n, struct cairn_error *error)
{
    return store_write(store, SQL_DROP_ITEM,
                       VALUES(value_number(session), value_int(kind), value_int(n)),
                       error);
}

/* Calls for rows until one is of another session. */
static int each_of(struct checked *rows, uint64_t session, item_row_fn *each,
                   void *context, struct cairn_error *error)
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
    assert(each);
    int rc = store_begin_read(store, error); /* both see one moment */
    if (rc)
        return rc;
    rc = checked_look(&rows, SQL_ITEM_BEFORE, bound, 1, error);
    if (!rc) {
        rc = checked_start(&rows, SQL_EACH_ITEM, bound, 1, error);
        if (!rc)
            rc = each_of(&rows, session, each, context, error);
        checked_stop(&rows);
    }
    store_end_read(store);
    return rc > 0 ? 0 : checked_result(&rows, rc, error);
}
