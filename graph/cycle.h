/* SPDX-License-Identifier: MIT */
/* Naming a cycle for people. */
#ifndef GRAPH_CYCLE_H
#define GRAPH_CYCLE_H

#include "graph/graph.h"

/* `waiting` holds, per node, the needs that a topological sort could not meet; at least
 * one is not 0. Returns CAIRN_EWORKFLOW with the whole cycle, as far as the text holds.
 */
int cycle_report(const struct graph *graph, const uint32_t *waiting,
                 struct cairn_error *error);

#endif
