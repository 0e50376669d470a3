/* See sched.h for the states. Cost per step: O(log ready) for the queue and O(users)
 * for releasing; nothing is proportional to the number of tasks. */
#include "executor/sched.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Order: a binary heap of tasks ---- */

static bool before(const struct graph *g, uint32_t a, uint32_t b)
{
    int32_t pa = graph_def(g, a)->priority, pb = graph_def(g, b)->priority;
    if (pa != pb)
        return pa > pb;
    if (g->height[a] != g->height[b])
        return g->height[a] > g->height[b];
    return a < b;
}

static void heap_push(struct heap *heap, const struct graph *g, uint32_t task)
{
    uint32_t i = heap->n++;
    while (i > 0 && before(g, task, heap->at[(i - 1) / 2])) {
        heap->at[i] = heap->at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap->at[i] = task;
}

static uint32_t heap_pop(struct heap *heap, const struct graph *g)
{
    uint32_t top = heap->at[0], last = heap->at[--heap->n];
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= heap->n)
            break;
        if (child + 1 < heap->n && before(g, heap->at[child + 1], heap->at[child]))
            child++;
        if (!before(g, heap->at[child], last))
            break;
        heap->at[i] = heap->at[child];
        i = child;
    }
    heap->at[i] = last;
    return top;
}

/* ---- Pools ---- */

static uint32_t pool_of(const struct sched *s, uint32_t task)
{
    return graph_def(s->graph, task)->pool;
}

static bool pool_full(const struct sched *s, uint32_t pool)
{
    return pool != UINT32_MAX &&
           s->pool_used[pool] >= s->graph->definition->pools[pool].limit;
}

static void make_ready(struct sched *s, uint32_t task)
{
    s->state[task] = READY;
    heap_push(&s->ready, s->graph, task);
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
        make_ready(s, heap_pop(&s->parked[pool], s->graph));
}

uint32_t sched_take(struct sched *s)
{
    while (s->ready.n) {
        uint32_t task = heap_pop(&s->ready, s->graph);
        uint32_t pool = pool_of(s, task);
        if (pool_full(s, pool)) {
            s->state[task] = PARKED;
            heap_push(&s->parked[pool], s->graph, task);
            continue;
        }
        if (pool != UINT32_MAX)
            s->pool_used[pool]++;
        s->state[task] = TAKEN;
        s->taken++;
        return task;
    }
    return NODE_NONE;
}

static void untake(struct sched *s, uint32_t task)
{
    assert(s->state[task] == TAKEN);
    s->taken--;
    leave_pool(s, task);
}

void sched_return(struct sched *s, uint32_t task)
{
    untake(s, task);
    make_ready(s, task);
}

void sched_hold(struct sched *s, uint32_t task)
{
    untake(s, task);
    s->state[task] = HELD;
    s->held++;
}

void sched_again(struct sched *s, uint32_t task)
{
    assert(s->state[task] == HELD);
    s->held--;
    make_ready(s, task);
}

/* ---- The end of a task ---- */

static void end_node(struct sched *s, uint32_t node)
{
    s->state[node] = ENDED;
    if (!graph_is_barrier(s->graph, node))
        s->open--;
}

/* A need of every user of `node` is met. A barrier that is complete meets its own
 * users' needs in turn; barriers need only tasks, so that goes one level deep. */
static void meet_users(struct sched *s, uint32_t node)
{
    const struct graph *g = s->graph;
    for (uint32_t e = g->user_start[node]; e < g->user_start[node + 1]; e++) {
        uint32_t user = g->users[e];
        assert(s->waiting[user] > 0);
        if (--s->waiting[user] || s->state[user] != WAITING)
            continue;
        if (!graph_is_barrier(g, user)) {
            make_ready(s, user);
            continue;
        }
        end_node(s, user);
        for (uint32_t f = g->user_start[user]; f < g->user_start[user + 1]; f++) {
            uint32_t task = g->users[f];
            if (--s->waiting[task] == 0 && s->state[task] == WAITING)
                make_ready(s, task);
        }
    }
}

