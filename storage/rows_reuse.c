/* SPDX-License-Identifier: MIT */
/* The setting `reuse.W.KEY`, W the row of the workflow, KEY in hex:
 *
 *   RUN GEN TASK ATTEMPT RESULT SUM
 *
 * numbers decimal, the rest hex. With a key of the store the sum has an HMAC. */
#include "storage/rows_reuse.h"

#include "base/words.h"

#include "storage/rows_attempt.h"
#include "storage/rows_int.h"
#include "storage/rows_meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SETTING_BYTES = 32 + DIGEST_HEX_SIZE,
    TEXT_BYTES = 96 + DIGEST_HEX_SIZE + 2 * SUM_KEYED_BYTES
};

static const char prefix[] = "reuse.", end_of_prefix[] = "reuse/"; /* '/' follows '.' */

static int sum_reuse(struct cairn_store *store, const struct reuse_row *row,
                     struct row_sum *sum, struct cairn_error *error)
{
    const uint64_t numbers[] = {row->workflow, row->run, row->gen, row->task,
                                row->attempt};
    const struct str texts[] = {digest_view(&row->key), digest_view(&row->result)};
    const struct summed summed = {"reuse", numbers, COUNT_OF(numbers), texts,
                                  COUNT_OF(texts)};
    return row_sum(store, &summed, sum, error);
}

static void setting_of(const struct reuse_row *row, char setting[SETTING_BYTES])
{
    char hex[DIGEST_HEX_SIZE];
    digest_hex(&row->key, hex);
    snprintf(setting, SETTING_BYTES, "%s%" PRIu64 ".%s", prefix, row->workflow, hex);
}

int store_put_reuse(struct cairn_store *store, const struct reuse_row *row,
                    struct cairn_error *error)
{
    char setting[SETTING_BYTES], hex[DIGEST_HEX_SIZE];
    struct buf text = BUF_INIT;
    struct row_sum sum;
    int rc = sum_reuse(store, row, &sum, error);
    if (rc)
        return rc;
    setting_of(row, setting);
    digest_hex(&row->result, hex);
    buf_format(&text, "%" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %s ", row->run,
               row->gen, row->task, row->attempt, hex);
    setting_put_sum(&text, &sum);
    rc = buf_check(&text, error) ?: store_set_setting(store, setting, text.data, error);
    buf_release(&text);
    return rc;
}

int store_drop_reuse(struct cairn_store *store, const struct reuse_row *row,
                     struct cairn_error *error)
{
    char setting[SETTING_BYTES];
    setting_of(row, setting);
    return store_drop_setting(store, setting, error);
}

/* False: the text is none of ours. `text` ends with a space. */
static bool parse_reuse(const char *text, struct reuse_row *row,
                        uint8_t sum[SUM_KEYED_BYTES], size_t *n)
{
    uint8_t result[SUM_KEYED_BYTES];
    uint64_t gen, task, attempt;
    size_t bytes;
    if (!digits_take(&text, ' ', INT64_MAX, &row->run) ||
        !digits_take(&text, ' ', UINT32_MAX, &gen) ||
        !digits_take(&text, ' ', UINT32_MAX, &task) ||
        !digits_take(&text, ' ', UINT32_MAX, &attempt) ||
        !setting_take_sum(&text, result, &bytes) || bytes != DIGEST_SIZE ||
        !setting_take_sum(&text, sum, n))
        return false;
    row->gen = (uint32_t)gen;
    row->task = (uint32_t)task;
    row->attempt = (uint32_t)attempt;
    memcpy(row->result.bytes, result, DIGEST_SIZE);
    return true;
}

int store_get_reuse(struct cairn_store *store, struct reuse_row *row,
                    struct cairn_error *error)
{
    char setting[SETTING_BYTES], text[TEXT_BYTES];
    uint8_t stored[SUM_KEYED_BYTES];
    struct row_sum sum;
    size_t n;
    setting_of(row, setting);
    int rc = store_setting(store, setting, text, sizeof text - 1, error);
    if (rc <= 0)
        return rc;
    memcpy(text + strlen(text), " ", 2);
    if (!parse_reuse(text, row, stored, &n))
        return 0;
    return sum_reuse(store, row, &sum, error)
               ?: sum_matches(&sum, (struct str){(const char *)stored, n});
}

static int stop_at_first(void *context, struct str key)
{
    (void)context;
    (void)key;
    return 1;
}

int store_has_reuse(struct cairn_store *store, uint64_t workflow, bool *has,
                    struct cairn_error *error)
{
    char all[SETTING_BYTES];
    snprintf(all, sizeof all, "%s%" PRIu64 ".", prefix, workflow);
    int rc = store_each_setting(store, all, stop_at_first, NULL, error);
    *has = rc > 0;
    return rc < 0 ? rc : 0;
}

/* ---- Those whose attempt is gone ---- */

static int is_there(struct cairn_store *store, struct str text, bool *there,
                    struct cairn_error *error)
{
    char copy[TEXT_BYTES];
    uint8_t sum[SUM_KEYED_BYTES];
    struct reuse_row row = {0};
    struct cairn_error why = {0};
    size_t n;
    *there = false;
    if (text.len >= sizeof copy - 1)
        return 0;
    snprintf(copy, sizeof copy, "%.*s ", (int)text.len, text.len ? text.ptr : "");
    if (!parse_reuse(copy, &row, sum, &n))
        return 0;
    const struct attempt_row key = {
        .run = row.run, .gen = row.gen, .task = row.task, .number = row.attempt};
    int rc = store_get_attempt(store, &key, NULL, NULL, &why);
    *there = rc == 0;
    return rc && rc != CAIRN_ENOTFOUND ? error_set(error, rc, "%s", why.text) : 0;
}

/* Appends the settings of the slice that are to go, each with its NUL. */
static int find_lost(struct cairn_store *store, uint32_t limit, struct buf *from,
                     struct buf *lost, bool *left, struct cairn_error *error)
{
    struct query query;
    uint32_t n = 0;
    query_start(&query, store->db, SQL_EACH_META_RANGE,
                VALUES(value_text(buf_view(from)), value_text(str_of(end_of_prefix))),
                error);
    buf_clear(lost);
    while (n < limit && query_step(&query)) {
        struct str key = query_text(&query, 0);
        bool there;
        n++;
        query.rc = is_there(store, query_text(&query, 1), &there, error);
        if (!query.rc && !there) {
            buf_str(lost, key);
            buf_byte(lost, '\0');
        }
        if (n == limit) {
            buf_clear(from);
            buf_str(from, key);
            buf_byte(from, '\1'); /* behind it */
        }
    }
    *left = n == limit;
    return query_end(&query) ?: buf_check(from, error) ?: buf_check(lost, error);
}

int store_drop_lost_reuse(struct cairn_store *store, uint32_t limit, struct buf *from,
                          bool *left, struct cairn_error *error)
{
    struct buf lost = BUF_INIT;
    store_assert_writing(store);
    if (!from->size)
        buf_text(from, prefix);
    int rc =
        buf_check(from, error) ?: find_lost(store, limit, from, &lost, left, error);
    for (size_t at = 0; at < lost.size && !rc; at += strlen(lost.data + at) + 1)
        rc = store_drop_setting(store, lost.data + at, error);
    buf_release(&lost);
    return rc;
}
