/* SPDX-License-Identifier: MIT */
/* What follows a failure: the run stops, unless a handler may still run. The facts are
 * the settled endings of the turn; each is looked at once. */
#include "executor/engine.h"

#include "plan/handlers.h"

static bool has_not_ended(const void *context, uint32_t handler)
{
    const struct engine *e = context;
    return e->sched.state[handler] != ENDED;
}

bool failure_unhandled(const struct engine *e, uint32_t task, bool still_open)
{
    return !failure_is_handled(e->graph, task, &e->states, NULL) &&
           !(still_open && failure_has_handler(e->graph, task, has_not_ended, e));
}

static void task_failed(struct engine *e, uint32_t task)
{
    char text[256];
    if (e->graph->definition->on_failure == ON_FAILURE_CONTINUE ||
        e->phase != PHASE_MAIN || e->halt || !failure_unhandled(e, task, true))
        return;
    snprintf(text, sizeof text, "%s failed", e->graph->id[task]);
    halt_run(e, HALT_FAILURE, text);
}

/* What failed while nobody ran the workflow stops it now. */
void failure_recall(struct engine *e)
{
    for (uint32_t task = 0; task < e->graph->n_tasks; task++)
        if (e->states.outcome[task] == CAIRN_FAILED &&
            !graph_def(e->graph, task)->finally)
            task_failed(e, task);
}

/* A task with `when: failed` ended without completing. */
static void handler_ended(struct engine *e, uint32_t task)
{
    const struct graph *g = e->graph;
    for (uint32_t i = g->need_start[task]; i < g->need_start[task + 1]; i++) {
        uint32_t need = g->needs[i];
        if (!graph_is_barrier(g, need)) {
            if (e->states.outcome[need] == CAIRN_FAILED)
                task_failed(e, need);
            continue;
        }
        for (uint32_t k = g->need_start[need]; k < g->need_start[need + 1]; k++)
            if (e->states.outcome[g->needs[k]] == CAIRN_FAILED)
                task_failed(e, g->needs[k]);
    }
}

static bool is_handler(const struct engine *e, uint32_t task)
{
    return task_is_handler(graph_def(e->graph, task));
}

static void follow(struct engine *e, const struct ending *ending)
{
    uint32_t task = ending->change.task;
    if (ending->change.outcome == CAIRN_FAILED)
        task_failed(e, task);
    if (ending->change.outcome != CAIRN_COMPLETED && is_handler(e, task))
        handler_ended(e, task);
    for (uint32_t i = 0; i < ending->n_skipped; i++)
        if (is_handler(e, ending->skipped[i].task))
            handler_ended(e, ending->skipped[i].task);
}

void failure_follow(struct engine *e)
{
    for (; e->followed < e->n_endings; e->followed++)
        if (e->endings[e->followed].settled)
            follow(e, &e->endings[e->followed]);
}
