/* SPDX-License-Identifier: MIT */
/* Random workflows of test A, and questions about any workflow. */
#include "flow.h"

bool def_needs(const struct def *def, uint32_t target)
{
    for (uint32_t i = 0; i < def->n_needs; i++)
        if (def->needs[i] == target)
            return true;
    return false;
}

bool def_needs_service(const struct workflow *w, const struct def *def)
{
    bool needs = false;
    for (uint32_t i = 0; i < def->n_needs; i++)
        needs |= w->defs[def->needs[i]].service;
    return needs;
}

enum stale def_stale(const struct workflow *w, const struct def *def)
{
    enum stale stale = def->stale ? def->stale : w->stale;
    return stale ? stale : STALE_WARN;
}

/* ---- Making ---- */

bool def_makes_list(const struct workflow *w, const struct def *def)
{
    for (uint32_t i = 0; i < w->n_defs; i++)
        if (!w->defs[i].removed && w->defs[i].made &&
            &w->defs[w->defs[i].list_of] == def)
            return true;
    return false;
}

static bool covers(const struct def *target, const struct def *def)
{
    if (target->made)
        return def->made && target->list_of == def->list_of;
    if (def->made)
        return false;
    for (uint32_t i = 0; i < def->n_members; i++) {
        bool found = false;
        for (uint32_t k = 0; k < target->n_members; k++)
            found |= target->member[k] == def->member[i];
        if (!found)
            return false;
    }
    return def->n_members > 0;
}

void def_make_needs(struct workflow *w, uint32_t index, struct rng *rng)
{
    struct def *def = &w->defs[index];
    uint32_t wanted = index ? rng_below(rng, 4) : 0;
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t target = rng_below(rng, index);
        if (def_needs(def, target) || w->defs[target].removed ||
            w->defs[target].finally != def->finally)
            continue;
        bool service = w->defs[target].service;
        def->element[def->n_needs] =
            covers(&w->defs[target], def) && !rng_one_in(rng, 3);
        def->soft[def->n_needs] = rng_one_in(rng, 4) && !service;
        def->order[def->n_needs] = rng_one_in(rng, 5) && !service;
        def->needs[def->n_needs++] = target;
    }
}

/* A single task that is needed directly: its values can be named. NONE: there is none.
 */
static uint32_t giving_need(const struct workflow *w, const struct def *def,
                            struct rng *rng)
{
    if (!def->n_needs)
        return NONE;
    uint32_t at = rng_below(rng, def->n_needs), need = def->needs[at];
    return w->defs[need].n_members || w->defs[need].service || def->order[at] ? NONE
                                                                              : need;
}

/* One of which there are files whenever the task runs. */
static uint32_t filing_need(const struct workflow *w, const struct def *def,
                            struct rng *rng)
{
    uint32_t at = def->n_needs ? rng_below(rng, def->n_needs) : 0;
    bool files = def->n_needs && w->defs[def->needs[at]].output && !def->order[at] &&
                 !def->soft[at];
    return files ? def->needs[at] : NONE;
}

static void make_condition(struct workflow *w, struct def *def, struct rng *rng)
{
    uint32_t need = giving_need(w, def, rng);
    def->condition_value = rng_below(rng, 3);
    if (def->n_members && !rng_one_in(rng, 3))
        def->condition = COND_MEMBER; /* holds for all but one of them */
    else if (need == NONE || rng_one_in(rng, 4))
        def->condition = def->own_params ? COND_NONE : COND_PARAM;
    else {
        def->condition = rng_one_in(rng, 4) ? COND_STATUS : COND_VALUE;
        def->condition_need = need;
    }
}

/* What makes it uncertain whether tasks run. */
void def_make_uncertain(struct workflow *w, struct def *def, struct rng *rng)
{
    if (rng_one_in(rng, def->n_members ? 2 : 4))
        make_condition(w, def, rng);
    def->needs_all = rng_one_in(rng, 4);
    if (def->n_needs && !def->made && !def_needs_service(w, def) &&
        def->args_of == NONE && rng_one_in(rng, 5))
        def->when = rng_one_in(rng, 2) ? WHEN_FAILED : WHEN_ALWAYS;
    def->fails = rng_one_in(rng, 9);
    def->skip_exit = rng_one_in(rng, 6);
    def->skips = def->skip_exit && rng_one_in(rng, 2);
    def->may_fail = rng_one_in(rng, def->fails ? 2 : 8);
    def->fallback = rng_one_in(rng, def->fails ? 3 : 8);
    if (rng_one_in(rng, 5))
        def->gate = rng_one_in(rng, 4) ? GATE_BAD : GATE_EXIT + rng_below(rng, 3);
}

/* In place of def_decorate. Who needs a group of services with ports must need one of
 * them, so that a group has none. */
