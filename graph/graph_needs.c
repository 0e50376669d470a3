/* SPDX-License-Identifier: MIT */
/* Where needs lead to: a task, a member, a whole group, a part of one. */
#include "graph/graph_int.h"

#include "base/limits.h"
#include "graph/members.h"
#include "graph/text_expand.h"

#include <assert.h>

static int missing_member(const struct building *b, const struct need *need,
                          const struct task_def *def, uint32_t member)
{
    const struct definition *d = b->graph->definition;
    const struct task_def *target = &d->defs[need->target];
    struct buf id = BUF_INIT;
    member_id(def, member, &id);
    int rc = error_set(b->error, CAIRN_EWORKFLOW,
                       "%.*s:%u:%u: `%s` needs `%.*s`, but `%.*s` has no such member\n"
                       "give both tasks the same foreach values, or need the whole "
                       "group with `%.*s`",
                       (int)d->file.len, d->file.ptr, need->at.line, need->at.column,
                       id.failed ? "" : id.data, (int)need->text.len, need->text.ptr,
                       (int)target->id.len, target->id.ptr, (int)target->id.len,
                       target->id.ptr);
    buf_release(&id);
    return rc;
}

static int find_part(struct building *b, const struct part_values *values,
                     uint32_t *part)
{
    int rc = parts_find(&b->parts, values, part);
    if (rc == CAIRN_ENOTFOUND)
        return missing_member(b, values->need, values->def, values->member);
    return rc ? error_nomem(b->error) : 0;
}

int building_number_parts(struct building *b)
{
    struct graph *graph = b->graph;
    const struct definition *d = graph->definition;
    uint32_t part;
    if (parts_open(&b->parts, d))
        return error_nomem(b->error);
    for (uint32_t i = 0; i < d->n_defs && b->parts.first; i++)
        for (uint32_t j = 0; j < d->defs[i].n_needs; j++)
            for (uint32_t m = 0;
                 need_is_partial(&d->defs[i].needs[j]) && m < d->defs[i].members; m++) {
                struct part_values values = {&d->defs[i], m, &d->defs[i].needs[j]};
                int rc = find_part(b, &values, &part);
                if (rc)
                    return rc;
            }
    graph->n_parts = b->parts.n;
    graph->n_nodes += b->parts.n;
    return 0;
}

/* The one member that a need with values for all keys leads to. */
static int resolve_member(struct building *b, uint32_t task, const struct need *need,
                          uint32_t *node)
{
    const struct graph *graph = b->graph;
    const struct task_def *def = graph_def(graph, task);
    struct str values[LIMIT_FOREACH_KEYS];
    size_t ends[LIMIT_FOREACH_KEYS];
    buf_clear(&b->scratch);
    for (uint32_t k = 0; k < need->n_bindings; k++) {
        text_expand_fixed(graph->definition, def, graph_member(graph, task),
                          need->bindings[k].value, &b->scratch);
        ends[k] = b->scratch.size;
    }
    if (b->scratch.failed)
        return error_nomem(b->error);
    for (uint32_t k = 0; k < need->n_bindings; k++) {
        size_t start = k ? ends[k - 1] : 0;
        values[k] = (struct str){b->scratch.data + start, ends[k] - start};
    }
    uint32_t member = member_find(&graph->definition->defs[need->target], values);
    if (member == UINT32_MAX)
        return missing_member(b, need, def, graph_member(graph, task));
    *node = graph->first[need->target] + member;
    return 0;
}

static int resolve_part(struct building *b, uint32_t task, const struct need *need,
                        uint32_t *node)
{
    const struct graph *graph = b->graph;
    struct part_values values = {graph_def(graph, task), graph_member(graph, task),
                                 need};
    uint32_t part = 0;
    int rc = find_part(b, &values, &part);
    *node = graph->n_nodes - graph->n_parts + part;
    return rc;
}

int building_resolve(struct building *b, uint32_t task, const struct need *need,
                     uint32_t *node)
{
    const struct graph *graph = b->graph;
    if (need_is_partial(need))
        return resolve_part(b, task, need, node);
    if (need->bindings)
        return resolve_member(b, task, need, node);
    *node = graph->definition->defs[need->target].n_foreach
                ? graph->barrier[need->target]
                : graph->first[need->target];
    assert(*node < graph->n_nodes);
    return 0;
}

/* One member, or part, that is needed is meant, even beside its whole group; with
 * several of them only the group can be. */
struct node_range graph_referred(const struct graph *g, uint32_t task, uint32_t def)
{
    const struct task_def *own = graph_def(g, task);
    uint32_t member = NODE_NONE, n = 0;
    for (uint32_t i = 0; i < own->n_needs; i++)
        if (own->needs[i].target == def && own->needs[i].n_bindings) {
            member = g->needs[g->need_start[task] + i];
            n++;
        }
    if (n == 1 && graph_is_barrier(g, member)) {
        uint32_t first = g->need_start[member];
        return (struct node_range){.at = &g->needs[first],
                                   .n = g->need_start[member + 1] - first};
    }
    if (n == 1)
        return (struct node_range){.first = member, .n = 1};
    return (struct node_range){.first = g->first[def],
                               .n = g->first[def + 1] - g->first[def]};
}