static void skip_users(struct sched *s, uint32_t failed,
                       void (*skipped)(void *, uint32_t), void *context)
{
    const struct graph *g = s->graph;
    uint32_t head = 0, tail = 0;
    s->work[tail++] = failed;
    while (head < tail) {
        uint32_t node = s->work[head++];
        for (uint32_t e = g->user_start[node]; e < g->user_start[node + 1]; e++) {
            uint32_t user = g->users[e];
            if (s->state[user] != WAITING)
                continue;
            end_node(s, user);
            s->work[tail++] = user;
            if (!graph_is_barrier(g, user) && skipped)
                skipped(context, user);
        }
    }
}

void sched_end(struct sched *s, uint32_t task, enum cairn_outcome outcome,
               void (*skipped)(void *, uint32_t task), void *context)
{
    if (s->state[task] == HELD)
        s->held--;
    else
        untake(s, task);
    end_node(s, task);
    if (outcome == CAIRN_COMPLETED)
        meet_users(s, task);
    else if (outcome == CAIRN_FAILED)
        skip_users(s, task, skipped, context);
}

/* ---- Life ---- */

static int allocate(struct sched *s, struct cairn_error *error)
{
    const struct graph *g = s->graph;
    uint32_t pools = g->definition->n_pools;
    s->state = calloc(g->n_nodes, 1);
    s->waiting = malloc(g->n_nodes * sizeof *s->waiting);
    s->work = malloc(((size_t)g->n_nodes + 1) * sizeof *s->work);
    s->ready.at = malloc(g->n_tasks * sizeof(uint32_t));
    s->parked = calloc((size_t)pools + 1, sizeof *s->parked);
    s->pool_used = calloc((size_t)pools + 1, sizeof *s->pool_used);
    if (!s->state || !s->waiting || !s->work || !s->ready.at || !s->parked ||
        !s->pool_used)
        return error_nomem(error);
    for (uint32_t p = 0; p < pools; p++) {
        size_t members = 0;
        for (uint32_t i = 0; i < g->definition->n_defs; i++)
            if (g->definition->defs[i].pool == p)
                members += g->definition->defs[i].members;
        s->parked[p].at = malloc((members ? members : 1) * sizeof(uint32_t));
        if (!s->parked[p].at)
            return error_nomem(error);
    }
    return 0;
}

int sched_init(struct sched *sched, const struct graph *graph, const uint8_t *outcome,
               struct cairn_error *error)
{
    struct sched s = {.graph = graph, .open = graph->n_tasks};
    int result = allocate(&s, error);
    if (result) {
        sched_release(&s);
        return result;
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        uint32_t node = graph->order[i], unmet = 0;
        for (uint32_t e = graph->need_start[node]; e < graph->need_start[node + 1];
             e++) {
            uint32_t need = graph->needs[e];
            bool met = graph_is_barrier(graph, need) ? s.state[need] == ENDED
                                                     : outcome[need] == CAIRN_COMPLETED;
            unmet += !met;
        }
        s.waiting[node] = unmet;
        if (graph_is_barrier(graph, node) ? !unmet : outcome[node] != CAIRN_PENDING)
            end_node(&s, node);
        else if (!unmet)
            make_ready(&s, node);
    }
    *sched = s;
    return 0;
}

void sched_release(struct sched *s)
{
    free(s->state);
    free(s->waiting);
    free(s->work);
    free(s->ready.at);
    for (uint32_t p = 0; s->parked && p < s->graph->definition->n_pools; p++)
        free(s->parked[p].at);
    free(s->parked);
    free(s->pool_used);
    *s = (struct sched){0};
}

/* Every entry is in the state that the queue is for, and none is better than the one
 * above it. */
static bool queue_consistent(const struct sched *s, const struct heap *heap,
                             enum sched_state state)
{
    for (uint32_t i = 0; i < heap->n; i++)
        if (s->state[heap->at[i]] != state ||
            (i && before(s->graph, heap->at[i], heap->at[(i - 1) / 2])))
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
    if (taken != s->pool_used[pool] || taken > limit)
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
    }
    for (uint32_t p = 0; p < s->graph->definition->n_pools; p++) {
        parked += s->parked[p].n;
        if (!pool_consistent(s, p))
            return false;
    }
    return queue_consistent(s, &s->ready, READY) &&
           s->graph->n_tasks - count[ENDED] == s->open && count[READY] == s->ready.n &&
           count[TAKEN] == s->taken && count[HELD] == s->held &&
           count[PARKED] == parked;
}
