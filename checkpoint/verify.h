/* SPDX-License-Identifier: MIT */
/* Checking and thinning out what is stored. The public calls cairn_checkpoint_list,
 * _get, _latest, _verify, _delete and _prune (cairn.h) live in this folder, too. */
#ifndef CHECKPOINT_VERIFY_H
#define CHECKPOINT_VERIFY_H

#include "base/arena.h"
#include "cairn/gc.h"
#include "cairn/repair.h"
#include "checkpoint/stream.h"
#include "storage/rows_run.h"

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

/* Whether a run's row is to be believed: what a run goes on with (file, params,
 * definition), and how it stands, is taken from such rows only. CAIRN_EUSAGE: with a
 * key, and the run was recorded without one. CAIRN_EDAMAGED. */
int run_trust(struct cairn_store *store, const struct run_row *row,
              struct cairn_error *error);
/* The same for what is only shown: 0 without a key, and for a run recorded without one.
 */
int run_check_forged(struct cairn_store *store, const struct run_row *row,
                     struct cairn_error *error);
/* A run is keyed or not as a whole: whether the row has no HMAC, but its records do. */
int run_stripped(struct cairn_store *store, const struct run_row *row, bool *stripped,
                 struct cairn_error *error);
/* What the definition with that digest tells of its run: the name of the workflow, the
 * file, params and number of tasks; texts in the arena. */
typedef int repair_definition_fn(struct cairn_store *store, const struct digest *graph,
                                 struct run_row *row, struct arena *arena,
                                 struct cairn_error *error);
/* cairn_store_repair, which knows definitions. */
int checkpoint_repair(const char *path, repair_definition_fn *describe,
                      int (*each)(void *, const struct cairn_loss *), void *context,
                      struct cairn_repair_result *result, struct cairn_error *error);

#endif
