/* SPDX-License-Identifier: MIT */
/* Random workflows with groups, pools, priorities, `when`, conditions, external tasks
 * and `finally`, for the scheduler, the decision and the simulator. */
#ifndef TESTS_SUPPORT_FLOW_H
#define TESTS_SUPPORT_FLOW_H

#include "tests/support/graph.h"

struct flow_taste { /* each one of so many; 0: none at all */
    uint32_t tasks; /* at most */
    uint32_t when, condition, external, finally, once, retry;
};

bool flow_one_of(uint64_t *seed, uint32_t n);
/* The whole of a group, one member, or a part of it. */
void flow_need(struct definition *d, struct task_def *def, uint32_t target,
               uint64_t *seed);
void flow_pools(struct definition *d, uint64_t *seed);
void flow_members(struct definition *d, struct task_def *def, uint64_t *seed);
void flow_task(struct definition *d, const struct flow_taste *taste, bool finally,
               uint64_t *seed);
void flow_needs(struct definition *d, uint32_t index, uint32_t first, uint32_t dense,
                uint64_t *seed);
void flow_define(struct definition *d, const struct flow_taste *taste, uint64_t *seed);
/* Until one has tasks at all. */
void flow_build(struct graph *g, struct definition *d, const struct flow_taste *taste,
                uint64_t *seed);
/* Is the task needed by this edge, itself or as a member of a group? */
static inline bool flow_edge_has(const struct graph *g, uint32_t edge, uint32_t task)
{
    uint32_t need = g->needs[edge];
    bool found = need == task;
    for (uint32_t e = g->need_start[need];
         graph_is_barrier(g, need) && e < g->need_start[need + 1]; e++)
        found |= g->needs[e] == task;
    return found;
}

#endif
