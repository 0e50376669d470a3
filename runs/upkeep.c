/* SPDX-License-Identifier: MIT */
/* cairn_gc: what nothing refers to any more, and what dead owners left that may hold
 * secrets. */
#include "runs/stored.h"
#include "runs/values.h"

#include "base/error.h"
#include "base/struct_take.h"
#include "cairn/maintenance.h"
#include "checkpoint/gc/gc.h"
#include "checkpoint/repair/repair.h"
#include "graph/graph.h"
#include "storage/rows_run.h"

int cairn_gc(struct cairn_store *store, const struct cairn_gc_options *options,
             struct cairn_gc_result *result, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_gc_options, options, error);
    int rc = checkpoint_gc(store, &payload_kinds, options, result, error);
    if (!rc && !(options && options->dry_run))
        live_values_sweep(store);
    return rc;
}

/* cairn_store_repair: the repair of stores (checkpoint/repair/repair.c), which gets
 * from here the functions that read definitions. */

static int keep_params(struct run_row *row, const struct definition *definition,
                       struct arena *arena, struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    int rc = definition_params(definition, &text, &row->params, error);
    if (!rc)
        row->params_text = arena_str(arena, buf_view(&text));
    buf_release(&text);
    return rc;
}

static int describe_run(struct cairn_store *store, const struct digest *digest,
                        struct run_row *row, struct arena *arena,
                        struct cairn_error *error)
{
    struct definition definition;
    struct graph graph;
    int rc = graph_load(store, digest, &definition, &graph, error);
    if (rc)
        return rc;
    row->tasks = graph.n_tasks;
    row->workflow_name = arena_str(arena, definition.name);
    row->file = arena_str(arena, definition.file);
    rc = keep_params(row, &definition, arena, error);
    graph_release(&graph);
    definition_release(&definition);
    return rc ? rc : arena->failed ? error_nomem(error) : 0;
}

int cairn_store_repair(const char *path, int (*each)(void *, const struct cairn_loss *),
                       void *context, struct cairn_repair_result *result,
                       struct cairn_error *error)
{
    struct repair_options options = {.path = path,
                                     .describe = describe_run,
                                     .kinds = &payload_kinds,
                                     .each = each,
                                     .context = context};
    return checkpoint_repair(&options, result, error);
}
