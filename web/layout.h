/* SPDX-License-Identifier: MIT */
/* Where the nodes of a graph stand in a picture, in layers from left to right: each
 * right of all that it needs, with few crossings and straight edges. The same graph has
 * the same picture, whatever the states of its nodes are.
 *
 * Sugiyama, Tagawa, Toda: Methods for Visual Understanding of Hierarchical System
 * Structures (1981), with the medians of Eades and Wormald (1994). */
#ifndef WEB_LAYOUT_H
#define WEB_LAYOUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct layout_edge {
    uint32_t from, to;
    bool back; /* it closes a circle, which folded groups can have: drawn backwards */
    /* The points between its ends, from left to right: bends[bend], ..., n_bends. */
    uint32_t bend, n_bends;
};

struct layout_place {
    uint32_t layer;
    float row; /* 1 apart; a bend takes less */
};

struct layout {
    uint32_t n, n_edges, layers;
    struct layout_edge *edges;  /* [n_edges], as they were given */
    struct layout_place *nodes; /* [n] */
    struct layout_place *bends; /* of all edges */
    uint32_t n_bends;
    float rows; /* the last one, the first is 0 */
};

/* More bends than this: long edges go straight. */
#define LAYOUT_BENDS_MAX 8000

/* Places n nodes; `edges` (heap) becomes the layout's. Released in any case. */
int layout_make(struct layout *layout, uint32_t n, struct layout_edge *edges,
                uint32_t n_edges, struct cairn_error *error);
void layout_release(struct layout *layout);

#endif
