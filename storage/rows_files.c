/* SPDX-License-Identifier: MIT */
/* The setting `artifacts.RUN.ID`, or `kept.RUN.ID`, ID the id of the task:
 *
 *   GEN TASK ATTEMPT UNTIL FILES SUM
 *
 * numbers decimal, the rest hex. With a key of the store the sum has an HMAC. */
#include "storage/rows_files.h"

#include "storage/rows_int.h"
#include "storage/rows_meta.h"

#include "base/limits.h"
#include "base/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SETTING_BYTES = LIMIT_ID_BYTES + 64,
    TEXT_BYTES = 96 + DIGEST_HEX_SIZE + 2 * SUM_KEYED_BYTES
};

static const char *const kinds[FILES_KINDS] = {"artifacts", "outputs"};

static int sum_files(struct cairn_store *store, const struct files_row *row,
                     struct row_sum *sum, struct cairn_error *error)
{
    const uint64_t numbers[] = {row->run, row->gen, row->task, row->attempt,
                                (uint64_t)row->until_ns};
    const struct str texts[] = {row->id, digest_view(&row->files)};
    const struct summed summed = {kinds[row->kind], numbers, COUNT_OF(numbers), texts,
                                  COUNT_OF(texts)};
    return row_sum(store, &summed, sum, error);
}

static void setting_of(const struct files_row *row, char setting[SETTING_BYTES])
{
    snprintf(setting, SETTING_BYTES, "%s.%" PRIu64 ".%.*s", kinds[row->kind], row->run,
             (int)row->id.len, row->id.ptr);
}

int store_put_files(struct cairn_store *store, const struct files_row *row,
                    struct cairn_error *error)
{
    char setting[SETTING_BYTES], hex[DIGEST_HEX_SIZE];
    struct buf text = BUF_INIT;
    struct row_sum sum;
    assert(row->id.len <= LIMIT_ID_BYTES && row->until_ns >= 0);
    int rc = sum_files(store, row, &sum, error);
    if (rc)
        return rc;
    setting_of(row, setting);
    digest_hex(&row->files, hex);
    buf_format(&text, "%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRId64 " %s ", row->gen,
               row->task, row->attempt, row->until_ns, hex);
    setting_put_sum(&text, &sum);
    rc = buf_check(&text, error) ?: store_set_setting(store, setting, text.data, error);
    buf_release(&text);
    return rc;
}

/* 1: the text says it, and holds; 0; or an error. `any_key`: without the HMAC. */
static int parse_files(struct cairn_store *store, struct str value, bool any_key,
                       struct files_row *row, struct cairn_error *error)
{
    char copy[TEXT_BYTES];
    const char *text = copy;
    uint8_t files[SUM_KEYED_BYTES], stored[SUM_KEYED_BYTES];
    uint64_t gen, task, attempt, until;
    size_t bytes, n;
    struct row_sum sum;
    if (value.len >= sizeof copy - 1)
        return 0;
    snprintf(copy, sizeof copy, "%.*s ", (int)value.len, value.len ? value.ptr : "");
    if (!digits_take(&text, ' ', UINT32_MAX, &gen) ||
        !digits_take(&text, ' ', UINT32_MAX, &task) ||
        !digits_take(&text, ' ', UINT32_MAX, &attempt) ||
        !digits_take(&text, ' ', INT64_MAX, &until) ||
        !setting_take_sum(&text, files, &bytes) || bytes != DIGEST_SIZE ||
        !setting_take_sum(&text, stored, &n))
        return 0;
    row->gen = (uint32_t)gen;
    row->task = (uint32_t)task;
    row->attempt = (uint32_t)attempt;
    row->until_ns = (int64_t)until;
    memcpy(row->files.bytes, files, DIGEST_SIZE);
    int rc = sum_files(store, row, &sum, error);
    struct str sums = {(const char *)stored, n};
    return rc ? rc : any_key ? sum_bytes_hold(&sum, sums) : sum_matches(&sum, sums);
}

int store_get_files(struct cairn_store *store, struct files_row *row,
                    struct cairn_error *error)
{
    char setting[SETTING_BYTES], text[TEXT_BYTES];
    if (row->id.len > LIMIT_ID_BYTES)
        return 0;
    setting_of(row, setting);
    int rc = store_setting(store, setting, text, sizeof text, error);
    return rc <= 0 ? rc : parse_files(store, str_of(text), false, row, error);
}

int store_drop_files(struct cairn_store *store, const struct files_row *row,
                     struct cairn_error *error)
{
    char setting[SETTING_BYTES], text[TEXT_BYTES];
    struct files_row found = *row;
    setting_of(row, setting);
    int rc = store_setting(store, setting, text, sizeof text, error);
    if (rc > 0)
        rc = parse_files(store, str_of(text), true, &found, error);
    if (rc <= 0 || !digest_equal(&found.files, &row->files))
        return rc < 0 ? rc : 0;
    return store_drop_setting(store, setting, error) ?: 1;
}