void def_make_service(struct workflow *w, uint32_t index, struct rng *rng)
{
    struct def *def = &w->defs[index];
    def->service = true;
    if (def->made) {
        def->made = def->sided = false;
        def->n_members = 0;
        memset(def->element, 0, sizeof def->element);
    }
    def->port = !def->n_members && rng_one_in(rng, 2);
    def->env = rng_one_in(rng, 3) ? 1 + rng_below(rng, 5) : 0;
    def->secrets = rng_one_in(rng, 5) ? 1 + rng_below(rng, 3) : 0;
    def->restart = rng_below(rng, 3);
}

void def_decorate(struct workflow *w, uint32_t index, struct rng *rng)
{
    struct def *def = &w->defs[index];
    uint32_t need = giving_need(w, def, rng);
    def->exec = rng_one_in(rng, 3);
    def->shell = !def->exec && rng_one_in(rng, 5) ? 1 : 0;
    def->env = rng_one_in(rng, 3) ? 1 + rng_below(rng, 5) : 0;
    def->passed = need != NONE && rng_one_in(rng, 2) ? need : NONE;
    def->own_params =
        rng_one_in(rng, 3) ? 1 + rng_below(rng, (1u << w->n_params) - 1) : 0;
    def->secrets = rng_one_in(rng, 5) ? 1 + rng_below(rng, 3) : 0;
    def->output = rng_one_in(rng, 3);
    def->gives = rng_one_in(rng, 2);
    def->input = rng_one_in(rng, 4);
    def->depfile = !def->input && rng_one_in(rng, 4);
    def->input_of = NONE;
    if (def->input && need != NONE && w->defs[need].output && !def->finally)
        def->input_of = need;
    for (uint32_t i = 0; i < def->n_needs; i++) /* without its file it cannot start */
        def->soft[i] &= def->needs[i] != def->input_of;
    def->args = !def->exec && rng_one_in(rng, 4) ? 1 : 0;
    def->args_of = def->args && !def->finally ? filing_need(w, def, rng) : NONE;
    if (def->output && def->n_members)
        def->stale = (enum stale)rng_below(rng, 4);
    if (rng_one_in(rng, 6)) {
        def->rounds = 1 + rng_below(rng, 2);
        def->rounds_more = rng_below(rng, 2);
    }
    def->undo = rng_one_in(rng, 5) ? 1 : 0;
    def->retries = rng_one_in(rng, 6) ? 1 : 0;
    def->timeout_s = rng_one_in(rng, 6) ? 300 : 0;
    def->pool = rng_one_in(rng, 6) ? 1 + rng_below(rng, POOLS) : 0;
    def->places = 1 + rng_below(rng, 2);
    if (def->pool && rng_one_in(rng, 3))
        def->pool = POOLS + 1; /* both */
    def->slots = rng_one_in(rng, 6) ? 2 + rng_below(rng, 3) : 0;
    def->memory = rng_one_in(rng, 5) ? 1 + rng_below(rng, 4) : 0;
    def->artifacts = rng_one_in(rng, 3);
    def->priority = rng_one_in(rng, 6) ? 3 - (int32_t)rng_below(rng, 7) : 0;
    if (!w->plain)
        def_make_uncertain(w, def, rng);
}

/* Somebody's list, if there is a task that can make one. */
static void take_list(struct workflow *w, uint32_t index, struct rng *rng)
{
    struct def *def = &w->defs[index];
    uint32_t maker = index ? rng_below(rng, index) : 0;
    struct def *by = &w->defs[maker];
    if (!index || rng_one_in(rng, 3) || by->n_members || by->finally || by->removed ||
        by->service || by->added)
        return;
    if (!by->n_list) {
        by->n_list = def->n_members;
        memcpy(by->list, def->member, sizeof by->list);
    }
    def->made = true;
    def->list_of = maker;
    def->n_members = 1;
    def->member[0] = UNLISTED;
}

void def_learn(struct def *def, const void *of, uint32_t n, nth_id *nth)
{
    char start[NAME_SIZE + 8];
    size_t length = (size_t)snprintf(start, sizeof start, "%s[part=", def->id);
    def->n_members = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *id = nth(of, i);
        unsigned long value =
            strncmp(id, start, length) == 0 ? strtoul(id + length, NULL, 10) : 0;
        if (value && def->n_members < MEMBERS_MAX)
            def->member[def->n_members++] = (uint32_t)value;
    }
    if (!def->n_members)
        def->member[def->n_members++] = UNLISTED;
}

struct def *workflow_add(struct workflow *w, struct rng *rng)
{
    uint32_t index = w->n_defs++;
    struct def *def = &w->defs[index];
    *def = (struct def){.version = 1,
                        .passed = NONE,
                        .input_of = NONE,
                        .list_of = NONE,
                        .args_of = NONE};
    snprintf(def->id, sizeof def->id, rng_one_in(rng, 6) ? "t.%u" : "t%u", index);
    if (rng_one_in(rng, 4)) {
        def->n_members = 1 + rng_below(rng, 4);
        for (uint32_t i = 0; i < def->n_members; i++)
            def->member[i] = i + 1;
        def->sided = rng_one_in(rng, 2);
        take_list(w, index, rng);
    }
    return def;
}

