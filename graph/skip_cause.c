/* SPDX-License-Identifier: MIT */
/* A group is looked at once, whoever asks, so that all tasks together cost as much as
 * the graph has edges. */
#include "graph/skip_cause.h"

#include <stdlib.h>

struct group_losses {
    uint32_t failed, skipped, excluded; /* the first of each, or NODE_NONE */
    bool known, left;                   /* left: one is not excluded */
};

int skip_causes_open(struct skip_causes *c, const struct graph *graph,
                     const uint8_t *outcome)
{
    size_t n = (size_t)(graph->n_nodes - graph->n_tasks) + 1;
    *c = (struct skip_causes){graph, outcome, calloc(n, sizeof *c->group)};
    return c->group ? 0 : CAIRN_ENOMEM;
}

void skip_causes_release(struct skip_causes *c)
{
    free(c->group);
    *c = (struct skip_causes){0};
}

static void note_first(uint32_t *first, uint32_t task)
{
    if (*first == NODE_NONE)
        *first = task;
}

static void note_loss(struct group_losses *losses, uint32_t task, uint8_t outcome)
{
    losses->left |= outcome != CAIRN_EXCLUDED;
    if (outcome == CAIRN_FAILED)
        note_first(&losses->failed, task);
    else if (outcome == CAIRN_SKIPPED)
        note_first(&losses->skipped, task);
    else if (outcome == CAIRN_EXCLUDED)
        note_first(&losses->excluded, task);
}

static const struct group_losses none = {
    .failed = NODE_NONE, .skipped = NODE_NONE, .excluded = NODE_NONE};

static const struct group_losses *losses_of(struct skip_causes *c, uint32_t barrier)
{
    const struct graph *g = c->graph;
    struct group_losses *losses = &c->group[barrier - g->n_tasks];
    if (losses->known)
        return losses;
    *losses = none;
    losses->known = true;
    for (uint32_t e = g->need_start[barrier]; e < g->need_start[barrier + 1]; e++)
        note_loss(losses, g->needs[e], c->outcome[g->needs[e]]);
    return losses;
}

static void note_group(struct group_losses *losses, const struct group_losses *group,
                       bool all)
{
    if (group->failed != NODE_NONE)
        note_first(&losses->failed, group->failed);
    if (group->skipped != NODE_NONE)
        note_first(&losses->skipped, group->skipped);
    if (group->excluded != NODE_NONE && (all || !group->left))
        note_first(&losses->excluded, group->excluded);
}

uint32_t skip_cause(struct skip_causes *c, uint32_t task)
{
    const struct graph *g = c->graph;
    bool all = task_def_needs_all(g->definition, graph_def(g, task));
    struct group_losses losses = none;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1]; e++) {
        uint32_t need = g->needs[e];
        if (graph_is_barrier(g, need))
            note_group(&losses, losses_of(c, need), all);
        else
            note_loss(&losses, need, c->outcome[need]);
    }
    return losses.failed != NODE_NONE    ? losses.failed
           : losses.skipped != NODE_NONE ? losses.skipped
                                         : losses.excluded;
}
