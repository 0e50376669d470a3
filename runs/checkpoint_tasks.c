/* SPDX-License-Identifier: MIT */
/* The outcomes that one checkpoint recorded. */
#include "checkpoint/find.h"
#include "runs/stored.h"

int cairn_checkpoint_tasks(struct cairn_store *store, const char *id,
                           int (*each)(void *, const char *task,
                                       enum cairn_outcome outcome, uint32_t attempts),
                           void *context, struct cairn_error *error)
{
    struct definition definition;
    struct graph graph;
    struct outcomes at;
    uint64_t seq;
    int rc = checkpoint_find(store, id, &seq, error);
    if (!rc)
        rc = outcomes_rebuild(store, seq, &at, NULL, error);
    if (rc)
        return rc;
    rc = graph_load(store, &at.graph, &definition, &graph, error);
    if (rc) {
        outcomes_release(&at);
        return rc;
    }
    if (graph.n_tasks != at.states.n)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "checkpoint %s is of %u tasks, its definition of %u", id,
                       at.states.n, graph.n_tasks);
    for (uint32_t task = 0; task < graph.n_tasks && !rc; task++)
        if (each(context, graph.id[task], at.states.outcome[task],
                 at.states.attempts[task]))
            break;
    graph_release(&graph);
    definition_release(&definition);
    outcomes_release(&at);
    return rc;
}