void workflow_make_top(struct workflow *w, struct rng *rng)
{
    w->n_params = 1 + rng_below(rng, 3);
    for (uint32_t i = 0; i < w->n_params; i++)
        w->param[i] = rng_below(rng, 3);
    w->env = rng_one_in(rng, 2) ? 1 : 0;
    for (uint32_t i = 0; i < SECRETS_MAX; i++)
        w->secret[i] = 1;
    for (uint32_t i = 0; i < POOLS; i++)
        w->pool_limit[i] = 1 + rng_below(rng, 2);
    w->jobs = 1 + rng_below(rng, 4);
    w->memory = rng_one_in(rng, 2) ? 4 + rng_below(rng, 4) : 0;
    w->shared = rng_one_in(rng, 2);
    w->stale = (enum stale)rng_below(rng, 4);
    w->again_never = rng_one_in(rng, 2);
}

void workflow_make(struct workflow *w, struct rng *rng, bool plain)
{
    uint32_t defs = 5 + rng_below(rng, 14);
    memset(w, 0, sizeof *w);
    w->plain = plain;
    w->policy = !plain && rng_one_in(rng, 3) ? ON_STOP : ON_CONTINUE;
    workflow_make_top(w, rng);
    while (w->n_defs < defs) {
        struct def *def = workflow_add(w, rng);
        def->finally = !def->made && w->n_defs == defs && rng_one_in(rng, 2);
        def_make_needs(w, w->n_defs - 1, rng);
        if (w->n_defs < defs && rng_one_in(rng, 7))
            def_make_service(w, w->n_defs - 1, rng);
        else
            def_decorate(w, w->n_defs - 1, rng);
    }
}

/* ---- Tasks ---- */

void workflow_tasks(const struct workflow *w, struct tasks *tasks)
{
    tasks->n = 0;
    for (uint32_t i = 0; i < w->n_defs; i++) {
        const struct def *def = &w->defs[i];
        uint32_t n = def->removed ? 0 : def->n_members ? def->n_members : 1;
        for (uint32_t k = 0; k < n && tasks->n < TASKS_MAX; k++) {
            struct task *task = &tasks->task[tasks->n++];
            task->def = i;
            task->member = def->n_members ? def->member[k] : 0;
            if (task->member == UNLISTED)
                snprintf(task->id, ID_SIZE, "%s[part=\xe2\x80\xa6%s]", def->id,
                         def->sided ? ",side=x" : "");
            else if (def->n_members)
                snprintf(task->id, ID_SIZE, "%s[part=%u%s]", def->id, def->member[k],
                         def->sided ? ",side=x" : "");
            else
                snprintf(task->id, ID_SIZE, "%s", def->id);
        }
    }
}

uint32_t tasks_find(const struct tasks *tasks, const char *id)
{
    for (uint32_t i = 0; i < tasks->n; i++)
        if (strcmp(tasks->task[i].id, id) == 0)
            return i;
    return NONE;
}

bool def_wants_group(const struct workflow *w, const struct def *def)
{
    bool wants = false;
    for (uint32_t i = 0; i < def->n_needs; i++) {
        const struct def *need = &w->defs[def->needs[i]];
        wants |= need->n_members && (need->sided || !def->element[i]) &&
                 !def_is_soft(def, i);
    }
    return wants && def->when == WHEN_SUCCESS;
}

bool def_is_soft(const struct def *def, uint32_t i)
{
    return def->soft[i] && def->when == WHEN_SUCCESS;
}

static enum need stronger(enum need found, const struct def *def, uint32_t i)
{
    return def_is_soft(def, i) && found == NEED_NOT ? NEED_SOFT
           : def_is_soft(def, i)                    ? found
                                                    : NEED_HARD;
}

enum need task_needs(const struct workflow *w, const struct task *task,
                     const struct task *need, bool order)
{
    const struct def *def = &w->defs[task->def];
    enum need found = NEED_NOT;
    for (uint32_t i = 0; i < def->n_needs; i++)
        if (def->needs[i] == need->def &&
            (!def->element[i] || need->member == task->member) &&
            (order || !(def->order[i] || w->defs[need->def].service)))
            found = stronger(found, def, i);
    /* Who needs a group needs the maker of its list; for the order is less. */
    if (def->made && def->list_of == need->def)
        return order ? NEED_HARD : found;
    for (uint32_t i = 0; i < def->n_needs; i++)
        if (w->defs[def->needs[i]].made &&
            w->defs[def->needs[i]].list_of == need->def && (order || !def->order[i]))
            found = stronger(found, def, i);
    return found;
}

bool def_has_sheet(const struct workflow *w, const struct def *def)
{
    return def->n_members && !def->made && (def - w->defs) % 2;
}

uint32_t def_cell(const struct def *def, uint32_t member)
{
    return member == def->told_member ? def->told : 0;
}
