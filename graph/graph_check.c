/* SPDX-License-Identifier: MIT */
/* Whether a compiled graph is what graph.h says. Takes time in proportion to the graph,
 * so only debug builds and tests ask. */
#include "graph/graph.h"

#include <stdlib.h>

static bool numbers_match(const struct graph *g)
{
    const struct definition *d = g->definition;
    uint32_t tasks = 0, barriers = 0;
    for (uint32_t i = 0; i < d->n_defs; i++) {
        if (g->first[i] != tasks)
            return false;
        tasks += d->defs[i].members;
        if (g->barrier[i] == NODE_NONE)
            continue;
        barriers++;
        if (!graph_is_barrier(g, g->barrier[i]) || g->barrier[i] >= g->n_nodes ||
            g->def_of[g->barrier[i]] != i)
            return false;
    }
    return g->first[d->n_defs] == tasks && g->n_tasks == tasks &&
           g->n_nodes == tasks + barriers + g->n_parts;
}

/* Each has members, of its own group alone. */
static bool parts_match(const struct graph *g)
{
    for (uint32_t node = g->n_nodes - g->n_parts; node < g->n_nodes; node++) {
        if (g->need_start[node] == g->need_start[node + 1])
            return false;
        for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++)
            if (graph_is_barrier(g, g->needs[e]) ||
                g->def_of[g->needs[e]] != g->def_of[node])
                return false;
    }
    return true;
}

static bool rows_are_whole(const struct graph *g, const uint32_t *start,
                           const uint32_t *row)
{
    bool whole = start[0] == 0 && start[g->n_nodes] == g->n_edges;
    for (uint32_t node = 0; node < g->n_nodes && whole; node++)
        whole = start[node] <= start[node + 1];
    for (uint32_t e = 0; e < g->n_edges && whole; e++)
        whole = row[e] < g->n_nodes;
    return whole;
}

/* Dependents stand in the order of their numbers, so each edge is the next one of its
 * row. `next` is 0 for every node. */
static bool users_mirror_needs(const struct graph *g, uint32_t *next)
{
    for (uint32_t node = 0; node < g->n_nodes; node++)
        for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++) {
            uint32_t need = g->needs[e];
            uint32_t at = g->dependent_start[need] + next[need]++;
            if (at >= g->dependent_start[need + 1] || g->dependents[at] != node)
                return false;
        }
    return true;
}

/* Every node once, behind all that it needs. `place`: 0 for every node. */
static bool order_is_topological(const struct graph *g, uint32_t *place)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = g->order[i];
        if (node >= g->n_nodes || place[node])
            return false;
        for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++)
            if (!place[g->needs[e]])
                return false;
        place[node] = i + 1;
    }
    return true;
}

bool graph_consistent(const struct graph *g)
{
    uint32_t *next = calloc((size_t)g->n_nodes + 1, sizeof *next);
    uint32_t *place = calloc((size_t)g->n_nodes + 1, sizeof *place);
    bool good =
        !next || !place || /* without memory nothing is known to be wrong */
        (numbers_match(g) && rows_are_whole(g, g->need_start, g->needs) &&
         rows_are_whole(g, g->dependent_start, g->dependents) && parts_match(g) &&
         users_mirror_needs(g, next) && order_is_topological(g, place));
    free(next);
    free(place);
    return good;
}
