/* SPDX-License-Identifier: MIT */
/* Whether a failure stops the run: it does, unless a handler may still run. Each
 * settled ending of the turn is read once. */
#include "executor/attempt/failure.h"

#include "plan/handlers.h"

static bool has_not_ended(const void *context, uint32_t handler)
{
    const struct engine *e = context;
    const uint8_t *aside = e->progress.sched.aside;
    return e->progress.sched.state[handler] != ENDED && !(aside && aside[handler]);
}

bool failure_unhandled(const struct engine *e, uint32_t task, bool still_open)
{
    const struct graph *g = e->request.graph;
    return !failure_is_handled(g, task, &e->progress.states, NULL) &&
           !(still_open && failure_has_handler(g, task, has_not_ended, e));
}

static void stop_after_failure(struct engine *e, uint32_t task)
{
    char text[256];
    if (failure_policy(e) == ON_FAILURE_CONTINUE || e->phase != PHASE_MAIN ||
        e->halting.level || !failure_unhandled(e, task, true))
        return;
    snprintf(text, sizeof text, "%s failed", e->request.graph->id[task]);
    halt_run(e, HALT_FAILURE, text);
}

void failure_check_recorded(struct engine *e)
{
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        if (e->progress.states.outcome[task] == CAIRN_FAILED &&
            !failed_before(e, task) && !graph_def(e->request.graph, task)->finally)
            stop_after_failure(e, task);
}

/* A task with `when: failed` ended without completing: what it would have handled. */
static void stop_after_handler(struct engine *e, uint32_t task)
{
    const struct graph *g = e->request.graph;
    for (uint32_t i = g->need_start[task]; i < g->need_start[task + 1]; i++) {
        uint32_t need = g->needs[i];
        if (!graph_is_barrier(g, need)) {
            if (e->progress.states.outcome[need] == CAIRN_FAILED)
                stop_after_failure(e, need);
            continue;
        }
        for (uint32_t k = g->need_start[need]; k < g->need_start[need + 1]; k++)
            if (e->progress.states.outcome[g->needs[k]] == CAIRN_FAILED)
                stop_after_failure(e, g->needs[k]);
    }
}

static bool is_handler(const struct engine *e, uint32_t task)
{
    return task_is_handler(graph_def(e->request.graph, task));
}

static void check_settled(struct engine *e, const struct ending *ending)
{
    uint32_t task = ending->change.task;
    if (ending->change.outcome == CAIRN_FAILED)
        stop_after_failure(e, task);
    if (ending->change.outcome != CAIRN_COMPLETED && is_handler(e, task))
        stop_after_handler(e, task);
    for (uint32_t i = 0; i < ending->skipped.n; i++)
        if (is_handler(e, ending->skipped.at[i].task))
            stop_after_handler(e, ending->skipped.at[i].task);
}

void failure_check_settled(struct engine *e)
{
    const struct ending *ending;
    while ((ending = turn_next_settled(e)))
        check_settled(e, ending);
}
