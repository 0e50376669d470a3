/* SPDX-License-Identifier: MIT */
/* The setting `made.W.TASK NEWLINE PATH`, W the row of the workflow:
 *
 *   KIND SIZE MTIME CTIME INODE DIGEST SUM
 *
 * numbers decimal (KIND the byte, times as they are in 64 bits), the rest hex. With a
 * key the sum has an HMAC, since files are removed on the strength of these rows. */
#include "storage/rows_made.h"

#include "base/words.h"

#include "storage/rows_int.h"
#include "storage/rows_meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Texts of settings ---- */

bool setting_take_sum(const char **at, uint8_t bytes[SUM_KEYED_BYTES], size_t *n)
{
    for (*n = 0; **at != ' '; ++*n, *at += 2) {
        int high = hex_digit((*at)[0]), low = high < 0 ? -1 : hex_digit((*at)[1]);
        if (low < 0 || *n == SUM_KEYED_BYTES)
            return false;
        bytes[*n] = (uint8_t)(16 * high + low);
    }
    ++*at;
    return true;
}

void setting_put_sum(struct buf *text, const struct row_sum *sum)
{
    char hex[2 * sizeof sum->bytes + 1];
    hex_of_bytes(sum->bytes, sum->size, hex);
    buf_text(text, hex);
}

/* ---- Rows ---- */

static int sum_made(struct cairn_store *store, const struct made_row *row,
                    struct row_sum *sum, struct cairn_error *error)
{
    const uint64_t numbers[] = {
        row->workflow,           row->kind, row->size, (uint64_t)row->mtime_ns,
        (uint64_t)row->ctime_ns, row->inode};
    const struct str texts[] = {row->task, row->path, digest_view(&row->digest)};
    const struct summed summed = {"made", numbers, COUNT_OF(numbers), texts,
                                  COUNT_OF(texts)};
    return row_sum(store, &summed, sum, error);
}

static void put_key(struct buf *key, const struct made_row *row)
{
    buf_format(key, "made.%" PRIu64 ".", row->workflow);
    buf_str(key, row->task);
    buf_byte(key, '\n');
    buf_str(key, row->path);
}

int store_put_made(struct cairn_store *store, const struct made_row *row,
                   struct cairn_error *error)
{
    struct buf key = BUF_INIT, text = BUF_INIT;
    struct row_sum sum;
    char digest[DIGEST_HEX_SIZE];
    int rc = sum_made(store, row, &sum, error);
    digest_hex(&row->digest, digest);
    put_key(&key, row);
    buf_format(&text, "%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s ",
               row->kind, row->size, (uint64_t)row->mtime_ns, (uint64_t)row->ctime_ns,
               row->inode, digest);
    if (!rc)
        setting_put_sum(&text, &sum);
    if (!rc)
        rc = buf_check(&key, error)
             ?: buf_check(&text, error)
             ?: store_set_setting(store, key.data, text.data, error);
    buf_release(&key);
    buf_release(&text);
    return rc;
}

int store_drop_made(struct cairn_store *store, const struct made_row *row,
                    struct cairn_error *error)
{
    struct buf key = BUF_INIT;
    put_key(&key, row);
    int rc = buf_check(&key, error) ?: store_drop_setting(store, key.data, error);
    buf_release(&key);
    return rc;
}

/* False: the text is none of ours. */
static bool parse_made(const char *text, struct made_row *row,
                       uint8_t sum[SUM_KEYED_BYTES], size_t *n)
{
    uint8_t digest[SUM_KEYED_BYTES];
    uint64_t kind, mtime, ctime;
    size_t bytes;
    if (!digits_take(&text, ' ', UINT8_MAX, &kind) ||
        !digits_take(&text, ' ', UINT64_MAX, &row->size) ||
        !digits_take(&text, ' ', UINT64_MAX, &mtime) ||
        !digits_take(&text, ' ', UINT64_MAX, &ctime) ||
        !digits_take(&text, ' ', UINT64_MAX, &row->inode) ||
        !setting_take_sum(&text, digest, &bytes) || bytes != DIGEST_SIZE ||
        !setting_take_sum(&text, sum, n))
        return false;
    row->kind = (uint8_t)kind;
    row->mtime_ns = (int64_t)mtime;
    row->ctime_ns = (int64_t)ctime;
    memcpy(row->digest.bytes, digest, DIGEST_SIZE);
    return true;
}

