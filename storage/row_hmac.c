/* SPDX-License-Identifier: MIT */
/* There are four files with keys and checksums: row_hmac.c (this one) guards rows that
 * decide something, and can tie them to a key; row_checksum.c guards rows that are only
 * shown; hmac_key.c reads that key from a file; rows_meta.c has the key under which
 * values of secrets are hashed, which is unrelated.
 *
 * Checksums of rows: first the numbers, 8 bytes little endian each, then the texts and
 * blobs, each after its length. The first 8 bytes of its SHA-256 show damage, not
 * malice. In a keyed run the HMAC follows, over "cairn row ", the kind of row, a NUL
 * and the same bytes. Records begin otherwise, so that an HMAC of one is never valid
 * for the other.
 *
 *   stored             handle without a key    handle with a key
 *   8 bytes            compared                refused
 *   8 + 32 bytes       the first 8 compared    all compared                          */
#include "storage/rows_int.h"

#include <assert.h>

static void add_hmac(struct cairn_store *store, const char *kind, struct str canon,
                     struct row_sum *sum)
{
    assert(store->key && sum->size == SUM_BYTES);
    static const char label[] = "cairn row ";
    const struct str parts[] = {
        {label, sizeof label - 1}, {kind, strlen(kind) + 1}, canon};
    struct digest hmac;
    hmac_of(store->key, store->sha, parts, 3, &hmac);
    memcpy(sum->bytes + SUM_BYTES, hmac.bytes, sizeof hmac.bytes);
    sum->size = SUM_KEYED_BYTES;
}

int row_sum(struct cairn_store *store, const struct summed *summed, struct row_sum *sum,
            struct cairn_error *error)
{
    assert(summed->kind[0]);
    assert(summed->n_texts == 0 || summed->texts);
    struct buf canon = BUF_INIT;
    struct digest digest;
    for (size_t i = 0; i < summed->n_numbers; i++)
        buf_u64(&canon, summed->numbers[i]);
    for (size_t i = 0; i < summed->n_texts; i++)
        buf_lstr(&canon, summed->texts[i]);
    int rc = buf_check(&canon, error);
    if (!rc) {
        sha256_begin(store->sha);
        sha256_add(store->sha, canon.data, canon.size);
        sha256_end(store->sha, &digest);
        memcpy(sum->bytes, digest.bytes, SUM_BYTES);
        sum->size = SUM_BYTES;
        if (store->key)
            add_hmac(store, summed->kind, buf_view(&canon), sum);
    }
    buf_release(&canon);
    assert(rc || sum->size == (store->key ? SUM_KEYED_BYTES : SUM_BYTES));
    return rc;
}

bool sum_bytes_hold(const struct row_sum *sum, struct str stored)
{
    assert(sum->size >= SUM_BYTES);
    return (stored.len == SUM_BYTES || stored.len == SUM_KEYED_BYTES) &&
           memcmp(stored.ptr, sum->bytes, SUM_BYTES) == 0;
}

bool sum_holds(const struct row_sum *sum, struct str stored)
{
    struct digest hmac;
    assert(sum->size == SUM_BYTES || sum->size == SUM_KEYED_BYTES);
    bool same = sum_bytes_hold(sum, stored);
    if (!same || sum->size == SUM_BYTES || stored.len == SUM_BYTES)
        return same;
    memcpy(hmac.bytes, sum->bytes + SUM_BYTES, sizeof hmac.bytes);
    struct str rest = {stored.ptr + SUM_BYTES, sizeof hmac.bytes};
    return hmac_matches(&hmac, rest);
}

bool sum_matches(const struct row_sum *sum, struct str stored)
{
    return sum_holds(sum, stored) && stored.len >= sum->size;
}

int sum_check_keyed(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    int64_t size;
    store_assert_writing(store);
    int rc = db_get_int(store->db, SQL_GET_RUN_SUM_SIZE, VALUES(value_u64(run)), &size,
                        error);
    if (rc)
        return rc == CAIRN_ENOTFOUND ? 0 : rc;
    return store_check_keyed(store, run, size == SUM_KEYED_BYTES, error);
}

int store_check_keyed(const struct cairn_store *store, uint64_t run, bool keyed,
                      struct cairn_error *error)
{
    unsigned long long number = run;
    if (keyed == (store->key != NULL))
        return 0;
    if (keyed)
        return error_set(error, CAIRN_EUSAGE,
                         "run %llu is recorded with a key: give it with --key FILE or "
                         "CAIRN_KEY",
                         number);
    return error_set(error, CAIRN_EUSAGE,
                     "run %llu was recorded without a key, so nothing in it carries an "
                     "HMAC: leave out --key and CAIRN_KEY",
                     number);
}

/* ---- Deleted ranges ---- */

/* Most only say that something was deleted; one with a change decides what later
 * records add up to. */
void tombstone_sum(struct cairn_store *store, const struct sql_value *values,
                   struct row_sum *sum)
{
    static const char label[] = "cairn row tombstone"; /* with its NUL */
    bool changes = values[TOMBSTONE_CHANGE].kind != SQL_VALUE_NULL;
    struct digest digest, hmac;
    values_digest(store->sha, values, TOMBSTONE_CHANGE + (size_t)changes, &digest);
    memcpy(sum->bytes, digest.bytes, SUM_BYTES);
    sum->size = SUM_BYTES;
    if (!changes || !store->key)
        return;
    const struct str parts[] = {{label, sizeof label}, digest_view(&digest)};
    hmac_of(store->key, store->sha, parts, 2, &hmac);
    memcpy(sum->bytes + SUM_BYTES, hmac.bytes, sizeof hmac.bytes);
    sum->size = SUM_KEYED_BYTES;
}

bool tombstone_sound(struct cairn_store *store, const struct sql_value *values,
                     bool strict)
{
    const struct sql_value *stored = &values[TOMBSTONE_SUM];
    struct row_sum sum;
    if (stored->kind == SQL_VALUE_NULL)
        return !strict && values[TOMBSTONE_CHANGE].kind == SQL_VALUE_NULL;
    tombstone_sum(store, values, &sum);
    return sum_matches(&sum, stored->bytes);
}

bool tombstone_only_hmac_fails(struct cairn_store *store,
                               const struct sql_value *values)
{
    struct hmac_key *key = store_swap_key(store, NULL);
    bool sound = key && tombstone_sound(store, values, true);
    store_swap_key(store, key);
    return sound;
}
