/* SPDX-License-Identifier: MIT */
/* Which task an id names, and which tasks of two graphs are the same. */
#include "graph/match.h"
#include "graph/members.h"
#include "graph/skip_cause.h"

#include "base/limits.h"

#include <assert.h>
#include <stdlib.h>

static bool same_values(const struct task_def *a, const struct task_def *b)
{
    if (a->n_foreach != b->n_foreach || a->members != b->members ||
        a->n_picked != b->n_picked)
        return false;
    if (a->n_picked &&
        memcmp(a->picked, b->picked, a->n_picked * sizeof *a->picked) != 0)
        return false;
    for (uint32_t k = 0; k < a->n_foreach; k++) {
        const struct foreach_key *x = &a->foreach[k], *y = &b->foreach[k];
        if (x->n != y->n || !str_equal(x->name, y->name))
            return false;
        for (uint32_t i = 0; i < x->n; i++)
            if (!str_equal(x->values[i], y->values[i]))
                return false;
    }
    return true;
}

static bool same_key_names(const struct task_def *a, const struct task_def *b)
{
    bool same = a->n_foreach == b->n_foreach;
    for (uint32_t k = 0; same && k < a->n_foreach; k++)
        same = str_equal(a->foreach[k].name, b->foreach[k].name);
    return same;
}

/* The member of `other` with the same values. member_find also takes what a value is
 * shown as in ids; but that can be another value's own text. */
static uint32_t find_member(const struct task_def *def, uint32_t member,
                            const struct task_def *other)
{
    struct str values[LIMIT_FOREACH_KEYS];
    for (uint32_t k = 0; k < def->n_foreach; k++)
        values[k] = def->foreach[k].values[member_value(def, member, k)];
    uint32_t found = member_find(other, values);
    for (uint32_t k = 0; k < def->n_foreach && found != UINT32_MAX; k++)
        if (!str_equal(other->foreach[k].values[member_value(other, found, k)],
                       values[k]))
            found = UINT32_MAX;
    return found;
}

/* The task_def of the same name and keys: its index in `other`, or MAP_NONE. */
static uint32_t find_def(const struct task_def *def, const struct definition *other)
{
    uint32_t found = map_get(&other->by_id, def->id);
    return found != MAP_NONE && same_key_names(def, &other->defs[found]) ? found
                                                                         : MAP_NONE;
}

uint32_t map_task(const struct graph *graph, uint32_t task, const struct graph *other)
{
    const struct task_def *def = graph_def(graph, task);
    uint32_t found = find_def(def, other->definition);
    if (found == MAP_NONE)
        return NODE_NONE;
    uint32_t member =
        find_member(def, graph_member(graph, task), &other->definition->defs[found]);
    return member == UINT32_MAX ? NODE_NONE : other->first[found] + member;
}

void map_tasks(const struct graph *graph, const struct graph *other, uint32_t *number)
{
    for (uint32_t task = 0; task < graph->n_tasks; task++)
        number[task] = other == graph ? task : NODE_NONE;
    if (!other || other == graph)
        return;
    for (uint32_t i = 0; i < graph->definition->n_defs; i++) {
        const struct task_def *def = &graph->definition->defs[i];
        uint32_t j = find_def(def, other->definition);
        if (j == MAP_NONE)
            continue;
        const struct task_def *there = &other->definition->defs[j];
        bool same = same_values(def, there);
        for (uint32_t m = 0; m < def->members; m++) {
            uint32_t at = same ? m : find_member(def, m, there);
            assert(at == UINT32_MAX || at < there->members);
            if (at != UINT32_MAX)
                number[graph->first[i] + m] = other->first[j] + at;
        }
    }
}

