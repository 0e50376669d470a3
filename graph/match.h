/* SPDX-License-Identifier: MIT */
/* Which task of a recorded graph is which of the present one. */
#ifndef GRAPH_MATCH_H
#define GRAPH_MATCH_H

#include "graph/graph.h"

/* Where each task of `graph` stood in `old` (NODE_NONE: new there). Same graph: itself.
 */
void map_tasks(const struct graph *graph, const struct graph *old, uint32_t *old_task);

#endif
