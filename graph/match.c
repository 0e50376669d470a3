/* SPDX-License-Identifier: MIT */
/* Which task of a recorded definition is which of the present one. */
#include "graph/graph.h"

#include "base/limits.h"

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
