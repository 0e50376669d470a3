/* SPDX-License-Identifier: MIT */
/* Checksums (see row_hmac.c for the other kind) of rows that decide nothing but are
 * shown: attempts, events, deleted ranges, graphs of generations, settings. The last
 * column of each is the first 8 bytes of the SHA-256 over the others as they are
 * stored: for each a byte with its kind, then 8 bytes of the number, little endian, or
 * the bytes after their length.
 *
 * Rows of commands, claims and runs decide something: theirs can carry an HMAC
 * (row_hmac.c). So can those of deleted ranges with a change.
 */
#include "storage/rows_int.h"

#include <assert.h>

/* Bytes on their way to a hash: each call of it costs as much as many bytes. */
struct gathered {
    struct sha256 *sha;
    size_t n;
    uint8_t bytes[512];
};

static void gather(struct gathered *g, const void *bytes, size_t n)
{
    if (g->n + n > sizeof g->bytes) {
        sha256_add(g->sha, g->bytes, g->n);
        g->n = 0;
    }
    if (n > sizeof g->bytes) {
        sha256_add(g->sha, bytes, n);
        return;
    }
    memcpy(g->bytes + g->n, bytes, n);
    g->n += n;
}

void values_digest(struct sha256 *sha, const struct sql_value *values, size_t n,
                   struct digest *digest)
{
    struct gathered g;
    uint8_t head[9];
    assert(n < ROW_COLUMNS_MOST);
    g.sha = sha;
    g.n = 0;
    sha256_begin(sha);
    for (size_t i = 0; i < n; i++) {
        const struct sql_value *v = &values[i];
        assert(v->bytes.ptr || v->bytes.len == 0);
        bool number = v->kind == SQL_VALUE_INT;
        uint64_t first = number ? (uint64_t)v->integer : v->bytes.len;
        head[0] = (uint8_t)v->kind;
        for (size_t k = 0; k < 8; k++)
            head[k + 1] = (uint8_t)(first >> 8 * k);
        bool bytes = !number && v->kind != SQL_VALUE_NULL;
        gather(&g, head, v->kind == SQL_VALUE_NULL ? 1 : sizeof head);
        if (bytes && v->bytes.len)
            gather(&g, v->bytes.ptr, v->bytes.len);
    }
    sha256_add(sha, g.bytes, g.n);
    sha256_end(sha, digest);
}

void values_sum(struct sha256 *sha, const struct sql_value *values, size_t n,
                struct value_sum *sum)
{
    struct digest digest;
    values_digest(sha, values, n, &digest);
    memcpy(sum->bytes, digest.bytes, sizeof sum->bytes);
}

bool values_sound(struct sha256 *sha, const struct sql_value *values, size_t n,
                  bool strict)
{
    struct value_sum sum;
    assert(n > 0 && n <= ROW_COLUMNS_MOST);
    const struct sql_value *stored = &values[n - 1];
    if (stored->kind == SQL_VALUE_NULL)
        return !strict;
    values_sum(sha, values, n - 1, &sum);
    return str_equal(stored->bytes, value_sum_view(&sum));
}

bool derived_sound(const struct sql_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i].kind != values[0].kind ||
            (values[i].kind != SQL_VALUE_NULL && values[i].kind != SQL_VALUE_INT))
            return false;
    return true;
}
