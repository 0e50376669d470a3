/* SPDX-License-Identifier: MIT */
/* Whether the tables and the pages of the database are intact, and whether its rows are
 * what was written. (Objects: object.c; the log: store_check.c.) */
#include "storage/health.h"

#include "storage/rows_int.h"
#include "storage/rows_meta.h"
#include "storage/schema.h"
#include "storage/sqlite/db.h"
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
    query_start(&query, store->db, SQL_CHECK_PAGES, NO_VALUES, error);
    while (query_step(&query)) {
        struct str text = query_text(&query, 0);
        query.rc = check_reading(store, text.ptr, error);
        if (!query.rc)
            query.rc = each_line(text, each, context);
    }
    return query_end(&query);
}

/* Whether the rows are what was written: their checksums, table by table. */

static int item_sound(struct cairn_store *store, const struct sql_value *values,
                      struct cairn_error *error)
{
    (void)error;
    return values_sound(store->sha, values, ITEM_ABOUT_AT, true) &&
           derived_sound(values + ITEM_ABOUT_AT, ITEM_COLUMNS_READ - ITEM_ABOUT_AT);
}

/* What a table's rows are called, with up to four numbers of their key. */
static const struct row_kind {
    enum sql_id id;
    int columns;
    const char *format;
    /* or values_sound */
    int (*sound)(struct cairn_store *, const struct sql_value *, struct cairn_error *);
    bool strict; /* every release that knows the table wrote checksums */
} kinds[] = {
    {SQL_ALL_META, 3, "a setting of the store", NULL, false},
    {SQL_ALL_RUN_GRAPH, 4, "the graph of run %lld, generation %lld", NULL, false},
    {SQL_ALL_TOMBSTONE, TOMBSTONE_SUMMED_COLUMNS,
     "the note about deleted checkpoints (namespace %lld, run %lld, from %lld to %lld)",
     NULL, false},
    {SQL_ALL_ATTEMPT, ROW_COLUMNS_MOST,
     "the row of run %lld, generation %lld, task %lld, attempt %lld", NULL, false},
    {SQL_ALL_EVENT, 10, "the event of run %lld, turn %lld, number %lld", NULL, false},
    {SQL_ALL_COMMAND, 10, "command %lld to run %lld", command_sound, false},
    {SQL_ALL_CLAIM, 10, "the claim of run %lld, generation %lld, task %lld",
     claim_sound, false},
    {SQL_ALL_SESSION, SESSION_COLUMNS_READ, "the row of session %lld", NULL, true},
    {SQL_ALL_BRANCH, BRANCH_COLUMNS_READ, "branch %lld of session %lld", NULL, true},
    {SQL_ALL_ITEM, ITEM_COLUMNS_READ,
     "the item of session %lld, kind %lld, number %lld", item_sound, true},
    {SQL_ALL_SESSION_LOG, SESSION_LOG_COLUMNS_READ,
     "the log of session %lld, turn %lld, number %lld", NULL, true},
    {SQL_ALL_ANNOTATION, ANNOTATION_COLUMNS_READ,
     "the annotation of checkpoint %lld, number %lld", NULL, true},
    {SQL_ALL_MESSAGE, MESSAGE_COLUMNS_READ, "the message of session %lld, number %lld",
     NULL, true},
};

/* With a key: whether it is sound for a handle that has none. */
static int lacks_hmac(struct cairn_store *store, const struct row_kind *kind,
                      const struct sql_value *values, struct cairn_error *error)
{
    if (kind->id == SQL_ALL_TOMBSTONE)
        return tombstone_only_hmac_fails(store, values);
    struct hmac_key *key = store_swap_key(store, NULL);
    int sound = key && kind->sound ? kind->sound(store, values, error) : 0;
    store_swap_key(store, key);
    return sound;
}

static int report_bad_row(struct cairn_store *store, const struct row_kind *kind,
                          const struct sql_value *values,
                          int (*bad)(void *, const struct bad_row *), void *context,
                          struct cairn_error *error)
{
    char text[200];
    long long key[4];
    for (int i = 0; i < 4; i++)
        key[i] = i < kind->columns ? values[i].integer : 0;
    snprintf(text, sizeof text, kind->format, key[0], key[1], key[2], key[3]);
    int hmac = lacks_hmac(store, kind, values, error);
    struct bad_row row = {.what = text, .hmac = hmac > 0};
    row.run =
        (uint64_t)key[kind->sound == command_sound || kind->id == SQL_ALL_TOMBSTONE];
    return hmac < 0 ? hmac : bad(context, &row);
}

static int is_sound(struct cairn_store *store, const struct row_kind *kind,
                    const struct sql_value *values, bool strict,
                    struct cairn_error *error)
{
    if (kind->sound)
        return kind->sound(store, values, error);
    return kind->id == SQL_ALL_TOMBSTONE
               ? tombstone_sound(store, values, strict)
               : values_sound(store->sha, values, (size_t)kind->columns,
                              strict || kind->strict);
}

/* Whether a row without a checksum is a damaged one. */
static int is_strict(struct cairn_store *store, bool *strict, struct cairn_error *error)
{
    char text[8] = "";
    int rc = store_setting(store, "sums", text, sizeof text, error);
    *strict = strcmp(text, "all") == 0;
    return rc < 0 ? rc : 0;
}

static int verify_kind(struct cairn_store *store, const struct row_kind *kind,
                       bool strict, int (*bad)(void *, const struct bad_row *),
                       void *context, struct cairn_error *error)
{
    struct sql_value values[ROW_COLUMNS_MOST] = {{0}};
    struct query query;
    assert(kind->columns <= ROW_COLUMNS_MOST);
    query_start(&query, store->db, kind->id, NO_VALUES, error);
    while (query_step(&query)) {
        for (int i = 0; i < kind->columns; i++)
            values[i] = query_value(&query, i);
        int sound = is_sound(store, kind, values, strict, error);
        query.rc = sound < 0 ? sound
                   : sound   ? 0
                             : report_bad_row(store, kind, values, bad, context, error);
    }
    query_end(&query);
    return query.rc;
}

/* A store of version 1 or 2 that nobody has migrated yet has no such columns. */
int store_verify_rows(struct cairn_store *store,
                      int (*bad)(void *, const struct bad_row *), void *context,
                      struct cairn_error *error)
{
    store_assert_open(store);
    assert(bad);
    enum { CHECKSUMS_SINCE = 3 };
    bool strict = false;
    if (store->stands_in && store->stands_in < CHECKSUMS_SINCE)
        return 0;
    int rc = is_strict(store, &strict, error);
    for (size_t i = 0; i < COUNT_OF(kinds) && rc == 0; i++)
        rc = verify_kind(store, &kinds[i], strict, bad, context, error);
    return rc < 0 ? rc : 0;
}
