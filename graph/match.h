/* SPDX-License-Identifier: MIT */
/* Which tasks of two graphs of a workflow, a recorded one and the present one, are the
 * same: those with the same name, the same foreach keys and the same values of them,
 * whatever else was edited. So no two tasks of one graph are the same task of the
 * other, and mapping there and back again leads to the same task. */
#ifndef GRAPH_MATCH_H
#define GRAPH_MATCH_H

#include "graph/graph.h"

/* The number in `other` of each task of `graph`, NODE_NONE for those that it has not
 * (all of them if `other` is NULL). `number` has room for graph->n_tasks. */
void map_tasks(const struct graph *graph, const struct graph *other, uint32_t *number);
/* The same of one task. */
uint32_t map_task(const struct graph *graph, uint32_t task, const struct graph *other);

#endif
