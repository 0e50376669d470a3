/* SPDX-License-Identifier: MIT */
/* A random workflow, what its tasks do, and a naive model of how it must end. */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "plan/sched.h"

#include "tests/support/flow.h"

enum { SECOND = 1000 };

/* ---- What tasks do ---- */

struct world { /* one random workflow, and how likely its attempts fail */
    struct definition definition;
    struct graph graph;
    uint64_t seed;
    uint32_t failing, cancelling; /* per thousand */
};

static inline uint64_t mix(const struct world *w, uint32_t task, uint32_t what)
{
    uint64_t seed = w->seed ^ ((uint64_t)task << 32 | what);
    return help_next(&seed);
}

static inline enum cairn_outcome attempt_outcome(const struct world *w, uint32_t task,
                                                 uint32_t attempt)
{
    uint64_t luck = mix(w, task, attempt) % 1000;
    return luck < w->failing                   ? CAIRN_FAILED
           : luck < w->failing + w->cancelling ? CAIRN_CANCELLED
                                               : CAIRN_COMPLETED;
}

static inline int64_t attempt_duration(const struct world *w, uint32_t task,
                                       uint32_t attempt)
{
    return (int64_t)(mix(w, task, attempt) >> 40) % SECOND; /* 0 happens */
}

/* An external task is not tried again. */
static inline uint32_t retries_of(const struct world *w, uint32_t task)
{
    const struct task_def *def = graph_def(&w->graph, task);
    return def->kind == TASK_EXTERNAL ? 0 : def->retry.max;
}

/* The attempt that a task that is let run ends with. */
static inline uint32_t last_attempt(const struct world *w, uint32_t task)
{
    uint32_t attempt = 1, max = retries_of(w, task);
    while (attempt <= max && attempt_outcome(w, task, attempt) == CAIRN_FAILED)
        attempt++;
    return attempt;
}

/* What a condition asks for: how its first need ended, or, in `finally`, the run. */
static inline uint32_t asked_of(const struct graph *g, uint32_t task)
{
    uint32_t at = g->need_start[task];
    uint32_t need = at == g->need_start[task + 1] ? NODE_NONE : g->needs[at];
    return need == NODE_NONE || graph_is_barrier(g, need) ? NODE_NONE : need;
}

static inline bool condition_is_met(const struct world *w, const uint8_t *outcome,
                                    uint32_t task, bool run_failed)
{
    const struct task_def *def = graph_def(&w->graph, task);
    uint32_t need = asked_of(&w->graph, task);
    uint8_t ended = need == NODE_NONE ? 0 : outcome[need];
    if (ended == CAIRN_EXCLUDED) /* to a condition both are skipped */
        ended = CAIRN_SKIPPED;
    uint32_t answer = def->finally ? run_failed : ended;
    return !def->condition.len || mix(w, task, 1000 + answer) % 4;
}

static inline void world_make_of(struct world *w, const struct flow_taste *taste,
                                 uint64_t seed)
{
    uint64_t numbers = seed;
    w->seed = seed;
    flow_build(&w->graph, &w->definition, taste, &numbers);
    w->definition.on_failure = ON_FAILURE_CONTINUE;
    w->failing = help_below(&numbers, 3) ? help_below(&numbers, 300) : 0;
    w->cancelling = help_below(&numbers, 4) ? 0 : help_below(&numbers, 100);
}

static inline void world_make(struct world *w, uint64_t seed)
{
    static const struct flow_taste taste = {.tasks = 30,
                                            .when = 4,
                                            .condition = 6,
                                            .external = 16,
                                            .finally = 3,
                                            .retry = 3};
    world_make_of(w, &taste, seed);
}

static inline void world_release(struct world *w)
{
    help_drop(&w->graph, &w->definition);
}

/* ---- The naive model ---- */

struct needs_seen {
    bool open, failed, bad;
    bool excluded, left; /* of a group: some are, some are not */
};

static inline bool is_open(const struct graph *g, const uint8_t *outcome,
                           uint32_t task);

static inline void see(const struct graph *g, const uint8_t *outcome, uint32_t task,
                       struct needs_seen *seen)
{
    enum sched_end_class end = sched_class(outcome[task]);
    seen->open |= is_open(g, outcome, task);
    seen->failed |= end == END_FAILED;
    seen->bad |= end == END_BAD;
    seen->excluded |= end == END_EXCLUDED;
    seen->left |= end != END_EXCLUDED;
}

