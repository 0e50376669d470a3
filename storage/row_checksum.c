/* SPDX-License-Identifier: MIT */
/* Checksums (see row_hmac.c for the other kind) of rows that decide nothing but are
 * shown: attempts, events, deleted ranges, graphs of generations, settings. The last
 * column of each is the first 8 bytes of the SHA-256 over the others as they are
 * stored: of each a byte that tells its kind, then 8 bytes of the number, little
 * endian, or the bytes behind their length.
 *
 * Rows of commands, claims and runs decide something: theirs can carry an HMAC
 * (row_hmac.c).
 */
#include "storage/store_int.h"

#include "storage/health.h"
#include "storage/rows_meta.h"

#include <assert.h>
#include <stdio.h>

enum { MOST_COLUMNS = ATTEMPT_COLUMNS_READ + 1 }; /* those of an attempt, and its sum */

void values_sum(struct sha256 *sha, const struct sql_value *values, size_t n,
                struct value_sum *sum)
{
    struct digest digest;
    uint8_t head[9];
    assert(n < MOST_COLUMNS);
    sha256_begin(sha);
    for (size_t i = 0; i < n; i++) {
        const struct sql_value *v = &values[i];
        bool number = v->kind == SQL_VALUE_INT;
        uint64_t first = number ? (uint64_t)v->integer : v->bytes.len;
        head[0] = (uint8_t)v->kind;
        for (size_t k = 0; k < 8; k++)
            head[k + 1] = (uint8_t)(first >> 8 * k);
        bool bytes = !number && v->kind != SQL_VALUE_NULL;
        sha256_add(sha, head, v->kind == SQL_VALUE_NULL ? 1 : sizeof head);
        if (bytes && v->bytes.len)
            sha256_add(sha, v->bytes.ptr, v->bytes.len);
    }
    sha256_end(sha, &digest);
    memcpy(sum->bytes, digest.bytes, sizeof sum->bytes);
}

bool values_sound(struct sha256 *sha, const struct sql_value *values, size_t n,
                  bool strict)
{
    struct value_sum sum;
    assert(n > 0 && n <= MOST_COLUMNS);
    const struct sql_value *stored = &values[n - 1];
    if (stored->kind == SQL_VALUE_NULL)
        return !strict;
    values_sum(sha, values, n - 1, &sum);
    return str_equal(stored->bytes, value_sum_view(&sum));
}

int store_write_summed(struct cairn_store *store, enum sql_id id,
                       const struct sql_value *values, size_t n,
                       struct cairn_error *error)
{
    struct sql_value all[MOST_COLUMNS];
    struct value_sum sum;
    assert(n < MOST_COLUMNS);
    memcpy(all, values, n * sizeof *values);
    values_sum(store->sha, values, n, &sum);
    all[n] = value_blob(value_sum_view(&sum));
    return store_write(store, id, all, n + 1, error);
}

/* ---- Checking ---- */

/* What a table's rows are called, with up to four numbers of their key. */
static const struct kind {
    enum sql_id id;
    int columns;
    const char *format;
    /* or values_sound */
    int (*sound)(struct cairn_store *, const struct sql_value *, struct cairn_error *);
} kinds[] = {
    {SQL_ALL_META, 3, "a setting of the store", NULL},
    {SQL_ALL_RUN_GRAPH, 4, "the graph of run %lld, generation %lld", NULL},
    {SQL_ALL_TOMBSTONE, 9,
     "the note about deleted checkpoints (namespace %lld, run %lld, from %lld to %lld)",
     NULL},
    {SQL_ALL_ATTEMPT, MOST_COLUMNS,
     "the row of run %lld, generation %lld, task %lld, attempt %lld", NULL},
    {SQL_ALL_EVENT, 10, "the event of run %lld, turn %lld, number %lld", NULL},
    {SQL_ALL_COMMAND, 10, "command %lld to run %lld", command_sound},
    {SQL_ALL_CLAIM, 10, "the claim of run %lld, generation %lld, task %lld",
     claim_sound},
};

/* With a key: whether it is sound for a handle that has none. */
static int lacks_hmac(struct cairn_store *store, const struct kind *kind,
                      const struct sql_value *values, struct cairn_error *error)
{
    struct hmac_key *key = store_swap_key(store, NULL);
    int sound = key && kind->sound ? kind->sound(store, values, error) : 0;
    store_swap_key(store, key);
    return sound;
}

static int report_bad_row(struct cairn_store *store, const struct kind *kind,
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
    row.run = (uint64_t)key[kind->sound == command_sound];
    return hmac < 0 ? hmac : bad(context, &row);
}

/* Whether a row without a checksum is a damaged one. */
static int is_strict(struct cairn_store *store, bool *strict, struct cairn_error *error)
{
    char text[8] = "";
    int rc = store_setting(store, "sums", text, sizeof text, error);
    *strict = strcmp(text, "all") == 0;
    return rc < 0 ? rc : 0;
}

static int verify_kind(struct cairn_store *store, const struct kind *kind, bool strict,
                       int (*bad)(void *, const struct bad_row *), void *context,
                       struct cairn_error *error)
{
    struct sql_value values[MOST_COLUMNS];
    struct query query;
    assert(kind->columns <= MOST_COLUMNS);
    int rc = query_start(&query, store->db, kind->id, NO_VALUES, error);
    while (rc >= 0 && (rc = query_step(&query, error)) > 0) {
        for (int i = 0; i < kind->columns; i++)
            values[i] = query_value(&query, i);
        int sound = kind->sound ? kind->sound(store, values, error)
                                : values_sound(store->sha, values,
                                               (size_t)kind->columns, strict);
        rc = sound < 0 ? sound
             : sound   ? 0
                       : report_bad_row(store, kind, values, bad, context, error);
        if (rc)
            break;
    }
    query_end(&query);
    return rc;
}

/* An older store that nobody has migrated yet has no such columns. */
int store_verify_rows(struct cairn_store *store,
                      int (*bad)(void *, const struct bad_row *), void *context,
                      struct cairn_error *error)
{
    store_assert_open(store);
    bool strict = false;
    if (store->stands_in)
        return 0;
    int rc = is_strict(store, &strict, error);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && rc == 0; i++)
        rc = verify_kind(store, &kinds[i], strict, bad, context, error);
    return rc < 0 ? rc : 0;
}
