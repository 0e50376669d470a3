/* SPDX-License-Identifier: MIT */
/* Because of which task one was skipped, from how all have ended. */
#ifndef GRAPH_SKIP_CAUSE_H
#define GRAPH_SKIP_CAUSE_H

#include "graph/graph.h"

struct group_losses; /* what a barrier's members are to those that need it */

struct skip_causes {
    const struct graph *graph;
    const uint8_t *outcome;     /* [n_tasks] */
    struct group_losses *group; /* [n_nodes - n_tasks] filled when first asked for */
};

/* 0, or CAIRN_ENOMEM. Graph and outcomes are borrowed. */
int skip_causes_open(struct skip_causes *causes, const struct graph *graph,
                     const uint8_t *outcome);
void skip_causes_release(struct skip_causes *causes);
/* Of a skipped task: a task that it needs, of a group the member, that failed, else one
 * that was skipped, else one that its condition excluded. NODE_NONE: none of them did
 * (what it needs has run again since). */
uint32_t skip_cause(struct skip_causes *causes, uint32_t task);

#endif
