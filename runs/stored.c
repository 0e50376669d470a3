/* SPDX-License-Identifier: MIT */
/* What the store keeps of a run: its row, and the definitions that it has had. */
#include "runs/stored.h"

int run_row_copy(struct run_row *to, const struct run_row *from, struct arena *arena,
                 struct cairn_error *error)
{
    *to = *from;
    to->workflow_name = arena_str(arena, from->workflow_name);
    to->params_text = arena_str(arena, from->params_text);
    to->file = arena_str(arena, from->file);
    to->owner_host = arena_str(arena, from->owner_host);
    to->owner_boot = arena_str(arena, from->owner_boot);
    return arena->failed ? error_nomem(error) : 0;
}

int run_no_checkpoint(uint64_t run, struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "run %llu has no checkpoint left, so there is nothing to go on "
                     "from; start again with `cairn run --fresh`",
                     (unsigned long long)run);
}

int run_graph(struct cairn_store *store, const struct run_row *row, uint32_t gen,
              struct digest *digest, struct cairn_error *error)
{
    *digest = row->graph;
    return gen == row->gen ? 0
                           : store_get_run_graph(store, row->run, gen, digest, error);
}

int graph_load(struct cairn_store *store, const struct digest *digest,
               struct definition *definition, struct graph *graph,
               struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    int rc = store_get_object(store, digest, &bytes, error);
    if (!rc)
        rc = definition_decode(buf_view(&bytes), definition, error);
    buf_release(&bytes);
    if (rc) {
        error_context(error, "the stored definition of the run");
        return rc;
    }
    rc = graph_build(graph, definition, error);
    if (rc)
        definition_release(definition);
    return rc;
}
