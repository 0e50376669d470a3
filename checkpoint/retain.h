/* SPDX-License-Identifier: MIT */
/* Deleting records of a stream, in any namespace. A deleted range leaves a tombstone,
 * so that the chain verifies across it. cairn_checkpoint_delete and _prune stand on
 * these with the outcomes of runs as their kind. */
#ifndef CHECKPOINT_RETAIN_H
#define CHECKPOINT_RETAIN_H

#include "cairn/gc.h"
#include "checkpoint/chain.h"

/* Keeps the newest `keep` records of a stream and deletes whole segments before them,
 * inside the caller's transaction (a write transaction unless dry_run). Records that
 * other streams start from are kept with their segment. */
struct retention {
    uint64_t stream;
    uint32_t keep; /* at least 1 */
    bool dry_run;
};
int chain_prune(const struct chains *in, const struct retention *wanted,
                struct cairn_prune_result *result, struct cairn_error *error);
/* chain_prune for a run. */
int run_stream_prune(struct cairn_store *store, struct sha256 *sha, uint64_t run,
                     uint32_t keep, struct cairn_error *error);

/* Deletes one record that no other needs; a damaged one may always be deleted.
 * In a write transaction of its own. CAIRN_EUSAGE says what needs it. */
int chain_delete(const struct chains *in, const char *id, struct cairn_error *error);

#endif
