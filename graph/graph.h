/* SPDX-License-Identifier: MIT */
/* The compiled workflow: what depends on what. Pure.
 *
 * Nodes 0..n_tasks-1 are tasks, in file order and member order; the barrier nodes of
 * groups follow, and then those of parts of groups. A need on a whole foreach group is
 * one edge to the group's barrier, and the barrier needs every member, so N members
 * before M members cost N + M edges; a need on a part (`a[py=1]` of more keys) leads in
 * the same way to the one barrier of that part.
 * Adjacency is held as compressed rows: the needs of node i are
 * needs[need_start[i]] .. needs[need_start[i + 1] - 1]; dependents mirror them. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "graph/definition.h"

#define NODE_NONE UINT32_MAX

struct graph {
    const struct definition *definition; /* borrowed */
    uint32_t n_tasks, n_nodes, n_edges;
    uint32_t n_services; /* of the tasks */
    uint32_t *first;     /* [n_defs + 1] first task of each task_def */
    uint32_t *def_of;    /* [n_nodes] index of the task_def (a barrier: of its group) */
    const char **id;     /* [n_nodes] */
    uint32_t *barrier;   /* [n_defs] barrier node of the whole group, or NODE_NONE */
    uint32_t n_parts;    /* barriers of parts, the last nodes */
    uint32_t *need_start, *needs;
    uint32_t *dependent_start, *dependents;
    uint8_t *soft;    /* [n_edges] of dependents: it does not matter to that one how the
                      node ends; NULL: of none */
    uint32_t *order;  /* [n_nodes] topological, stable */
    uint32_t *height; /* [n_nodes] longest way to an end, in tasks: the critical path */
    struct arena arena, names; /* names: of the ids */
};

/* CAIRN_EWORKFLOW for no tasks, a need without such a member, or a cycle
 * (named whole); CAIRN_ELIMIT. */
int graph_build(struct graph *graph, const struct definition *definition,
                struct cairn_error *error);
/* The same of its definition, which has more task_defs now, from index `from` on: the
 * ids of what was there stay where they are. The former ones are not looked at again,
 * where no need leads to a part of a group. After an error the graph is as it was. */
int graph_extend(struct graph *graph, uint32_t from, struct cairn_error *error);
void graph_release(struct graph *graph);
/* True if the numbers, the rows and the order are as described above (graph.c).
 */
bool graph_consistent(const struct graph *graph);

static inline const struct task_def *graph_def(const struct graph *graph, uint32_t node)
{
    return &graph->definition->defs[graph->def_of[node]];
}
static inline uint32_t graph_member(const struct graph *graph, uint32_t task)
{
    return task - graph->first[graph->def_of[task]];
}
static inline bool graph_is_barrier(const struct graph *graph, uint32_t node)
{
    return node >= graph->n_tasks;
}
static inline bool graph_is_part(const struct graph *graph, uint32_t node)
{
    return node >= graph->n_nodes - graph->n_parts;
}
/* `edge` of graph->needs, which is one of `node`: only the order counts. */
static inline bool graph_need_is_order(const struct graph *graph, uint32_t node,
                                       uint32_t edge)
{
    return !graph_is_barrier(graph, node) &&
           graph_def(graph, node)->needs[edge - graph->need_start[node]].order;
}
/* However the need ends will do; and the same of an edge of graph->dependents. */
static inline bool graph_need_is_soft(const struct graph *graph, uint32_t node,
                                      uint32_t edge)
{
    return graph->soft && !graph_is_barrier(graph, node) &&
           graph_def(graph, node)->needs[edge - graph->need_start[node]].soft;
}
static inline bool graph_dependent_is_soft(const struct graph *graph, uint32_t edge)
{
    return graph->soft && graph->soft[edge];
}
/* Is one of the tasks that need `node`, directly or through its group, such a task? */
bool graph_any_dependent(const struct graph *graph, uint32_t node,
                         bool (*is)(const void *context, uint32_t dependent),
                         const void *context);
/* Recomputes height with known durations (ms per task, 0: unknown counts as the mean).
 */
int graph_weigh(struct graph *graph, const uint32_t *duration_ms,
                struct cairn_error *error);

/* ---- Where needs lead to ---- */

/* The tasks that tasks.X stands for in the texts of `task`: the member that it needs, a
 * task without foreach, the part of the group that it needs, or all members. */
struct node_range {
    const uint32_t *at; /* [n] of the graph; NULL: [first, first + n) */
    uint32_t first, n;
    bool one; /* a single task is meant, not a group that happens to have one member */
};
static inline uint32_t node_at(struct node_range range, uint32_t i)
{
    return range.at ? range.at[i] : range.first + i;
}
struct node_range graph_referred(const struct graph *graph, uint32_t task,
                                 uint32_t def);

/* ---- match.c ---- */

/* Task by id, NODE_NONE if there is none. */
uint32_t graph_find(const struct graph *graph, struct str id);
/* The same number, found without the graph; takes time in proportion to the task_defs.
 */
uint32_t definition_find_task(const struct definition *definition, struct str id);

#endif
