/* SPDX-License-Identifier: MIT */
/* What the files of rows share: writing one, and the checksums that guard them. */
#ifndef STORAGE_ROWS_INT_H
#define STORAGE_ROWS_INT_H

#include "storage/pool/pool.h"
#include "storage/sqlite/statement.h"
#include "storage/store_int.h"

/* ---- row_write.c ---- */

/* Runs a statement that writes. Needs a write transaction; after a write of it has
 * failed every further one is refused. */
int store_write(struct cairn_store *store, enum sql_id id,
                const struct sql_value *values, size_t n, struct cairn_error *error);
/* The same for a row whose last column is the checksum over the others: `id` gets the
 * values and one more. */
int store_write_summed(struct cairn_store *store, enum sql_id id,
                       const struct sql_value *values, size_t n,
                       struct cairn_error *error);

/* ---- rows_meta.c: tallies (rows_lost.h) ---- */

/* Counts a row, of which these are all columns but the checksum; and the rows that a
 * statement finds, of which it gives the checksums, as gone. Both with the statements
 * that put and drop them, the second one before. */
int tally_put_row(struct cairn_store *store, enum tally_of of, uint64_t scope,
                  const struct sql_value *values, size_t n, struct cairn_error *error);
/* The same of a row whose checksum is at hand. */
int tally_put_sum(struct cairn_store *store, enum tally_of of, uint64_t scope,
                  struct str sum, struct cairn_error *error);
int tally_drop_rows(struct cairn_store *store, enum tally_of of, uint64_t scope,
                    enum sql_id sums, const struct sql_value *values, size_t n,
                    struct cairn_error *error);
/* Takes away the tally of a scope of which all rows were deleted. */
int tally_forget(struct cairn_store *store, enum tally_of of, uint64_t scope,
                 struct cairn_error *error);

int tally_write(struct cairn_store *store, enum tally_of of, uint64_t scope,
                const struct row_tally *due, struct cairn_error *error);

/* ---- row_hmac.c ---- */

/* The checksum of a row that decides something and is in no record: the first 8 bytes
 * of the SHA-256 over its other columns; with a key, followed by the HMAC over them. */
enum { SUM_BYTES = 8, SUM_KEYED_BYTES = SUM_BYTES + DIGEST_SIZE };
struct row_sum {
    uint8_t bytes[SUM_KEYED_BYTES];
    size_t size;
};
struct summed {
    const char *kind; /* of row: an HMAC of one kind is not valid for another */
    const uint64_t *numbers;
    size_t n_numbers;
    const struct str *texts;
    size_t n_texts;
};
int row_sum(struct cairn_store *store, const struct summed *summed, struct row_sum *sum,
            struct cairn_error *error);
static inline struct str sum_view(const struct row_sum *sum)
{
    assert(sum->size == SUM_BYTES || sum->size == SUM_KEYED_BYTES);
    return (struct str){(const char *)sum->bytes, sum->size};
}
/* Compare a stored checksum with the row's: the first 8 bytes alone; with the HMAC, if
 * both have one; with the HMAC, which must be there if the handle has a key. */
bool sum_bytes_hold(const struct row_sum *sum, struct str stored);
bool sum_holds(const struct row_sum *sum, struct str stored);
bool sum_matches(const struct row_sum *sum, struct str stored);
/* Writing to a keyed run needs a key, and to any other run none: else CAIRN_EUSAGE. 0
 * for a run that does not exist: the caller's own statement finds that out. */
int sum_check_keyed(struct cairn_store *store, uint64_t run, struct cairn_error *error);

/* ---- Rows that are settings with texts, rows_made.c ---- */

/* Pairs of hex digits up to a space, which is passed over. */
bool setting_take_sum(const char **at, uint8_t bytes[SUM_KEYED_BYTES], size_t *n);
void setting_put_sum(struct buf *text, const struct row_sum *sum);

/* ---- row_checksum.c ---- */

/* The widest row that has such a checksum: an attempt's, with it. */
enum { ROW_COLUMNS_MOST = ATTEMPT_COLUMNS_READ + 1 };
/* Of `n` values, fewer than ROW_COLUMNS_MOST. */
struct value_sum {
    uint8_t bytes[8];
};
void values_digest(struct sha256 *sha, const struct sql_value *values, size_t n,
                   struct digest *digest);
void values_sum(struct sha256 *sha, const struct sql_value *values, size_t n,
                struct value_sum *sum);
static inline struct str value_sum_view(const struct value_sum *sum)
{
    return (struct str){(const char *)sum->bytes, sizeof sum->bytes};
}
/* `values` are all columns of a row: whether the last one is the checksum of the
 * others. If not `strict` it may also be NULL. */
bool values_sound(struct sha256 *sha, const struct sql_value *values, size_t n,
                  bool strict);
/* Of columns behind the checksum that follow from the others: numbers, or all NULL. */
bool derived_sound(const struct sql_value *values, size_t n);

/* ---- row_hmac.c again ---- */

/* The columns of a tombstone but its id, the checksum last. It is over the others, and
 * over the change only where there is one. With a change and a key the HMAC follows it,
 * as in row_hmac.c; it is over the SHA-256 of the columns. */
enum { TOMBSTONE_CHANGE = 8, TOMBSTONE_SUM, TOMBSTONE_SUMMED_COLUMNS };
void tombstone_sum(struct cairn_store *store, const struct sql_value *values,
                   struct row_sum *sum);
/* Whether the last one holds. If not `strict` it may also be NULL. */
bool tombstone_sound(struct cairn_store *store, const struct sql_value *values,
                     bool strict);
/* With a key: whether it would hold without. */
bool tombstone_only_hmac_fails(struct cairn_store *store,
                               const struct sql_value *values);

/* ---- Whether all columns of a row fit its checksum: 1 yes, 0 no, <0 error ---- */

int command_sound(struct cairn_store *store,
                  const struct sql_value values[COMMAND_COLUMNS_READ],
                  struct cairn_error *error);
int claim_sound(struct cairn_store *store,
                const struct sql_value values[CLAIM_COLUMNS_READ],
                struct cairn_error *error);
/* Its bases must be in the store. */
int object_sound(struct cairn_store *store,
                 const struct sql_value values[OBJECT_COLUMNS_READ],
                 struct cairn_error *error);
int run_sound(struct cairn_store *store, uint64_t run, struct cairn_error *error);

/* ---- Columns ---- */

/* A digest column: false if its length is not that of a digest. */
static inline bool digest_from(struct str bytes, struct digest *out)
{
    assert(bytes.ptr || bytes.len == 0);
    memset(out, 0, sizeof *out);
    if (bytes.len != DIGEST_SIZE)
        return false;
    memcpy(out->bytes, bytes.ptr, DIGEST_SIZE);
    return true;
}
_Static_assert(SUM_BYTES + sizeof(struct digest) == SUM_KEYED_BYTES,
               "the HMAC of a row fills the rest of its checksum");
static inline int64_t sql_limit(uint64_t limit)
{
    return limit == 0 || limit > INT64_MAX ? -1 : (int64_t)limit;
}
static inline int64_t sql_offset(uint64_t offset)
{
    return offset > INT64_MAX ? INT64_MAX : (int64_t)offset;
}

#endif
