/* SPDX-License-Identifier: MIT */
/* What the files of the scheduler share. */
#ifndef PLAN_SCHED_INT_H
#define PLAN_SCHED_INT_H

#include "plan/sched.h"

#include <assert.h>

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

/* The diagram in sched.h. Looks at every task, so only debug builds do (DEBUG=1). */
static inline void check_transition(const struct sched *s)
{
#ifdef CAIRN_DEBUG
    assert(sched_consistent(s));
#else
    (void)s;
#endif
}

/* Nothing is left that it waits for. */
void sched_make_ready(struct sched *s, uint32_t task);
/* It is taken no more: what it held of its pool goes to others. */
void sched_undo_take(struct sched *s, uint32_t task);

#endif
