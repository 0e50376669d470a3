/* SPDX-License-Identifier: MIT */
/* The outcomes that one checkpoint recorded. */
#include "checkpoint/verify.h"
#include "runs/stored.h"

int cairn_checkpoint_tasks(struct cairn_store *store, const char *id,
                           int (*each)(void *, const char *task,
                                       enum cairn_outcome outcome, uint32_t attempts),
                           void *context, struct cairn_error *error)
{
    struct definition definition;
    struct graph graph;
    struct states states;
    struct digest digest;
    uint64_t seq;
    int rc = checkpoint_find(store, id, &seq, error);
    if (!rc)
        rc = checkpoint_rebuild(store, seq, &states, &digest, NULL, NULL, error);
    if (rc)
        return rc;
    rc = graph_load(store, &digest, &definition, &graph, error);
    if (rc) {
        states_release(&states);
        return rc;
    }
    if (graph.n_tasks != states.n)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "checkpoint %s is of %u tasks, its definition of %u", id,
                       states.n, graph.n_tasks);
    for (uint32_t task = 0; task < graph.n_tasks && !rc; task++)
        if (each(context, graph.id[task], states.outcome[task], states.attempts[task]))
            break;
    graph_release(&graph);
    definition_release(&definition);
    states_release(&states);
    return rc;
}
