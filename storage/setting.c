/* SPDX-License-Identifier: MIT */
/* Settings of the store, in `meta`: its id, and what schema.c, rows_gc.c and the
 * executor (compiled.c) note. */
#include "storage/store_int.h"

#include <stdio.h>

int store_setting(struct cairn_store *store, const char *key, char *out, size_t size,
                  struct cairn_error *error)
{
    struct query query;
    int rc = query_start(&query, store->db, SQL_GET_META,
                         VALUES(value_text(str_of(key))), error);
    if (!rc)
        rc = query_step(&query, error);
    if (rc > 0) {
        struct str text = query_text(&query, 0);
        snprintf(out, size, "%.*s", (int)(text.len < size ? text.len : size),
                 text.len ? text.ptr : "");
    }
    query_end(&query);
    return rc;
}

int store_set_setting(struct cairn_store *store, const char *key, const char *text,
                      struct cairn_error *error)
{
    return store_write_summed(store, SQL_SET_META,
                              VALUES(value_text(str_of(key)), value_text(str_of(text))),
                              error);
}
