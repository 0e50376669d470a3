/* SPDX-License-Identifier: MIT */
/* Losses: what rows refer to and is missing, and rows that are missed. */
#ifndef STORAGE_ROWS_LOST_H
#define STORAGE_ROWS_LOST_H

#include "base/error.h"
#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

/* Checkpoints that attempts refer to, and content that attempts and runs refer to, that
 * are missing, and neither deleted nor known to be lost. */
int store_each_lost_checkpoint(struct cairn_store *store,
                               int (*each)(void *, uint64_t run, uint64_t seq),
                               void *context, struct cairn_error *error);
/* Lists of chunks that attempts name as what they wrote; a digest that cannot be one is
 * passed over. */
int store_each_log_list(struct cairn_store *store,
                        int (*each)(void *, uint64_t run, const struct digest *list),
                        void *context, struct cairn_error *error);
int store_each_lost_object(struct cairn_store *store,
                           int (*each)(void *, const char *hex), void *context,
                           struct cairn_error *error);
/* Ranges of numbers of checkpoints that were given out and of which nothing is left. */
int store_each_gap(struct cairn_store *store,
                   int (*each)(void *, uint64_t first, uint64_t last), void *context,
                   struct cairn_error *error);
/* Content, by the hex digits of its digest, that a repair could not save. */
int store_put_known_loss(struct cairn_store *store, const char *hex,
                         struct cairn_error *error);
int store_is_known_loss(struct cairn_store *store, const char *hex, bool *known,
                        struct cairn_error *error);
/* A non-zero return stops, and is returned if negative. */
int store_each_known_loss(struct cairn_store *store,
                          int (*each)(void *, const struct digest *), void *context,
                          struct cairn_error *error);
/* Whether that checkpoint was found damaged before. */
int store_was_quarantined(struct cairn_store *store, uint64_t seq, bool *was,
                          struct cairn_error *error);

/* ---- Tallies ----
 *
 * A tally says how many rows of a table must be there, with the exclusive or of their
 * checksums, so that a row which something else than cairn has removed is missed.
 * Tallies are settings of the store (docs/format.md), written once in each transaction
 * that changes such rows; where there is none, there must be no such row.
 *
 * No two rows have the same key, which is in the checksum: so no row stands in a tally
 * twice, and rows that are removed or put back by accident leave it as it is with a
 * chance of one in 2^64. */

enum tally_of {
    TALLY_ITEMS,       /* of one session */
    TALLY_LOG,         /* of one session */
    TALLY_MESSAGES,    /* of one session */
    TALLY_BRANCHES,    /* of the store; its scope is 0 */
    TALLY_ANNOTATIONS, /* of the store */
    TALLY_KINDS
};
struct row_tally {
    uint64_t n;
    uint64_t sum;
};
/* Adds a row with that checksum. */
void tally_add(struct row_tally *tally, struct str sum);
static inline bool tally_same(const struct row_tally *a, const struct row_tally *b)
{
    return a->n == b->n && a->sum == b->sum;
}

/* What must be there, with what the open transaction has changed. CAIRN_EDAMAGED: the
 * setting is damaged. */
int store_tally(struct cairn_store *store, enum tally_of of, uint64_t scope,
                struct row_tally *due, struct cairn_error *error);
/* What is there, by the checksums as they are stored. */
int store_tally_rows(struct cairn_store *store, enum tally_of of, uint64_t scope,
                     struct row_tally *found, struct cairn_error *error);
/* CAIRN_EDAMAGED, with a text that says how many are missing, if they are not the same.
 */
int store_tally_compare(struct cairn_store *store, enum tally_of of, uint64_t scope,
                        const struct row_tally *found, struct cairn_error *error);
/* Calls for each tally that what is there does not fit; `text` says what is missing. A
 * non-zero return stops, and is returned if negative. */
struct tally_gap {
    enum tally_of of;
    uint64_t scope;
    struct row_tally due, found;
    const char *text;
};
typedef int tally_gap_fn(void *context, const struct tally_gap *gap);
int store_each_tally_gap(struct cairn_store *store, tally_gap_fn *each, void *context,
                         struct cairn_error *error);
/* Makes what is there what must be there: after a repair. Needs a write transaction. */
int store_tally_settle(struct cairn_store *store, enum tally_of of, uint64_t scope,
                       struct cairn_error *error);

#endif
