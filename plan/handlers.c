/* SPDX-License-Identifier: MIT */
#include "plan/handlers.h"

struct handler_search {
    const struct graph *graph;
    bool (*is)(const void *context, uint32_t handler);
    const void *context;
};

static bool is_such_handler(const void *context, uint32_t dependent)
{
    const struct handler_search *search = context;
    return task_is_handler(graph_def(search->graph, dependent)) &&
           search->is(search->context, dependent);
}

bool failure_has_handler(const struct graph *graph, uint32_t task,
                         bool (*is)(const void *context, uint32_t handler),
                         const void *context)
{
    struct handler_search search = {graph, is, context};
    return graph_any_dependent(graph, task, is_such_handler, &search);
}

struct recorded_outcomes {
    const struct states *states;
    const uint32_t *number;
};

static bool has_completed(const void *context, uint32_t task)
{
    const struct recorded_outcomes *r = context;
    uint32_t number = r->number ? r->number[task] : task;
    return number != NODE_NONE && r->states->outcome[number] == CAIRN_COMPLETED;
}

bool failure_is_handled(const struct graph *graph, uint32_t task,
                        const struct states *states, const uint32_t *number)
{
    struct recorded_outcomes recorded = {states, number};
    return failure_has_handler(graph, task, has_completed, &recorded);
}
