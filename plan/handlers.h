/* SPDX-License-Identifier: MIT */
/* What counts as handled: a failure, by a task that needs the failed one (or its group)
 * with `when: failed`, once that has completed. The same for what is planned and for
 * what runs. */
#ifndef PLAN_HANDLERS_H
#define PLAN_HANDLERS_H

#include "checkpoint/states.h"
#include "graph/graph.h"

/* Runs only after failures. */
static inline bool task_is_handler(const struct task_def *def)
{
    return def->when == WHEN_FAILED;
}
/* Is there a handler of the task's failure for which `is` holds? */
bool failure_has_handler(const struct graph *graph, uint32_t task,
                         bool (*is)(const void *context, uint32_t handler),
                         const void *context);
/* Has one completed? `number` [n_tasks]: of each task in `states`, or NODE_NONE; NULL:
 * the graph's own. */
bool failure_is_handled(const struct graph *graph, uint32_t task,
                        const struct states *states, const uint32_t *number);

#endif
