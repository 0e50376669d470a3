/* SPDX-License-Identifier: MIT */
/* Which task an id names, and which task of a recorded definition is which of the
 * present one. */
#include "graph/match.h"

#include "base/limits.h"
#include "graph/members.h"

#include <assert.h>

static bool same_values(const struct task_def *a, const struct task_def *b)
{
    if (a->n_foreach != b->n_foreach || a->members != b->members)
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

static uint32_t find_member(const struct task_def *def, uint32_t member,
                            const struct task_def *old)
{
    struct str values[LIMIT_FOREACH_KEYS];
    for (uint32_t k = 0; k < def->n_foreach; k++)
        values[k] = def->foreach[k].values[member_value(def, member, k)];
    return member_find(old, values);
}

void map_tasks(const struct graph *graph, const struct graph *old, uint32_t *old_task)
{
    for (uint32_t task = 0; task < graph->n_tasks; task++)
        old_task[task] = old == graph ? task : NODE_NONE;
    if (!old || old == graph)
        return;
    for (uint32_t i = 0; i < graph->definition->n_defs; i++) {
        const struct task_def *def = &graph->definition->defs[i];
        uint32_t j = map_get(&old->definition->by_id, def->id);
        if (j == MAP_NONE)
            continue;
        const struct task_def *before = &old->definition->defs[j];
        if (!same_key_names(def, before))
            continue;
        bool same = same_values(def, before);
        for (uint32_t m = 0; m < def->members; m++) {
            uint32_t at = same ? m : find_member(def, m, before);
            assert(at == UINT32_MAX || at < before->members);
            if (at != UINT32_MAX)
                old_task[graph->first[i] + m] = old->first[j] + at;
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
