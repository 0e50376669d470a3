/* SPDX-License-Identifier: MIT */
/* What the store keeps of a run: its row, and the definitions that it has had. */
#ifndef RUNS_STORED_H
#define RUNS_STORED_H

#include "graph/graph.h"
#include "storage/store.h"

/* CAIRN_EDAMAGED: all of the run's checkpoints were deleted, or are gone. */
int run_no_checkpoint(uint64_t run, struct cairn_error *error);
/* A copy of a run row whose texts live in the arena. */
int run_row_copy(struct run_row *to, const struct run_row *from, struct arena *arena,
                 struct cairn_error *error);
/* The digest of the definition that a generation of the run has. CAIRN_ENOTFOUND. */
int run_graph(struct cairn_store *store, const struct run_row *row, uint32_t gen,
              struct digest *digest, struct cairn_error *error);
/* Loads the definition that an object of the pool holds, and its graph. */
int graph_load(struct cairn_store *store, const struct digest *digest,
               struct definition *definition, struct graph *graph,
               struct cairn_error *error);

#endif
