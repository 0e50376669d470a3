/* SPDX-License-Identifier: MIT */
/* What the scheduler shares with its check. */
#ifndef PLAN_SCHED_INT_H
#define PLAN_SCHED_INT_H

#include "plan/sched.h"

static inline bool starts_before(struct heap_entry a, struct heap_entry b)
{
    if (a.priority != b.priority)
        return a.priority > b.priority;
    if (a.height != b.height)
        return a.height > b.height;
    return a.task < b.task;
}

static inline uint32_t pool_of(const struct sched *s, uint32_t task)
{
    return graph_def(s->graph, task)->pool;
}

static inline bool is_allowed(const struct sched *s, uint32_t task)
{
    return s->allowed & sched_kind_of(graph_def(s->graph, task)) &&
           !(s->aside && s->aside[task]);
}

#endif
