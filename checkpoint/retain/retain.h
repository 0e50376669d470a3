/* SPDX-License-Identifier: MIT */
/* Deleting records of a stream, in any namespace. A deleted range leaves a tombstone,
 * so that the chain verifies, and can be rebuilt, across it. cairn_checkpoint_delete
 * stands on these with the kinds of this release, _prune with the outcomes of runs. */
#ifndef CHECKPOINT_RETAIN_RETAIN_H
#define CHECKPOINT_RETAIN_RETAIN_H

#include "cairn/maintenance.h"
#include "checkpoint/find.h"

/* In what follows, records that other streams start from are also those that they have
 * merged.
 *
 * Keeps the newest `keep` records of a stream, and those that other streams start from,
 * and deletes the others, inside the caller's transaction (a write transaction unless
 * dry_run). Of a kind that cannot fold, or of a keyed run without the key, only whole
 * segments. Linear in the records of the stream. */
struct retention {
    uint64_t stream;
    uint32_t keep; /* at least 1 */
    bool dry_run;
};

int chain_prune(const struct chains *in, const struct retention *wanted,
                struct cairn_prune_result *result, struct cairn_error *error);

/* Keeps the chosen ones, those that other streams start from, damaged ones and whatever
 * is newer than the last of them, and deletes the others, inside the caller's
 * transaction. */
struct kept_seqs {
    const uint64_t *at; /* ascending */
    size_t n;
};

int chain_prune_except(const struct chains *in, uint64_t stream,
                       const struct kept_seqs *chosen, bool dry_run,
                       struct cairn_prune_result *result, struct cairn_error *error);
/* Adds what was done to one stream to the sum. */
void prune_result_add(struct cairn_prune_result *sum,
                      const struct cairn_prune_result *one);
/* Deletes these sound records but those that other streams start from, inside the
 * caller's write transaction. Looks at them, at what is beside them and at where
 * streams start, not at the rest of the stream. The newest record must not be among
 * them. Where damage is in the way nothing more is deleted. *deleted: how many were. */
int chain_delete_listed(const struct chains *in, uint64_t stream,
                        const struct kept_seqs *listed, uint64_t *deleted,
                        struct cairn_error *error);
/* Deletes all of a stream, damaged or not, inside the caller's write transaction: one
 * tombstone stands for it. *deleted: how many records. Nothing may start from them. */
int chain_delete_all(const struct chains *in, uint64_t stream, uint64_t *deleted,
                     struct cairn_error *error);
/* The seq of the n-th newest sound record of a stream, n from 1; 0: there are not so
 * many. Reads that many. */
int chain_nth_newest(const struct chains *in, uint64_t stream, uint32_t n,
                     uint64_t *seq, struct cairn_error *error);
/* chain_prune for a run. */
int run_stream_prune(struct cairn_store *store, struct sha256 *sha, uint64_t run,
                     uint32_t keep, struct cairn_error *error);
/* Deletes one record; what others need of it stays in its tombstone. A damaged one may
 * always be deleted, and leaves nothing.
 * In a write transaction of its own. CAIRN_EUSAGE says what needs it. */
int catalog_delete(const struct catalog *catalog, const char *id,
                   struct cairn_error *error);

#endif
