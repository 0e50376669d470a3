/* SPDX-License-Identifier: MIT */
/* Compiling a definition: numbering, ids, edges, topological order, critical path. */
#include "graph/graph.h"

#include "base/limits.h"
#include "graph/cycle.h"
#include "graph/graph_int.h"
#include "graph/members.h"

#include <assert.h>
#include <stdlib.h>

void graph_release(struct graph *graph)
{
    free(graph->need_start);
    free(graph->needs);
    free(graph->dependent_start);
    free(graph->dependents);
    free(graph->order);
    free(graph->height);
    arena_release(&graph->arena);
    *graph = (struct graph){0};
}

static bool is_group(const struct task_def *def)
{
    return def->n_foreach > 0;
}

/* Numbers tasks and barriers of whole groups. */
static int number_nodes(struct building *b)
{
    struct graph *graph = b->graph;
    struct cairn_error *error = b->error;
    const struct definition *d = graph->definition;
    uint64_t tasks = 0;
    uint32_t barriers = 0;
    graph->first = arena_take(&graph->arena, (size_t)d->n_defs + 1, sizeof(uint32_t));
    graph->barrier = arena_take(&graph->arena, d->n_defs, sizeof(uint32_t));
    if (graph->arena.failed)
        return error_nomem(error);
    for (uint32_t i = 0; i < d->n_defs; i++) {
        graph->first[i] = (uint32_t)tasks;
        graph->barrier[i] = NODE_NONE;
        tasks += d->defs[i].members;
        if (tasks > LIMIT_TASKS)
            return error_set(error, CAIRN_ELIMIT, "more than %d tasks", LIMIT_TASKS);
    }
    graph->first[d->n_defs] = graph->n_tasks = (uint32_t)tasks;
    if (tasks == 0)
        return error_set(error, CAIRN_EWORKFLOW,
                         "workflow `%.*s` has no tasks; add one under `tasks:`",
                         (int)d->name.len, d->name.ptr);
    for (uint32_t i = 0; i < d->n_defs; i++)
        for (uint32_t j = 0; j < d->defs[i].n_needs; j++) {
            const struct need *need = &d->defs[i].needs[j];
            if (!need->bindings && is_group(&d->defs[need->target]) &&
                graph->barrier[need->target] == NODE_NONE)
                graph->barrier[need->target] = graph->n_tasks + barriers++;
        }
    graph->n_nodes = graph->n_tasks + barriers;
    return 0;
}

/* Of all members of a group with one key only the value differs: what is before it
 * stays in the buffer. */
static void next_id(const struct task_def *def, uint32_t member, size_t *prefix,
                    struct buf *id)
{
    if (def->n_foreach != 1 || def->n_picked || member == 0) {
        buf_clear(id);
        member_id(def, member, id);
        if (def->n_foreach == 1 && !def->n_picked && !id->failed)
            *prefix = id->size - def->foreach[0].shown[0].len - 1;
        return;
    }
    id->size = *prefix;
    buf_str(id, def->foreach[0].shown[member]);
    buf_byte(id, ']');
}

static void name_parts(struct building *b, struct buf *id)
{
    struct graph *graph = b->graph;
    uint32_t node = graph->n_nodes - graph->n_parts;
    for (uint32_t i = 0; i < graph->n_parts && !graph->arena.failed; i++, node++) {
        buf_clear(id);
        part_id(&b->parts, i, id);
        graph->def_of[node] = part_target(&b->parts, i);
        graph->id[node] = arena_text(&graph->arena, buf_view(id));
    }
}

