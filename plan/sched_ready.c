/* SPDX-License-Identifier: MIT */
/* What is ready, and may start next: by priority, critical path and file order, as far
 * as pools have room. O(log ready) for each step. */
#include "plan/sched_int.h"

#include "base/heap.h"

#include <assert.h>

/* ---- Order: a binary heap of tasks ---- */

HEAP_OF(entries, struct heap_entry, starts_before)

static void heap_add(struct heap *heap, const struct graph *g, uint32_t task)
{
    struct heap_entry entry = {graph_def(g, task)->priority, g->height[task], task};
    entries_push(heap->at, &heap->n, entry);
}

static uint32_t heap_pop(struct heap *heap)
{
    return entries_pop(heap->at, &heap->n).task;
}

/* ---- Pools ---- */

static bool pool_full(const struct sched *s, uint32_t pool)
{
    return pool != UINT32_MAX &&
           s->pool_used[pool] >= s->graph->definition->pools[pool].limit;
}

enum sched_kind sched_kind_of(const struct task_def *def)
{
    if (def->finally)
        return SCHED_FINALLY;
    return def->when == WHEN_SUCCESS ? SCHED_ORDINARY : SCHED_HANDLERS;
}

void sched_make_ready(struct sched *s, uint32_t task)
{
    assert(s->waiting[task] == 0);
    if (!is_allowed(s, task)) {
        s->state[task] = SHELVED;
        s->shelved++;
        return;
    }
    s->state[task] = READY;
    heap_add(&s->ready, s->graph, task);
}

static void end_hold(struct sched *s, uint32_t task)
{
    assert(s->state[task] == HELD && s->held > 0);
    s->held--;
    sched_make_ready(s, task);
}

void sched_allow(struct sched *s, uint8_t kinds)
{
    s->allowed = kinds;
    s->ready.n = s->shelved = 0;
    for (uint32_t p = 0; p < s->graph->definition->n_pools; p++)
        s->parked[p].n = 0;
    for (uint32_t task = 0; task < s->graph->n_tasks; task++) {
        if (s->state[task] == READY || s->state[task] == PARKED ||
            s->state[task] == SHELVED)
            sched_make_ready(s, task);
        else if (s->state[task] == HELD && !is_allowed(s, task))
            end_hold(s, task);
    }
    check_transition(s);
}

void sched_set_aside(struct sched *s, const uint8_t *aside)
{
    s->aside = aside;
    sched_allow(s, s->allowed);
}

/* A place in the pool is free again: the best parked task gets ready. */
static void leave_pool(struct sched *s, uint32_t task)
{
    uint32_t pool = pool_of(s, task);
    if (pool == UINT32_MAX)
        return;
    assert(s->pool_used[pool] > 0);
    s->pool_used[pool]--;
    if (s->parked[pool].n)
        sched_make_ready(s, heap_pop(&s->parked[pool]));
}

uint32_t sched_take(struct sched *s)
{
    while (s->ready.n) {
        uint32_t task = heap_pop(&s->ready);
        uint32_t pool = pool_of(s, task);
        assert(s->state[task] == READY);
        if (pool_full(s, pool)) {
            s->state[task] = PARKED;
            heap_add(&s->parked[pool], s->graph, task);
            continue;
        }
        if (pool != UINT32_MAX)
            s->pool_used[pool]++;
        s->state[task] = TAKEN;
        s->taken++;
        check_transition(s);
        return task;
    }
    return NODE_NONE;
}

/* Makes the ready queue anew without what is not ready any more. */
static void rebuild_ready(struct sched *s)
{
    uint32_t n = s->ready.n;
    s->ready.n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (s->state[s->ready.at[i].task] == READY)
            entries_push(s->ready.at, &s->ready.n, s->ready.at[i]);
}

void sched_take_tasks(struct sched *s, const uint32_t *tasks, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pool = pool_of(s, tasks[i]);
        assert(s->state[tasks[i]] == READY);
        if (pool != UINT32_MAX)
            s->pool_used[pool]++;
        s->state[tasks[i]] = TAKEN;
        s->taken++;
    }
    if (n)
        rebuild_ready(s);
    check_transition(s);
}

void sched_undo_take(struct sched *s, uint32_t task)
{
    assert(s->state[task] == TAKEN && s->taken > 0);
    s->taken--;
    leave_pool(s, task);
}

void sched_return(struct sched *s, uint32_t task)
{
    sched_undo_take(s, task);
    sched_make_ready(s, task);
    check_transition(s);
}

void sched_hold(struct sched *s, uint32_t task)
{
    sched_undo_take(s, task);
    s->state[task] = HELD;
    s->held++;
    check_transition(s);
}

void sched_again(struct sched *s, uint32_t task)
{
    end_hold(s, task);
    check_transition(s);
}

void sched_offer(struct sched *s, uint32_t task)
{
    sched_undo_take(s, task);
    s->state[task] = OFFERED;
    s->offered++;
    check_transition(s);
}
