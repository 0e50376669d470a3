/* SPDX-License-Identifier: MIT */
#include "executor/outputs_seen.h"

#include "executor/state/engine.h"

#include <stdlib.h>

/* Of every task that has completed: as its attempt saw them now, else as they were
 * seen when it was decided that it stays. */
static void collect_seen(const struct engine *e, struct output_index *all)
{
    const struct states *states = &e->progress.states;
    const struct output_index *before = &e->run.situation.present.index;
    for (uint32_t task = 0; states->outputs && task < states->n; task++) {
        if (states->outcome[task] != CAIRN_COMPLETED ||
            !graph_def(e->request.graph, task)->n_outputs)
            continue;
        const struct digest *result = &states->outputs[task];
        output_index_copy(all, before, result);
        output_index_copy(all, &e->progress.seen, result);
    }
}

void outputs_seen_save(struct engine *e)
{
    struct output_index all = {0};
    if (!e->progress.seen.grown && !e->run.situation.present.index.grown)
        return;
    char *path = output_index_path(e->request.store, e->run.row.workflow);
    if (path) {
        collect_seen(e, &all);
        output_index_save(&all, path);
    }
    output_index_release(&all);
    free(path);
}