/* ---- All of them ---- */

/* Run and id from a key behind the kind and its dot; false: it is none of ours. */
static bool parse_key(struct str rest, struct files_row *row)
{
    char number[24];
    const char *at = number;
    const char *dot = rest.len ? memchr(rest.ptr, '.', rest.len) : NULL;
    size_t n = dot ? (size_t)(dot - rest.ptr) : 0;
    if (!n || n >= sizeof number - 1)
        return false;
    snprintf(number, sizeof number, "%.*s ", (int)n, rest.ptr);
    row->id = (struct str){dot + 1, rest.len - n - 1};
    return digits_take(&at, ' ', INT64_MAX, &row->run) && row->id.len &&
           row->id.len <= LIMIT_ID_BYTES;
}

/* The row of a setting: as parse_files; with `all` one that does not hold is
 * CAIRN_EDAMAGED. */
static int read_row(struct cairn_store *store, struct str key, struct str value,
                    bool all, struct files_row *row, struct cairn_error *error)
{
    static const char *const what[FILES_KINDS] = {"artifacts a task has left",
                                                  "outputs of a task were kept"};
    size_t skip = strlen(kinds[row->kind]) + 1;
    struct str rest = {key.ptr + skip, key.len - skip};
    int rc = parse_key(rest, row) ? parse_files(store, value, all, row, error) : 0;
    if (rc || !all)
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     "the setting %.*s of the store, which says what %s, is damaged; "
                     "`cairn doctor --repair` saves all others",
                     (int)(key.len < 300 ? key.len : 300), key.ptr, what[row->kind]);
}

static int tell_row(struct cairn_store *store, const struct files_search *search,
                    struct str key, struct str value, struct cairn_error *error)
{
    struct files_row row = {.kind = search->kind};
    int rc = read_row(store, key, value, search->all, &row, error);
    return rc > 0 ? search->each(search->context, &row) : rc;
}

int store_each_files(struct cairn_store *store, const struct files_search *search,
                     struct cairn_error *error)
{
    const char *kind = kinds[search->kind];
    char from[64], to[64];
    struct query query;
    store_assert_open(store);
    if (search->run) { /* '/' follows '.' */
        snprintf(from, sizeof from, "%s.%" PRIu64 ".", kind, search->run);
        snprintf(to, sizeof to, "%s.%" PRIu64 "/", kind, search->run);
    } else {
        snprintf(from, sizeof from, "%s.", kind);
        snprintf(to, sizeof to, "%s/", kind);
    }
    query_start(&query, store->db, SQL_EACH_META_RANGE,
                VALUES(value_text(str_of(from)), value_text(str_of(to))), error);
    while (query_step(&query))
        query.rc = tell_row(store, search, query_text(&query, 0), query_text(&query, 1),
                            error);
    int rc = query.rc;
    query_end(&query);
    return rc;
}

/* Appends the setting, with its NUL, if its time is over. */
static int note_if_over(struct cairn_store *store, const struct files_expiry *e,
                        struct str key, struct str value, struct buf *over,
                        struct cairn_error *error)
{
    struct files_row row = {.kind = e->kind};
    int rc = read_row(store, key, value, true, &row, error);
    if (rc > 0 && row.until_ns && row.until_ns <= e->now_ns) {
        buf_str(over, key);
        buf_byte(over, '\0');
    }
    return rc < 0 ? rc : 0;
}

int store_drop_expired_files(struct cairn_store *store, struct files_expiry *e,
                             struct cairn_error *error)
{
    struct buf over = BUF_INIT;
    struct query query;
    char to[32];
    uint32_t n = 0, dropped = 0;
    store_assert_writing(store);
    if (!e->from.size)
        buf_format(&e->from, "%s.", kinds[e->kind]);
    snprintf(to, sizeof to, "%s/", kinds[e->kind]);
    int rc = buf_check(&e->from, error);
    if (rc)
        return rc;
    query_start(&query, store->db, SQL_EACH_META_RANGE,
                VALUES(value_text(buf_view(&e->from)), value_text(str_of(to))), error);
    while (n < e->limit && query_step(&query)) {
        struct str key = query_text(&query, 0);
        query.rc = note_if_over(store, e, key, query_text(&query, 1), &over, error);
        if (++n == e->limit) {
            buf_clear(&e->from);
            buf_str(&e->from, key);
            buf_byte(&e->from, '\1'); /* behind it */
        }
    }
    e->left = n == e->limit;
    rc = query_end(&query) ?: buf_check(&e->from, error) ?: buf_check(&over, error);
    for (size_t at = 0; at < over.size && !rc; at += strlen(over.data + at) + 1) {
        rc = store_drop_setting(store, over.data + at, error);
        dropped++;
    }
    buf_release(&over);
    e->dropped += rc ? 0 : dropped;
    return rc;
}