/* 0, or what `each` returned. */
static int tell_row(struct cairn_store *store, const struct made_search *search,
                    struct made_row *row, struct str value, struct cairn_error *error)
{
    uint8_t stored[SUM_KEYED_BYTES];
    char text[512];
    struct row_sum sum;
    size_t n;
    snprintf(text, sizeof text, "%.*s ", (int)(value.len < 500 ? value.len : 500),
             value.len ? value.ptr : "");
    if (!parse_made(text, row, stored, &n))
        return 0;
    int rc = sum_made(store, row, &sum, error);
    if (rc || !sum_matches(&sum, (struct str){(const char *)stored, n}))
        return rc;
    return search->each(search->context, row);
}

struct made_walk {
    struct str prefix;   /* of all keys */
    struct buf from, to; /* keys to look at: from the first on, before the second */
    struct buf task;     /* the last one that was seen */
    bool wanted;
    uint32_t passed; /* rows of it, since it is not wanted */
};

enum { PASSED_MOST = 4 };

/* 1: the rest of the task's rows is to be passed over at once; 0; or an error. */
static int look_at_row(struct cairn_store *store, const struct made_search *search,
                       struct made_walk *w, const struct query *query,
                       struct cairn_error *error)
{
    struct made_row row = {.workflow = search->workflow};
    struct str key = query_text(query, 0);
    const char *rest = key.ptr + w->prefix.len, *end = key.ptr + key.len;
    if (!search->workflow) {
        const char *dot = memchr(rest, '.', (size_t)(end - rest));
        if (!dot)
            return 0;
        row.workflow = strtoull(rest, NULL, 10);
        rest = dot + 1;
    }
    const char *line = memchr(rest, '\n', (size_t)(end - rest));
    if (!line)
        return 0;
    row.task = (struct str){rest, (size_t)(line - rest)};
    row.path = (struct str){line + 1, (size_t)(end - line - 1)};
    if (!str_equal(buf_view(&w->task), row.task)) {
        buf_clear(&w->task);
        buf_str(&w->task, row.task);
        w->wanted = !search->workflow || search->wanted(search->context, row.task);
        w->passed = 0;
        if (buf_check(&w->task, error))
            return CAIRN_ENOMEM;
    }
    if (w->wanted)
        return tell_row(store, search, &row, query_text(query, 1), error);
    return ++w->passed == PASSED_MOST;
}

/* 1: go on behind the task that stands in w->task; 0: that was all. */
static int walk_rows(struct cairn_store *store, const struct made_search *search,
                     struct made_walk *w, struct cairn_error *error)
{
    struct query query;
    query_start(&query, store->db, SQL_EACH_META_RANGE,
                VALUES(value_text(buf_view(&w->from)), value_text(buf_view(&w->to))),
                error);
    while (query_step(&query))
        query.rc = look_at_row(store, search, w, &query, error);
    query_end(&query);
    return query.rc;
}

int store_each_made(struct cairn_store *store, const struct made_search *search,
                    struct cairn_error *error)
{
    char prefix[64];
    struct made_walk w = {0};
    store_assert_open(store);
    snprintf(prefix, sizeof prefix, "made.");
    if (search->workflow)
        snprintf(prefix, sizeof prefix, "made.%" PRIu64 ".", search->workflow);
    w.prefix = str_of(prefix);
    buf_str(&w.from, w.prefix);
    buf_str(&w.to, (struct str){prefix, w.prefix.len - 1});
    buf_byte(&w.to, '/'); /* follows '.' */
    int rc = buf_check(&w.from, error) ?: buf_check(&w.to, error);
    while (!rc && (rc = walk_rows(store, search, &w, error)) > 0) {
        rc = 0;
        if (w.wanted)
            break; /* `each` wants no more */
        buf_clear(&w.from);
        buf_str(&w.from, w.prefix);
        buf_str(&w.from, buf_view(&w.task));
        buf_byte(&w.from, '\n' + 1);
        rc = buf_check(&w.from, error);
    }
    buf_release(&w.from);
    buf_release(&w.to);
    buf_release(&w.task);
    return rc < 0 ? rc : 0;
}