/* `name[a=1,b=2]`, keys in the order of the foreach: finds task_def and member. */
static bool find_id(const struct definition *d, struct str id, uint32_t *index,
                    uint32_t *member)
{
    const char *bracket = id.len ? memchr(id.ptr, '[', id.len) : NULL;
    size_t name_len = bracket ? (size_t)(bracket - id.ptr) : id.len;
    struct str values[LIMIT_FOREACH_KEYS];
    *index = map_get(&d->by_id, (struct str){id.ptr, name_len});
    *member = 0;
    if (*index == MAP_NONE)
        return false;
    const struct task_def *def = &d->defs[*index];
    if ((def->n_foreach > 0) != (bracket != NULL))
        return false;
    if (!bracket)
        return true;
    const char *at = bracket + 1, *end = id.ptr + id.len - 1;
    if (id.len < name_len + 2 || *end != ']')
        return false;
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        struct str key = def->foreach[k].name;
        if ((size_t)(end - at) < key.len + 1 || memcmp(at, key.ptr, key.len) != 0 ||
            at[key.len] != '=')
            return false;
        at += key.len + 1;
        const char *stop =
            k + 1 < def->n_foreach ? memchr(at, ',', (size_t)(end - at)) : end;
        if (!stop)
            return false;
        values[k] = (struct str){at, (size_t)(stop - at)};
        at = stop + (stop < end);
    }
    *member = at == end ? member_find(def, values) : UINT32_MAX;
    return *member != UINT32_MAX;
}

uint32_t graph_find(const struct graph *graph, struct str id)
{
    uint32_t index, member;
    bool found = find_id(graph->definition, id, &index, &member);
    return found ? graph->first[index] + member : NODE_NONE;
}

uint32_t definition_find_task(const struct definition *definition, struct str id)
{
    uint32_t index, member;
    if (!find_id(definition, id, &index, &member))
        return NODE_NONE;
    uint64_t task = member;
    for (uint32_t i = 0; i < index; i++)
        task += definition->defs[i].members;
    /* More tasks than graph_build takes: a definition that no run can have. */
    return task < LIMIT_TASKS ? (uint32_t)task : NODE_NONE;
}

/* A group is looked at once, whoever asks, so that all tasks together cost as much as
 * the graph has edges. */

struct group_losses {
    uint32_t failed, skipped, excluded; /* the first of each, or NODE_NONE */
    bool known, left;                   /* left: one is not excluded */
};

int skip_causes_open(struct skip_causes *c, const struct graph *graph,
                     const uint8_t *outcome)
{
    size_t n = (size_t)(graph->n_nodes - graph->n_tasks) + 1;
    *c = (struct skip_causes){graph, outcome, calloc(n, sizeof *c->group)};
    return c->group ? 0 : CAIRN_ENOMEM;
}

void skip_causes_release(struct skip_causes *c)
{
    free(c->group);
    *c = (struct skip_causes){0};
}

static void note_first(uint32_t *first, uint32_t task)
{
    if (*first == NODE_NONE)
        *first = task;
}

static void note_loss(struct group_losses *losses, uint32_t task, uint8_t outcome)
{
    losses->left |= outcome != CAIRN_EXCLUDED;
    if (outcome == CAIRN_FAILED)
        note_first(&losses->failed, task);
    else if (outcome == CAIRN_SKIPPED)
        note_first(&losses->skipped, task);
    else if (outcome == CAIRN_EXCLUDED)
        note_first(&losses->excluded, task);
}

static const struct group_losses none = {
    .failed = NODE_NONE, .skipped = NODE_NONE, .excluded = NODE_NONE};

static const struct group_losses *losses_of(struct skip_causes *c, uint32_t barrier)
{
    const struct graph *g = c->graph;
    struct group_losses *losses = &c->group[barrier - g->n_tasks];
    if (losses->known)
        return losses;
    *losses = none;
    losses->known = true;
    for (uint32_t e = g->need_start[barrier]; e < g->need_start[barrier + 1]; e++)
        note_loss(losses, g->needs[e], c->outcome[g->needs[e]]);
    return losses;
}

static void note_group(struct group_losses *losses, const struct group_losses *group,
                       bool all)
{
    if (group->failed != NODE_NONE)
        note_first(&losses->failed, group->failed);
    if (group->skipped != NODE_NONE)
        note_first(&losses->skipped, group->skipped);
    if (group->excluded != NODE_NONE && (all || !group->left))
        note_first(&losses->excluded, group->excluded);
}

uint32_t skip_cause(struct skip_causes *c, uint32_t task)
{
    const struct graph *g = c->graph;
    bool all = task_def_needs_all(g->definition, graph_def(g, task));
    struct group_losses losses = none;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1]; e++) {
        uint32_t need = g->needs[e];
        if (graph_is_barrier(g, need))
            note_group(&losses, losses_of(c, need), all);
        else
            note_loss(&losses, need, c->outcome[need]);
    }
    return losses.failed != NODE_NONE    ? losses.failed
           : losses.skipped != NODE_NONE ? losses.skipped
                                         : losses.excluded;
}
