/* SPDX-License-Identifier: MIT */
/* The diagram in sched.h, looked at as a whole. */
#include "plan/sched_int.h"

/* Every entry is in the state that the queue is for, and none is better than the one
 * above it. */
static bool queue_consistent(const struct sched *s, const struct heap *heap,
                             enum sched_state state)
{
    for (uint32_t i = 0; i < heap->n; i++)
        if (s->state[heap->at[i].task] != state ||
            (i && starts_before(heap->at[i], heap->at[(i - 1) / 2])))
            return false;
    return true;
}

/* Taken tasks hold the places, and for each free place a parked task was made ready
 * (which may find it lost to a better one, and is parked again). */
static bool pool_consistent(const struct sched *s, uint32_t pool)
{
    uint32_t taken = 0, ready = 0, limit = s->graph->definition->pools[pool].limit;
    for (uint32_t i = 0; i < s->graph->n_tasks; i++) {
        taken += pool_of(s, i) == pool && s->state[i] == TAKEN;
        ready += pool_of(s, i) == pool && s->state[i] == READY;
    }
    if (taken != s->pool_used[pool]) /* more than the limit: sched_take_tasks */
        return false;
    return (!s->parked[pool].n || taken + ready >= limit) &&
           queue_consistent(s, &s->parked[pool], PARKED);
}

bool sched_consistent(const struct sched *s)
{
    uint32_t count[ENDED + 1] = {0}, parked = 0;
    for (uint32_t i = 0; i < s->graph->n_tasks; i++) {
        count[s->state[i]]++;
        if (s->state[i] != ENDED && (s->state[i] == WAITING) != (s->waiting[i] > 0))
            return false;
        if ((s->state[i] == SHELVED) && is_allowed(s, i))
            return false;
    }
    for (uint32_t p = 0; p < s->graph->definition->n_pools; p++) {
        parked += s->parked[p].n;
        if (!pool_consistent(s, p))
            return false;
    }
    return queue_consistent(s, &s->ready, READY) &&
           s->graph->n_tasks - count[ENDED] == s->open && count[READY] == s->ready.n &&
           count[TAKEN] == s->taken && count[HELD] == s->held &&
           count[OFFERED] == s->offered && count[SHELVED] == s->shelved &&
           count[PARKED] == parked;
}
