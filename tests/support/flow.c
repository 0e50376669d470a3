/* SPDX-License-Identifier: MIT */
#include "tests/support/flow.h"

bool flow_one_of(uint64_t *seed, uint32_t n)
{
    return n && help_below(seed, n) == 0;
}

void flow_need(struct definition *d, struct task_def *def, uint32_t target,
               uint64_t *seed)
{
    struct need *need = help_need(d, def, target, "need");
    const struct task_def *to = &d->defs[target];
    if (!to->n_foreach || to->foreach[0].n == 0 || help_below(seed, 2))
        return;
    bool own = def->n_foreach && to->foreach[0].n >= def->foreach[0].n;
    need->n_bindings = to->n_foreach;
    need->bindings = arena_take(&d->arena, to->n_foreach, sizeof *need->bindings);
    need->bindings[0] = (struct key_value){STR("x"), own ? STR("${{x}}") : STR("0")};
    if (to->n_foreach == 1)
        return;
    need->bindings[1] = (struct key_value){STR("y"), STR("0")};
    need->open = (uint8_t)help_below(seed, 3); /* none, x or y */
    for (uint32_t k = 0; k < 2; k++)
        if (need->open >> k & 1)
            need->bindings[k].value = STR("");
}

void flow_pools(struct definition *d, uint64_t *seed)
{
    for (uint32_t p = help_below(seed, 4); p > 0; p--) {
        char name[16];
        snprintf(name, sizeof name, "p%u", p);
        uint32_t pool = help_pool(d, name);
        d->pools[pool].limit = 1 + help_below(seed, 3);
    }
}

void flow_members(struct definition *d, struct task_def *def, uint64_t *seed)
{
    char text[16];
    help_value(d, def, "x", NULL);
    for (uint32_t m = 0, n = help_below(seed, 6); m < n; m++) {
        snprintf(text, sizeof text, "%u", m);
        help_value(d, def, "x", text);
    }
    if (help_below(seed, 2))
        return;
    help_value(d, def, "y", NULL);
    help_value(d, def, "y", "0");
    if (help_below(seed, 2))
        help_value(d, def, "y", "1");
}

void flow_task(struct definition *d, const struct flow_taste *taste, bool finally,
               uint64_t *seed)
{
    char text[16];
    snprintf(text, sizeof text, "t%u", d->n_defs);
    struct task_def *def = help_task(d, text);
    if (help_below(seed, 4) == 0)
        flow_members(d, def, seed);
    def->finally = finally;
    def->priority = (int32_t)help_below(seed, 5) - 2;
    for (uint32_t i = d->n_pools ? help_below(seed, 4) : 0; i > 0; i--) {
        uint32_t pool = help_below(seed, d->n_pools);
        help_use(d, def, pool, 1 + help_below(seed, d->pools[pool].limit));
    }
    if (help_below(seed, 6) == 0)
        def->slots = 2 + help_below(seed, 5);
    if (flow_one_of(seed, taste->when))
        def->when = (uint8_t)(1 + help_below(seed, 2));
    if (flow_one_of(seed, taste->condition))
        def->condition = STR("true");
    if (flow_one_of(seed, taste->external) && !finally)
        def->kind = TASK_EXTERNAL;
    else if (flow_one_of(seed, taste->once))
        def->once = true;
    def->needs_all = help_below(seed, 5) == 0;
    if (flow_one_of(seed, taste->retry))
        def->retry.max = 1 + help_below(seed, 3);
}

void flow_needs(struct definition *d, uint32_t index, uint32_t first, uint32_t dense,
                uint64_t *seed)
{
    uint32_t n = index > first ? help_below(seed, dense + 1) : 0;
    for (; n > 0; n--)
        flow_need(d, &d->defs[index], first + help_below(seed, index - first), seed);
}

void flow_define(struct definition *d, const struct flow_taste *taste, uint64_t *seed)
{
    uint32_t n = 1 + help_below(seed, taste->tasks), dense = 1 + help_below(seed, 4);
    uint32_t last = flow_one_of(seed, taste->finally) ? 1 + help_below(seed, 4) : 0;
    help_begin(d);
    flow_pools(d, seed);
    for (uint32_t i = 0; i < n + last; i++) {
        flow_task(d, taste, i >= n, seed);
        flow_needs(d, i, i < n ? 0 : n, dense, seed);
    }
    help_finish(d);
}

void flow_build(struct graph *g, struct definition *d, const struct flow_taste *taste,
                uint64_t *seed)
{
    struct cairn_error error;
    for (;;) {
        flow_define(d, taste, seed);
        if (graph_build(g, d, &error) == 0)
            return;
        ck_assert_int_eq(error.code, CAIRN_EWORKFLOW); /* every group was empty */
        definition_release(d);
    }
}