static int name_nodes(struct building *b)
{
    struct graph *graph = b->graph;
    struct cairn_error *error = b->error;
    const struct definition *d = graph->definition;
    struct buf id = BUF_INIT;
    size_t prefix = 0;
    int rc = 0;
    graph->def_of = arena_take(&graph->arena, graph->n_nodes, sizeof(uint32_t));
    graph->id = arena_take(&graph->arena, graph->n_nodes, sizeof(char *));
    for (uint32_t i = 0; i < d->n_defs && !graph->arena.failed && !rc; i++) {
        const struct task_def *def = &d->defs[i];
        for (uint32_t m = 0; m < def->members && !graph->arena.failed; m++) {
            next_id(def, m, &prefix, &id);
            if (id.failed) {
                rc = error_nomem(error);
                break;
            }
            if (id.size > LIMIT_ID_BYTES) {
                rc = error_set(error, CAIRN_ELIMIT, "the id %s is longer than %d bytes",
                               id.data, LIMIT_ID_BYTES);
                break;
            }
            graph->def_of[graph->first[i] + m] = i;
            graph->id[graph->first[i] + m] = arena_text(&graph->arena, buf_view(&id));
        }
        if (graph->barrier[i] != NODE_NONE && !graph->arena.failed) {
            graph->def_of[graph->barrier[i]] = i;
            graph->id[graph->barrier[i]] = arena_text(&graph->arena, def->id);
        }
    }
    if (!rc)
        name_parts(b, &id);
    if (!rc && (graph->arena.failed || id.failed))
        rc = error_nomem(error);
    buf_release(&id);
    return rc;
}

static uint32_t count_needs(const struct building *b, uint32_t node)
{
    const struct graph *graph = b->graph;
    if (graph_is_part(graph, node))
        return b->parts.at[node - (graph->n_nodes - graph->n_parts)].n;
    assert(!graph_is_barrier(graph, node) || is_group(graph_def(graph, node)));
    return graph_is_barrier(graph, node) ? graph_def(graph, node)->members
                                         : graph_def(graph, node)->n_needs;
}

static int count_edges(struct building *b)
{
    struct graph *graph = b->graph;
    struct cairn_error *error = b->error;
    uint64_t edges = 0;
    graph->need_start = calloc((size_t)graph->n_nodes + 1, sizeof(uint32_t));
    graph->dependent_start = calloc((size_t)graph->n_nodes + 2, sizeof(uint32_t));
    if (!graph->need_start || !graph->dependent_start)
        return error_nomem(error);
    for (uint32_t node = 0; node < graph->n_nodes; node++) {
        graph->need_start[node] = (uint32_t)edges;
        edges += count_needs(b, node);
        if (edges > LIMIT_EDGES)
            return error_set(error, CAIRN_ELIMIT, "more than %d dependencies",
                             LIMIT_EDGES);
    }
    graph->need_start[graph->n_nodes] = graph->n_edges = (uint32_t)edges;
    graph->needs = calloc(edges ? edges : 1, sizeof(uint32_t));
    graph->dependents = malloc((edges ? edges : 1) * sizeof(uint32_t));
    return graph->needs && graph->dependents ? 0 : error_nomem(error);
}

/* A barrier needs all members, or those of its part. */
static void fill_barrier(const struct building *b, uint32_t node, uint32_t *needs)
{
    const struct graph *graph = b->graph;
    uint32_t n = count_needs(b, node), first = graph->first[graph->def_of[node]];
    const struct placed_member *members = NULL;
    if (graph_is_part(graph, node))
        members = part_members(&b->parts, node - (graph->n_nodes - graph->n_parts));
    for (uint32_t i = 0; i < n; i++)
        needs[i] = first + (members ? members[i].member : i);
}

static int fill_needs(struct building *b)
{
    struct graph *graph = b->graph;
    int rc = 0;
    for (uint32_t node = 0; node < graph->n_nodes && !rc; node++) {
        const struct task_def *def = graph_def(graph, node);
        uint32_t *needs = graph->needs + graph->need_start[node];
        if (graph_is_barrier(graph, node))
            fill_barrier(b, node, needs);
        else
            for (uint32_t j = 0; j < def->n_needs && !rc; j++)
                rc = building_resolve(b, node, &def->needs[j], &needs[j]);
    }
    return rc;
}

/* Dependents are needs turned round: a counting sort. dependent_start is used one place
 * ahead while filling, so that it ends up right without a second array. */
static void fill_users(struct graph *graph)
{
    uint32_t *start = graph->dependent_start;
    for (uint32_t e = 0; e < graph->n_edges; e++)
        start[graph->needs[e] + 2]++;
    for (uint32_t i = 2; i <= graph->n_nodes + 1; i++)
        start[i] += start[i - 1];
    for (uint32_t node = 0; node < graph->n_nodes; node++)
        for (uint32_t e = graph->need_start[node]; e < graph->need_start[node + 1]; e++)
            graph->dependents[start[graph->needs[e] + 1]++] = node;
    assert(start[0] == 0 && start[graph->n_nodes] == graph->n_edges);
}

