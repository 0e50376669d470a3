/* SPDX-License-Identifier: MIT */
/* What follows a failure: the run stops, unless a handler may still run. The facts are
 * the settled endings of the turn; each is looked at once. */
#include "executor/attempt/failure.h"

#include "plan/handlers.h"

static bool has_not_ended(const void *context, uint32_t handler)
{
    const struct engine *e = context;
    return e->progress.sched.state[handler] != ENDED;
}

bool failure_unhandled(const struct engine *e, uint32_t task, bool still_open)
{
    const struct graph *g = e->request.graph;
    return !failure_is_handled(g, task, &e->progress.states, NULL) &&
           !(still_open && failure_has_handler(g, task, has_not_ended, e));
}

static void task_failed(struct engine *e, uint32_t task)
{
    char text[256];
    if (e->request.graph->definition->on_failure == ON_FAILURE_CONTINUE ||
        e->phase != PHASE_MAIN || e->halting.level || !failure_unhandled(e, task, true))
        return;
    snprintf(text, sizeof text, "%s failed", e->request.graph->id[task]);
    halt_run(e, HALT_FAILURE, text);
}

/* What failed while nobody ran the workflow stops it now. */
void failure_recall(struct engine *e)
{
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        if (e->progress.states.outcome[task] == CAIRN_FAILED &&
            !graph_def(e->request.graph, task)->finally)
            task_failed(e, task);
}

/* A task with `when: failed` ended without completing. */
static void handler_ended(struct engine *e, uint32_t task)
{
    const struct graph *g = e->request.graph;
    for (uint32_t i = g->need_start[task]; i < g->need_start[task + 1]; i++) {
        uint32_t need = g->needs[i];
        if (!graph_is_barrier(g, need)) {
            if (e->progress.states.outcome[need] == CAIRN_FAILED)
                task_failed(e, need);
            continue;
        }
        for (uint32_t k = g->need_start[need]; k < g->need_start[need + 1]; k++)
            if (e->progress.states.outcome[g->needs[k]] == CAIRN_FAILED)
                task_failed(e, g->needs[k]);
    }
}

static bool is_handler(const struct engine *e, uint32_t task)
{
    return task_is_handler(graph_def(e->request.graph, task));
}

static void follow(struct engine *e, const struct ending *ending)
{
    uint32_t task = ending->change.task;
    if (ending->change.outcome == CAIRN_FAILED)
        task_failed(e, task);
    if (ending->change.outcome != CAIRN_COMPLETED && is_handler(e, task))
        handler_ended(e, task);
    for (uint32_t i = 0; i < ending->skipped.n; i++)
        if (is_handler(e, ending->skipped.at[i].task))
            handler_ended(e, ending->skipped.at[i].task);
}

void failure_follow(struct engine *e)
{
    const struct ending *ending;
    while ((ending = turn_next_settled(e)))
        follow(e, ending);
}
