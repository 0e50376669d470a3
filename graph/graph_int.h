/* SPDX-License-Identifier: MIT */
/* What the files that build a graph share. */
#ifndef GRAPH_GRAPH_INT_H
#define GRAPH_GRAPH_INT_H

#include "graph/parts_int.h"

/* A graph while it is built. */
struct building {
    struct graph *graph;
    struct parts parts;
    struct buf scratch;
    struct cairn_error *error;
};

/* Numbers the barriers of the parts that are needed, in the order of the needs, behind
 * all other nodes. */
int building_number_parts(struct building *building);
/* The node that the need of a task leads to. */
int building_resolve(struct building *building, uint32_t task, const struct need *need,
                     uint32_t *node);

#endif
