/* Checking and thinning out what is stored. The public calls cairn_checkpoint_list,
 * _get, _latest, _verify, _delete and _prune (cairn.h) live in this folder, too. */
#ifndef CHECKPOINT_VERIFY_H
#define CHECKPOINT_VERIFY_H

#include "checkpoint/stream.h"

/* Retention of one stream, as cairn_checkpoint_prune does it, but inside the caller's
 * write transaction: keeps the newest `keep` records and deletes whole segments before
 * them, leaving a tombstone. Records that forks start from stay with their segment. */
int prune_stream(struct cairn_store *store, struct sha256 *sha, uint64_t stream,
                 uint32_t keep, bool dry_run, struct cairn_prune_result *result,
                 struct cairn_error *error);

/* Parses a printed id in any accepted form to a seq and checks its digest part.
 * CAIRN_EUSAGE (not an id), CAIRN_ENOTFOUND, CAIRN_EAMBIGUOUS, CAIRN_EDAMAGED. */
int checkpoint_find(struct cairn_store *store, const char *id, uint64_t *seq,
                    struct cairn_error *error);

#endif