/* Kahn's algorithm; the order array is its own queue. */
static int sort_nodes(struct graph *graph, struct cairn_error *error)
{
    uint32_t *waiting = malloc(((size_t)graph->n_nodes + 1) * sizeof *waiting);
    graph->order = malloc(((size_t)graph->n_nodes + 1) * sizeof(uint32_t));
    if (!waiting || !graph->order) {
        free(waiting);
        return error_nomem(error);
    }
    uint32_t head = 0, tail = 0;
    for (uint32_t node = 0; node < graph->n_nodes; node++) {
        waiting[node] = graph->need_start[node + 1] - graph->need_start[node];
        if (!waiting[node])
            graph->order[tail++] = node;
    }
    while (head < tail) {
        uint32_t node = graph->order[head++];
        for (uint32_t e = graph->dependent_start[node];
             e < graph->dependent_start[node + 1]; e++)
            if (--waiting[graph->dependents[e]] == 0)
                graph->order[tail++] = graph->dependents[e];
    }
    assert(head == tail && tail <= graph->n_nodes);
    int rc = tail == graph->n_nodes ? 0 : cycle_report(graph, waiting, error);
    free(waiting);
    return rc;
}

int graph_weigh(struct graph *graph, const uint32_t *duration_ms,
                struct cairn_error *error)
{
    uint64_t sum = 0, known = 0;
    if (!graph->height)
        graph->height = malloc(((size_t)graph->n_nodes + 1) * sizeof(uint32_t));
    if (!graph->height)
        return error_nomem(error);
    for (uint32_t i = 0; duration_ms && i < graph->n_tasks; i++)
        if (duration_ms[i]) {
            sum += duration_ms[i];
            known++;
        }
    uint32_t usual = known ? (uint32_t)(sum / known) : 1;
    for (uint32_t i = graph->n_nodes; i-- > 0;) {
        uint32_t node = graph->order[i];
        uint32_t tallest = 0, own = 0;
        for (uint32_t e = graph->dependent_start[node];
             e < graph->dependent_start[node + 1]; e++)
            if (graph->height[graph->dependents[e]] > tallest)
                tallest = graph->height[graph->dependents[e]];
        if (!graph_is_barrier(graph, node))
            own = duration_ms && duration_ms[node] ? duration_ms[node] : usual;
        if (__builtin_add_overflow(tallest, own, &graph->height[node]))
            graph->height[node] = UINT32_MAX;
    }
    return 0;
}

int graph_build(struct graph *graph, const struct definition *definition,
                struct cairn_error *error)
{
    struct graph g = {.definition = definition, .arena = ARENA_INIT};
    struct building b = {.graph = &g, .scratch = BUF_INIT, .error = error};
    int rc = number_nodes(&b);
    if (!rc)
        rc = building_number_parts(&b);
    if (!rc)
        rc = name_nodes(&b);
    if (!rc)
        rc = count_edges(&b);
    if (!rc)
        rc = fill_needs(&b);
    parts_release(&b.parts);
    buf_release(&b.scratch);
    if (!rc) {
        fill_users(&g);
        rc = sort_nodes(&g, error);
    }
    if (!rc)
        rc = graph_weigh(&g, NULL, error);
    if (rc) {
        graph_release(&g);
        return rc;
    }
#ifdef CAIRN_DEBUG
    assert(graph_consistent(&g));
#endif
    *graph = g;
    return 0;
}

bool graph_any_dependent(const struct graph *g, uint32_t node,
                         bool (*is)(const void *context, uint32_t dependent),
                         const void *context)
{
    for (uint32_t i = g->dependent_start[node]; i < g->dependent_start[node + 1]; i++) {
        uint32_t dependent = g->dependents[i];
        if (!graph_is_barrier(g, dependent) && is(context, dependent))
            return true;
        /* Those of a barrier are tasks. */
        for (uint32_t k = g->dependent_start[dependent];
             graph_is_barrier(g, dependent) && k < g->dependent_start[dependent + 1];
             k++)
            if (is(context, g->dependents[k]))
                return true;
    }
    return false;
}
