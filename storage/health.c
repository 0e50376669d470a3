/* SPDX-License-Identifier: MIT */
/* Whether the tables and the pages of the database are intact. (Rows are checked in
 * health_rows.c and object.c, the log in store_check.c.) */
#include "storage/health.h"

#include "storage/schema.h"
#include "storage/sqlite/db_error.h"
#include "storage/sqlite/statement.h"
#include "storage/store_int.h"

#include <assert.h>
#include <stdio.h>

int store_check_schema(struct cairn_store *store, int (*each)(void *, const char *line),
                       void *context, struct cairn_error *error)
{
    store_assert_open(store);
    return schema_compare(store->db, each, context, error);
}

/* SQLite returns all its findings as one text, under a headline. */
static int each_line(struct str text, int (*each)(void *, const char *line),
                     void *context)
{
    assert(each);
    int rc = 0;
    while (!rc && text.len > 0) {
        char line[256];
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t n = end ? (size_t)(end - text.ptr) : text.len;
        snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line),
                 text.ptr);
        n += end != NULL;
        text = (struct str){text.ptr + n, text.len - n};
        if (line[0] && strcmp(line, "ok") != 0 && strncmp(line, "*** ", 4) != 0)
            rc = each(context, line);
    }
    return rc;
}

/* SQLite lists a page that could not be read like a damaged one, and the pages below it
 * as never used. */
static int check_reading(struct cairn_store *store, const char *findings,
                         struct cairn_error *error)
{
    int sys = db_read_error(store->db);
    if (sys)
        return error_sys(error, sys, "cannot read the store %s", store->paths.dir);
    return db_lacked_memory(findings) ? error_nomem(error) : 0;
}

int store_check_pages(struct cairn_store *store, int (*each)(void *, const char *line),
                      void *context, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    assert(each);
    int rc = query_start(&query, store->db, SQL_CHECK_PAGES, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        struct str text = query_text(&query, 0);
        rc = check_reading(store, text.ptr, error);
        if (!rc)
            rc = each_line(text, each, context);
        if (rc)
            break;
    }
    query_end(&query);
    return rc < 0 ? rc : 0;
}
