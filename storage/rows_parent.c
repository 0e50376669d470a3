/* SPDX-License-Identifier: MIT */
#include "storage/rows_parent.h"

#include "base/words.h"

#include "storage/rows_int.h"
#include "storage/rows_meta.h"

#include <inttypes.h>
#include <stdio.h>

enum { KEY_BYTES = 128, TEXT_BYTES = LIMIT_ID_BYTES + 2 * SUM_KEYED_BYTES + 80 };

/* ---- The text of a setting ---- */

static int sum_parent(struct cairn_store *store, uint64_t run,
                      const struct run_parent *parent, struct row_sum *sum,
                      struct cairn_error *error)
{
    const uint64_t numbers[] = {run, parent->run, parent->gen, parent->task,
                                parent->attempt};
    const struct str texts[] = {str_of(parent->id)};
    const struct summed summed = {"parent", numbers, sizeof numbers / sizeof numbers[0],
                                  texts, 1};
    return row_sum(store, &summed, sum, error);
}

/* parent->run is 0 afterwards if the text says nothing that holds. */
static int parse_parent(struct cairn_store *store, uint64_t run, const char *text,
                        struct run_parent *parent, struct cairn_error *error)
{
    uint64_t gen, task, attempt;
    uint8_t bytes[SUM_KEYED_BYTES];
    size_t n;
    struct row_sum sum;
    *parent = (struct run_parent){0};
    struct run_parent read = {0};
    if (!digits_take(&text, ' ', INT64_MAX, &read.run) ||
        !digits_take(&text, ' ', UINT32_MAX, &gen) ||
        !digits_take(&text, ' ', UINT32_MAX, &task) ||
        !digits_take(&text, ' ', UINT32_MAX, &attempt) ||
        !setting_take_sum(&text, bytes, &n) || strlen(text) >= sizeof read.id)
        return 0;
    read.gen = (uint32_t)gen;
    read.task = (uint32_t)task;
    read.attempt = (uint32_t)attempt;
    snprintf(read.id, sizeof read.id, "%s", text);
    int rc = sum_parent(store, run, &read, &sum, error);
    if (!rc && sum_matches(&sum, (struct str){(const char *)bytes, n}))
        *parent = read;
    return rc;
}

static void key_of(uint64_t run, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "parent.%" PRIu64, run);
}

/* ---- One run ---- */

int store_set_parent(struct cairn_store *store, uint64_t run,
                     const struct run_parent *parent, struct cairn_error *error)
{
    char key[KEY_BYTES], text[TEXT_BYTES];
    struct row_sum sum;
    int rc = sum_parent(store, run, parent, &sum, error);
    if (rc)
        return rc;
    int n =
        snprintf(text, sizeof text, "%" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32 " ",
                 parent->run, parent->gen, parent->task, parent->attempt);
    struct buf hex = BUF_INIT;
    setting_put_sum(&hex, &sum);
    rc = buf_check(&hex, error);
    snprintf(text + n, sizeof text - (size_t)n, "%s %s", rc ? "" : hex.data,
             parent->id);
    buf_release(&hex);
    if (rc)
        return rc;
    key_of(run, key);
    return store_set_setting(store, key, text, error);
}

int store_get_parent(struct cairn_store *store, uint64_t run, struct run_parent *parent,
                     struct cairn_error *error)
{
    char key[KEY_BYTES], text[TEXT_BYTES];
    *parent = (struct run_parent){0};
    key_of(run, key);
    int rc = store_setting(store, key, text, sizeof text, error);
    return rc > 0 ? parse_parent(store, run, text, parent, error) : rc;
}

int store_drop_run_settings(struct cairn_store *store, uint64_t run,
                            struct cairn_error *error)
{
    static const char *const lists[] = {"cancelled", "given", "artifacts", "outputs",
                                        "added"};
    char key[KEY_BYTES], first[KEY_BYTES], last[KEY_BYTES];
    key_of(run, key);
    int rc =
        store_write(store, SQL_DELETE_META, VALUES(value_text(str_of(key))), error);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && !rc; i++) {
        snprintf(first, sizeof first, "%s.%" PRIu64 ".", lists[i], run);
        snprintf(last, sizeof last, "%s.%" PRIu64 "/", lists[i], run); /* '.' + 1 */
        rc = store_write(store, SQL_DELETE_META_RANGE,
                         VALUES(value_text(str_of(first)), value_text(str_of(last))),
                         error);
    }
    return rc;
}

