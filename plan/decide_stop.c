/* SPDX-License-Identifier: MIT */
/* A failure that is to be expected stops the run, unless on_failure is continue: what
 * is sure to run then is only what comes before it. */
#include "plan/decide_int.h"

#include "plan/choice.h"
#include "plan/handlers.h"

#include <stdlib.h>

/* `marked`: what is sure to have ended before `task` starts, and itself. A need that
 * does not run, or may not, lets a task go before its own needs have ended. */
static void mark_needed(const struct judge *j, uint32_t task, uint8_t *marked)
{
    const struct graph *g = j->in->graph;
    marked[task] = 1;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        uint32_t node = g->order[i];
        bool follow = marked[node] && (node == task || j->out->fate[node] & FATE_WILL);
        for (uint32_t e = g->need_start[node]; follow && e < g->need_start[node + 1];
             e++)
            marked[g->needs[e]] = 1;
    }
}

/* As certain as that can be of a task that has not run yet. */
static bool is_sure_to_complete(const void *context, uint32_t handler)
{
    const struct judge *j = context;
    return j->out->fate[handler] & (FATE_COMPLETED | FATE_WILL);
}

/* `stopper`: the first task whose failure may stop the run before a node runs. */
static void set_stopper_of_unmarked(const struct graph *g, const uint8_t *marked,
                                    uint32_t task, uint32_t *stopper)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (!marked[i] && stopper[i] == NODE_NONE)
            stopper[i] = task;
}

/* Nodes that run before all of the tasks that failed last time keep NODE_NONE. If many
 * failed, no node does: that is cautious, and cheap. */
static int find_stoppers(const struct judge *j, uint32_t *stopper)
{
    enum { MANY = 16 };
    const struct graph *g = j->in->graph;
    uint8_t *marked = malloc(g->n_nodes);
    uint32_t n = 0;
    if (!marked)
        return CAIRN_ENOMEM;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        stopper[i] = NODE_NONE;
    for (uint32_t task = 0; task < g->n_tasks; task++) {
        bool stays = j->out->fate[task] & FATE_FAILED &&
                     !failure_has_handler(g, task, is_sure_to_complete, j);
        if (!(j->out->fate[task] & FATE_RISK) && !stays)
            continue;
        bool last = ++n > MANY || stays;
        memset(marked, 0, g->n_nodes);
        if (!last)
            mark_needed(j, task, marked);
        set_stopper_of_unmarked(g, marked, task, stopper);
        if (last)
            break;
    }
    free(marked);
    return n ? 1 : 0;
}

/* Unless the run continues after failures, only what such a task needs is sure to run.
 */
int apply_stop_on_failure(struct judge *j)
{
    const struct graph *g = j->in->graph;
    if (choice_on_failure(g->definition, j->in->on_failure) == ON_FAILURE_CONTINUE)
        return 0;
    uint32_t *stopper = malloc(g->n_nodes * sizeof *stopper);
    int any = stopper ? find_stoppers(j, stopper) : CAIRN_ENOMEM;
    for (uint32_t task = 0; any > 0 && task < g->n_tasks; task++) {
        uint16_t *fate = &j->out->fate[task];
        if (!(*fate & FATE_WILL) || stopper[task] == NODE_NONE ||
            graph_def(g, task)->finally)
            continue;
        *fate = (uint16_t)((*fate & ~FATE_WILL) | FATE_MAY);
        if (j->out->cause[task] == NODE_NONE && stopper[task] != task)
            j->out->cause[task] = stopper[task];
        j->out->will--;
        j->out->may++;
    }
    free(stopper);
    return any < 0 ? any : 0;
}
