/* SPDX-License-Identifier: MIT */
/* A workflow file that has not changed is not parsed again when its run is continued.
 * When a run begins, the store notes for its workflow the hash of everything that the
 * parser read: the file, its path, the params, the version of cairn; and the digest of
 * the resulting definition, which is among the objects.
 *
 * Only where the definition depends on nothing else: not where the file names members
 * by glob or lines, nor where it gave warnings, which are shown each time. Not in a
 * store with a key: whoever cannot make its HMACs must not choose what runs. */
#ifndef RUNS_PARSE_CACHE_H
#define RUNS_PARSE_CACHE_H

#include "storage/rows_run.h"
#include "workflow/workflow.h"

/* For a workflow that is about to be parsed. 1: it has its definition, graph and digest
 * now; 0: parse it; or an error. */
int parse_cache_find(struct cairn_workflow *workflow, struct cairn_store *store,
                     const struct run_row *row, struct cairn_error *error);
/* Within the transaction that puts the definition into the store; `row` has the graph's
 * digest and the params. */
int parse_cache_note(const struct cairn_workflow *workflow, struct cairn_store *store,
                     const struct run_row *row, struct cairn_error *error);

#endif