/* ---- Looking for one ---- */

/* Of a row: the run, the setting or NULL. */
static int parent_from(struct cairn_store *store, const struct query *query,
                       struct run_parent *parent, struct cairn_error *error)
{
    char text[TEXT_BYTES];
    struct str value = query_text(query, 1);
    *parent = (struct run_parent){0};
    if (!value.len || value.len >= sizeof text)
        return 0;
    snprintf(text, sizeof text, "%.*s", (int)value.len, value.ptr);
    return parse_parent(store, query_u64(query, 0), text, parent, error);
}

static bool same_task(const struct run_parent *a, const struct run_parent *b)
{
    return a->run == b->run && strcmp(a->id, b->id) == 0;
}

int store_find_inside(struct cairn_store *store, const struct inside_query *inside,
                      uint64_t *run, struct run_parent *was, struct cairn_error *error)
{
    struct query query;
    store_assert_open(store);
    *run = 0;
    query_start(
        &query, store->db, SQL_EACH_INSIDE,
        VALUES(value_u64(inside->workflow), value_blob(digest_view(inside->params))),
        error);
    while (query_step(&query)) {
        query.rc = parent_from(store, &query, was, error);
        if (!query.rc && same_task(was, inside->parent)) {
            *run = query_u64(&query, 0);
            break;
        }
    }
    return query_end(&query);
}

int store_newest_inside(struct cairn_store *store, const struct run_parent *parent,
                        uint64_t *run, struct cairn_error *error)
{
    enum { PARENT_THERE = 2 };
    struct query query;
    struct run_parent of;
    store_assert_open(store);
    *run = 0;
    query_start(&query, store->db, SQL_EACH_RUN_PARENT, NO_VALUES, error);
    while (query_step(&query)) {
        query.rc = parent_from(store, &query, &of, error);
        if (query.rc)
            break;
        if (parent ? same_task(&of, parent)
                   : !of.run || !query_int(&query, PARENT_THERE)) {
            *run = query_u64(&query, 0);
            break;
        }
    }
    return query_end(&query);
}

int store_each_unfinished(struct cairn_store *store, int (*each)(void *, uint64_t run),
                          void *context, struct cairn_error *error)
{
    store_assert_open(store);
    return db_each_number(store->db, SQL_EACH_UNFINISHED, each, context, error);
}

/* ---- Params that were given ---- */

static int given_key(struct buf *key, uint64_t run, struct str param,
                     struct cairn_error *error)
{
    buf_format(key, "given.%" PRIu64 ".%.*s", run, (int)param.len, param.ptr);
    return buf_check(key, error);
}

int store_set_given(struct cairn_store *store, uint64_t run, struct str param,
                    struct cairn_error *error)
{
    struct buf key = BUF_INIT;
    int rc = given_key(&key, run, param, error)
                 ?: store_set_setting(store, key.data, "1", error);
    buf_release(&key);
    return rc;
}

int store_was_given(struct cairn_store *store, uint64_t run, struct str param,
                    struct cairn_error *error)
{
    struct buf key = BUF_INIT;
    char text[2];
    int rc = given_key(&key, run, param, error)
                 ?: store_setting(store, key.data, text, sizeof text, error);
    buf_release(&key);
    return rc;
}

/* ---- Cancelled ones ---- */

static void cancelled_key(const struct run_parent *parent, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "cancelled.%" PRIu64 ".%" PRIu32 ".%" PRIu32 ".%" PRIu32,
             parent->run, parent->gen, parent->task, parent->attempt);
}

int store_set_cancelled_inside(struct cairn_store *store,
                               const struct run_parent *parent, uint64_t run,
                               struct cairn_error *error)
{
    char key[KEY_BYTES], text[32];
    cancelled_key(parent, key);
    snprintf(text, sizeof text, "%" PRIu64, run);
    return store_set_setting(store, key, text, error);
}

int store_get_cancelled_inside(struct cairn_store *store,
                               const struct run_parent *parent, uint64_t *run,
                               struct cairn_error *error)
{
    char key[KEY_BYTES], text[32];
    *run = 0;
    cancelled_key(parent, key);
    int rc = store_setting(store, key, text, sizeof text, error);
    if (rc > 0)
        *run = strtoull(text, NULL, 10);
    return rc < 0 ? rc : 0;
}