/* What a group, or a part of one, is to a task that needs it: who is excluded is left
 * out, unless nobody is left, or the task wants all. */
static inline void see_group(const struct graph *g, const uint8_t *outcome,
                             uint32_t barrier, bool wants_all, struct needs_seen *seen)
{
    struct needs_seen group = {0};
    for (uint32_t f = g->need_start[barrier]; f < g->need_start[barrier + 1]; f++)
        see(g, outcome, g->needs[f], &group);
    seen->open |= group.open;
    seen->failed |= group.failed;
    seen->bad |= group.bad || (group.excluded && (wants_all || !group.left));
}

static inline struct needs_seen see_needs(const struct graph *g, const uint8_t *outcome,
                                          uint32_t task);

/* Has not ended for those that wait for it: also if it was skipped, and something else
 * that it needs has not. */
static inline bool is_open(const struct graph *g, const uint8_t *outcome, uint32_t task)
{
    return sched_class(outcome[task]) == END_OPEN ||
           (outcome[task] == CAIRN_SKIPPED && see_needs(g, outcome, task).open);
}

/* Everything that a task needs. */
static inline struct needs_seen see_needs(const struct graph *g, const uint8_t *outcome,
                                          uint32_t task)
{
    struct needs_seen seen = {0};
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1]; e++) {
        uint32_t need = g->needs[e];
        if (graph_is_barrier(g, need))
            see_group(g, outcome, need, graph_def(g, task)->needs_all, &seen);
        else
            see(g, outcome, need, &seen);
        seen.bad |= !graph_is_barrier(g, need) && outcome[need] == CAIRN_EXCLUDED;
    }
    return seen;
}

/* PENDING: it runs as soon as nothing it needs is open. */
static inline uint8_t outcome_by_needs(uint8_t when, struct needs_seen needs)
{
    if (when == WHEN_SUCCESS)
        return needs.failed || needs.bad ? CAIRN_SKIPPED : CAIRN_PENDING;
    if (when == WHEN_FAILED && !needs.open && !needs.failed)
        return CAIRN_EXCLUDED;
    return CAIRN_PENDING;
}

/* Did a task that wants the failure of this one, or of its group, complete? */
static inline bool is_handled(const struct graph *g, const uint8_t *outcome,
                              uint32_t task)
{
    for (uint32_t t = 0; t < g->n_tasks; t++) {
        if (graph_def(g, t)->when != WHEN_FAILED || outcome[t] != CAIRN_COMPLETED)
            continue;
        for (uint32_t e = g->need_start[t]; e < g->need_start[t + 1]; e++)
            if (flow_edge_has(g, e, task))
                return true;
    }
    return false;
}

static inline bool has_failed(const struct graph *g, const uint8_t *outcome)
{
    for (uint32_t t = 0; t < g->n_tasks; t++)
        if (outcome[t] == CAIRN_FAILED && !is_handled(g, outcome, t))
            return true;
    return false;
}

/* Before `finally`, as its conditions see it. */
static inline bool has_failed_before(const struct graph *g, const uint8_t *outcome)
{
    for (uint32_t t = 0; t < g->n_tasks; t++)
        if (outcome[t] == CAIRN_FAILED && !graph_def(g, t)->finally &&
            !is_handled(g, outcome, t))
            return true;
    return false;
}

/* Settles tasks until nothing changes; PENDING is what waits for a cancelled one. */
static inline void settle(const struct world *w, uint8_t *outcome, bool finally,
                          bool failed)
{
    const struct graph *g = &w->graph;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t t = 0; t < g->n_tasks; t++) {
            const struct task_def *def = graph_def(g, t);
            if (outcome[t] != CAIRN_PENDING || def->finally != finally)
                continue;
            struct needs_seen needs = see_needs(g, outcome, t);
            outcome[t] = outcome_by_needs(def->when, needs);
            if (outcome[t] == CAIRN_PENDING && !needs.open)
                outcome[t] = condition_is_met(w, outcome, t, failed)
                                 ? (uint8_t)attempt_outcome(w, t, last_attempt(w, t))
                                 : CAIRN_EXCLUDED;
            moved |= outcome[t] != CAIRN_PENDING;
        }
    }
}

static inline void model_outcomes(const struct world *w, uint8_t *outcome)
{
    settle(w, outcome, false, false);
    settle(w, outcome, true, has_failed_before(&w->graph, outcome));
}

#endif
