/* SPDX-License-Identifier: MIT */
/* What is ready, and may start next: by priority, critical path and file order, as far
 * as pools have room. O(log ready) for each step. */
#include "plan/sched.h"

#include "base/memory.h"
#include "base/os.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* EARLY: it has ended before all that it needs (it was skipped because of another
 * need, or decided, or kept), so those that need it wait on. TOLD: those that can never
 * run because of it know. LIVE: sched_release_handlers. Only barriers have
 * NEED_EXCLUDED and NEED_MET: to a task that needs it directly, an excluded one is bad.
 * WANTED: a service that a task awaits, or has awaited. */
enum {
    NEED_FAILED = 1,
    NEED_BAD = 2,
    EARLY = 4,
    TOLD = 8,
    LIVE = 16,
    NEED_EXCLUDED = 32,
    NEED_MET = 64,
    WANTED = 128,
    NEED_LOST = NEED_FAILED | NEED_BAD
};

static bool starts_before(struct heap_entry a, struct heap_entry b)
{
    if (a.priority != b.priority)
        return a.priority > b.priority;
    if (a.height != b.height)
        return a.height > b.height;
    return a.task < b.task;
}

static bool is_allowed(const struct sched *s, uint32_t task)
{
    return s->allowed & sched_kind_of(graph_def(s->graph, task)) &&
           !(s->aside && s->aside[task]);
}

/* The diagram in sched.h. Looks at every task, so only debug builds do (DEBUG=1). */
static void check_transition(const struct sched *s)
{
#ifdef CAIRN_DEBUG
    assert(sched_consistent(s));
#else
    (void)s;
#endif
}

/* ---- Order: a binary heap of tasks ---- */

HEAP_OF(entries, struct heap_entry, starts_before)

static struct heap_entry entry_of(const struct graph *g, uint32_t task)
{
    return (struct heap_entry){graph_def(g, task)->priority, g->height[task], task};
}

bool sched_starts_before(const struct graph *g, uint32_t task, uint32_t other,
                         bool by_priority)
{
    struct heap_entry a = entry_of(g, task), b = entry_of(g, other);
    return by_priority ? a.priority > b.priority : starts_before(a, b);
}

static uint32_t heap_pop(struct heap *heap)
{
    return entries_pop(heap->at, &heap->n).task;
}

/* ---- Pools, and memory ---- */

/* Memory is one more pool behind those of the workflow, in MiB. */
static uint32_t n_uses(const struct task_def *def)
{
    return def->n_pools + (def->memory > 0);
}

static struct pool_use use_of(const struct sched *s, const struct task_def *def,
                              uint32_t i)
{
    return i < def->n_pools
               ? def->pools[i]
               : (struct pool_use){s->graph->definition->n_pools, def->memory};
}

static uint32_t limit_of(const struct sched *s, uint32_t pool)
{
    const struct definition *d = s->graph->definition;
    return pool < d->n_pools ? d->pools[pool].limit : s->memory;
}

/* A task that cannot have all its places waits in the queue of each of its pools, and
 * holds none. It goes on once there is room in all of them and nobody stands before it
 * in any: so nobody overtakes it, however much it needs, and the best of all who wait
 * only waits for tasks that run. */

static bool has_room(const struct sched *s, const struct task_def *def)
{
    for (uint32_t i = 0; i < n_uses(def); i++) {
        struct pool_use use = use_of(s, def, i);
        if (s->closed[use.pool] ||
            (uint64_t)s->pool_used[use.pool] + use.places > limit_of(s, use.pool))
            return false;
    }
    return true;
}

static bool comes_first(const struct sched *s, const struct task_def *def,
                        struct heap_entry entry)
{
    for (uint32_t i = 0; i < n_uses(def); i++) {
        const struct heap *queue = &s->parked[use_of(s, def, i).pool];
        if (queue->n && starts_before(queue->at[0], entry))
            return false;
    }
    return true;
}

/* Has it what it needs of its pools, if it asks now? */
static bool may_have_places(const struct sched *s, uint32_t task)
{
    const struct task_def *def = graph_def(s->graph, task);
    return has_room(s, def) && comes_first(s, def, entry_of(s->graph, task));
}

static void take_places(struct sched *s, uint32_t task)
{
    const struct task_def *def = graph_def(s->graph, task);
    for (uint32_t i = 0; i < n_uses(def); i++)
        s->pool_used[use_of(s, def, i).pool] += use_of(s, def, i).places;
    s->state[task] = TAKEN;
    s->taken++;
    s->taken_slots += task_def_slots(def);
}

static void park(struct sched *s, uint32_t task)
{
    const struct task_def *def = graph_def(s->graph, task);
    s->state[task] = PARKED;
    for (uint32_t i = 0; i < n_uses(def); i++) {
        struct heap *queue = &s->parked[use_of(s, def, i).pool];
        entries_push(queue->at, &queue->n, entry_of(s->graph, task));
    }
}

uint32_t memory_of(const struct definition *d, uint32_t given)
{
    uint64_t mib = given ? given : d->memory ? d->memory : os_memory_bytes() >> 20;
    return mib < UINT32_MAX ? (uint32_t)mib : UINT32_MAX;
}

int memory_check(const struct definition *d, uint32_t given, struct cairn_error *error)
{
    uint32_t most = memory_of(d, given);
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (d->defs[i].memory > most)
            return error_set(error, CAIRN_EUSAGE,
                             "task %.*s takes %uM of memory, and tasks have %uM "
                             "together%s: lower its `memory`, or allow more with "
                             "--memory %uM or `memory: %uM` at the top of the file",
                             (int)d->defs[i].id.len, d->defs[i].id.ptr,
                             d->defs[i].memory, most,
                             given       ? " (--memory)"
                             : d->memory ? ""
                                         : " on this machine",
                             d->defs[i].memory, d->defs[i].memory);
    return 0;
}

enum sched_kind sched_kind_of(const struct task_def *def)
{
    if (def->finally)
        return SCHED_FINALLY;
    return def->when == WHEN_SUCCESS ? SCHED_ORDINARY : SCHED_HANDLERS;
}

/* ---- Services, and who needs them ---- */

/* Or a group of them. */
static bool is_service(const struct sched *s, uint32_t node)
{
    return s->left && task_def_is_service(graph_def(s->graph, node));
}

static bool uses_services(const struct sched *s, uint32_t node)
{
    return s->left && !graph_is_barrier(s->graph, node) &&
           task_def_uses_services(s->graph->definition, graph_def(s->graph, node));
}

/* Needs of a task, or dependents of a service, with those behind the barriers of groups
 * of services among them, without those of other groups. */
struct walk {
    const uint32_t *start, *nodes;
    uint32_t at, end;
    uint32_t inner, inner_end; /* of the barrier before `at` */
};

static struct walk walk_from(const uint32_t *start, const uint32_t *nodes,
                             uint32_t node)
{
    return (struct walk){start, nodes, start[node], start[node + 1], 0, 0};
}

/* NODE_NONE past the last one. */
static uint32_t walk_next(const struct graph *g, struct walk *w)
{
    while (w->inner == w->inner_end) {
        if (w->at == w->end)
            return NODE_NONE;
        uint32_t node = w->nodes[w->at++];
        if (!graph_is_barrier(g, node))
            return node;
        if (!task_def_is_service(graph_def(g, node)))
            continue;
        w->inner = w->start[node];
        w->inner_end = w->start[node + 1];
    }
    return w->nodes[w->inner++];
}

static struct walk users_of(const struct sched *s, uint32_t service)
{
    return walk_from(s->graph->dependent_start, s->graph->dependents, service);
}

/* Of a task without any, also not looked at one by one. */
static struct walk services_of(const struct sched *s, uint32_t task)
{
    return uses_services(s, task)
               ? walk_from(s->graph->need_start, s->graph->needs, task)
               : (struct walk){0};
}

static uint32_t next_service(const struct sched *s, struct walk *w)
{
    uint32_t node = walk_next(s->graph, w);
    while (node != NODE_NONE && !is_service(s, node))
        node = walk_next(s->graph, w);
    return node;
}

/* A member of a group that its condition left out is not missed; that it was not the
 * only one is seen when it ends. */
static bool is_missing(const struct sched *s, uint32_t service)
{
    return s->state[service] != UP &&
           !(s->state[service] == ENDED && s->end[service] == END_EXCLUDED);
}

uint32_t sched_missing_service(const struct sched *s, uint32_t task)
{
    struct walk w = services_of(s, task);
    uint32_t service = next_service(s, &w);
    while (service != NODE_NONE && !is_missing(s, service))
        service = next_service(s, &w);
    return service;
}

bool sched_is_served(const struct sched *s, uint32_t task)
{
    return sched_missing_service(s, task) == NODE_NONE;
}

bool sched_is_used(const struct sched *s, uint32_t service)
{
    struct walk w = users_of(s, service);
    uint32_t user = walk_next(s->graph, &w);
    while (user != NODE_NONE && s->state[user] != TAKEN && s->state[user] != UP)
        user = walk_next(s->graph, &w);
    return user != NODE_NONE;
}

/* Nothing is left that it waits for. */
static void sched_make_ready(struct sched *s, uint32_t task)
{
    assert(s->waiting[task] == 0);
    if (is_service(s, task) && !(s->flags[task] & WANTED)) {
        s->state[task] = IDLE;
        return;
    }
    if (!is_allowed(s, task)) {
        s->state[task] = SHELVED;
        s->shelved++;
        return;
    }
    s->state[task] = READY;
    entries_push(s->ready.at, &s->ready.n, entry_of(s->graph, task));
}

static void wake_first(struct sched *s, uint32_t pool)
{
    const struct heap *queue = &s->parked[pool];
    uint32_t first = queue->n ? queue->at[0].task : NODE_NONE;
    if (first == NODE_NONE || !may_have_places(s, first))
        return;
    const struct task_def *its = graph_def(s->graph, first);
    for (uint32_t k = 0; k < n_uses(its); k++) {
        uint32_t popped = heap_pop(&s->parked[use_of(s, its, k).pool]);
        assert(popped == first);
        (void)popped;
    }
    sched_make_ready(s, first);
}

/* In a pool of the task there may be room, or another first one: if that one can go on,
 * it gets ready (and may find its place lost to a better one, and is parked again). The
 * next one is looked at when that one is taken. */
static void wake_parked(struct sched *s, uint32_t task)
{
    const struct task_def *def = graph_def(s->graph, task);
    for (uint32_t i = 0; i < n_uses(def); i++)
        wake_first(s, use_of(s, def, i).pool);
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
    for (uint32_t p = 0; p <= s->graph->definition->n_pools; p++)
        s->parked[p].n = 0;
    for (uint32_t task = 0; task < s->graph->n_tasks; task++) {
        if (s->state[task] == READY || s->state[task] == PARKED ||
            s->state[task] == SHELVED || s->state[task] == AWAITING)
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

uint32_t sched_take(struct sched *s)
{
    while (s->ready.n) {
        uint32_t task = heap_pop(&s->ready);
        assert(s->state[task] == READY);
        if (!may_have_places(s, task)) {
            park(s, task);
            continue;
        }
        take_places(s, task);
        wake_parked(s, task);
        check_transition(s);
        return task;
    }
    return NODE_NONE;
}

/* Makes a queue anew without what does not belong there any more. */
static void rebuild_queue(const struct sched *s, struct heap *heap,
                          enum sched_state state)
{
    uint32_t n = heap->n;
    heap->n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (s->state[heap->at[i].task] == state)
            entries_push(heap->at, &heap->n, heap->at[i]);
}

void sched_take_tasks(struct sched *s, const uint32_t *tasks, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        assert(s->state[tasks[i]] == READY);
        take_places(s, tasks[i]);
    }
    if (n)
        rebuild_queue(s, &s->ready, READY);
    for (uint32_t i = 0; i < n; i++)
        wake_parked(s, tasks[i]);
    check_transition(s);
}

static void give_places(struct sched *s, uint32_t task)
{
    const struct task_def *def = graph_def(s->graph, task);
    assert(s->state[task] == TAKEN && s->taken > 0);
    s->taken--;
    s->taken_slots -= task_def_slots(def);
    for (uint32_t i = 0; i < n_uses(def); i++) {
        struct pool_use use = use_of(s, def, i);
        assert(s->pool_used[use.pool] >= use.places);
        s->pool_used[use.pool] -= use.places;
    }
}

/* It is taken no more: what it held of its pools goes to others. */
static void sched_undo_take(struct sched *s, uint32_t task)
{
    if (s->state[task] == UP) {
        s->up--;
        return;
    }
    give_places(s, task);
    wake_parked(s, task);
}

void sched_refuse(struct sched *s, uint32_t task)
{
    const struct task_def *def = graph_def(s->graph, task);
    const struct definition *d = s->graph->definition;
    give_places(s, task);
    park(s, task);
    for (uint32_t i = 0; i < def->n_pools; i++)
        if (d->pools[def->pools[i].pool].shared)
            s->closed[def->pools[i].pool] = true;
    wake_parked(s, task); /* of the other pools */
    check_transition(s);
}

void sched_reopen(struct sched *s)
{
    uint32_t n = s->graph->definition->n_pools;
    memset(s->closed, 0, n);
    for (uint32_t pool = 0; pool < n; pool++)
        wake_first(s, pool);
    check_transition(s);
}

bool sched_waits_for_others(const struct sched *s)
{
    bool waits = false;
    for (uint32_t pool = 0; pool < s->graph->definition->n_pools && !waits; pool++)
        waits = s->closed[pool] && s->parked[pool].n;
    return waits;
}

void sched_await(struct sched *s, uint32_t task)
{
    struct walk w = services_of(s, task);
    uint32_t service;
    sched_undo_take(s, task);
    s->state[task] = AWAITING;
    while ((service = next_service(s, &w)) != NODE_NONE) {
        s->flags[service] |= WANTED;
        if (s->state[service] == IDLE)
            sched_make_ready(s, service);
    }
    check_transition(s);
}

void sched_up(struct sched *s, uint32_t service)
{
    struct walk w = users_of(s, service);
    uint32_t user;
    sched_undo_take(s, service);
    s->state[service] = UP;
    s->up++;
    while ((user = walk_next(s->graph, &w)) != NODE_NONE)
        if (s->state[user] == AWAITING)
            sched_make_ready(s, user); /* another one may still be missing */
    check_transition(s);
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

/* The diagram in sched.h, looked at as a whole. */

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

static uint32_t places_in(const struct sched *s, const struct task_def *def,
                          uint32_t pool)
{
    for (uint32_t i = 0; i < n_uses(def); i++)
        if (use_of(s, def, i).pool == pool)
            return use_of(s, def, i).places;
    return 0;
}

/* A ready task shares a pool with it: what becomes of that one wakes this one. */
static bool is_to_be_woken(const struct sched *s, uint32_t parked)
{
    const struct task_def *def = graph_def(s->graph, parked);
    bool shared = false;
    for (uint32_t i = 0; i < s->graph->n_tasks && !shared; i++)
        for (uint32_t k = 0; k < n_uses(def) && s->state[i] == READY && !shared; k++)
            shared = places_in(s, graph_def(s->graph, i), use_of(s, def, k).pool);
    return shared;
}

/* Taken tasks hold the places, and nobody waits without a reason. */
static bool pool_consistent(const struct sched *s, uint32_t pool)
{
    const struct heap *queue = &s->parked[pool];
    uint64_t taken = 0;
    for (uint32_t i = 0; i < s->graph->n_tasks; i++)
        if (s->state[i] == TAKEN)
            taken += places_in(s, graph_def(s->graph, i), pool);
    if (taken != s->pool_used[pool]) /* more than the limit: sched_take_tasks */
        return false;
    return (!queue->n || !may_have_places(s, queue->at[0].task) ||
            is_to_be_woken(s, queue->at[0].task)) &&
           queue_consistent(s, queue, PARKED);
}

bool sched_consistent(const struct sched *s)
{
    uint32_t count[UP + 1] = {0};
    uint64_t parked = 0; /* of each in all its queues */
    for (uint32_t i = 0; i < s->graph->n_tasks; i++) {
        count[s->state[i]]++;
        if (s->state[i] != ENDED && (s->state[i] == WAITING) != (s->waiting[i] > 0))
            return false;
        if ((s->state[i] == SHELVED) && is_allowed(s, i))
            return false;
        if (s->state[i] == AWAITING && sched_is_served(s, i))
            return false;
        if (s->state[i] == PARKED)
            parked += n_uses(graph_def(s->graph, i));
    }
    for (uint32_t p = 0; p <= s->graph->definition->n_pools; p++) {
        parked -= s->parked[p].n;
        if (!pool_consistent(s, p))
            return false;
    }
    return queue_consistent(s, &s->ready, READY) &&
           s->graph->n_tasks - count[ENDED] == s->open && count[READY] == s->ready.n &&
           count[TAKEN] == s->taken && count[HELD] == s->held &&
           count[OFFERED] == s->offered && count[SHELVED] == s->shelved &&
           count[UP] == s->up && parked == 0;
}

/* What follows from the end of a task, and from how all of them stand at the beginning.
 * See sched.h for the states. O(dependents) for an end; nothing is proportional to the
 * number of tasks. */

/* ---- The end of a task ---- */

enum sched_end_class sched_class(enum cairn_outcome outcome)
{
    switch (outcome) {
    case CAIRN_COMPLETED:
        return END_MET;
    case CAIRN_FAILED:
        return END_FAILED;
    case CAIRN_SKIPPED:
        return END_BAD;
    case CAIRN_EXCLUDED:
        return END_EXCLUDED;
    default:
        return END_OPEN;
    }
}

static bool wants_all(const struct graph *g, uint32_t task)
{
    return task_def_needs_all(g->definition, graph_def(g, task));
}

/* What the end of something that it needs is to `dependent`. */
static uint8_t flag_of(const struct graph *g, uint8_t end, uint32_t dependent,
                       bool soft)
{
    bool group = graph_is_barrier(g, dependent);
    if (soft)
        return 0;
    switch ((enum sched_end_class)end) {
    case END_MET:
        return group ? NEED_MET : 0;
    case END_FAILED:
        return NEED_FAILED;
    case END_BAD:
        return NEED_BAD;
    case END_EXCLUDED:
        return group ? NEED_EXCLUDED : NEED_BAD;
    case END_PARTLY:
        return wants_all(g, dependent) ? NEED_BAD : 0;
    case END_OPEN:
        break;
    }
    return 0;
}

static enum sched_end_class barrier_class(uint8_t flags)
{
    if (flags & NEED_LOST)
        return flags & NEED_FAILED ? END_FAILED : END_BAD;
    if (flags & NEED_EXCLUDED)
        return flags & NEED_MET ? END_PARTLY : END_EXCLUDED;
    return END_MET;
}

/* After it a node is to be looked at, or, of a barrier, those that need it. */
static bool is_first_loss(uint8_t known, uint8_t flag)
{
    return (flag & NEED_LOST && !(known & NEED_LOST)) ||
           (flag & NEED_EXCLUDED && !(known & (NEED_LOST | NEED_EXCLUDED)));
}

static void note_cause(struct sched *s, uint32_t dependent, uint32_t need, uint8_t flag)
{
    if (is_first_loss(s->flags[dependent], flag))
        s->cause[dependent] = need;
    s->flags[dependent] |= flag;
}

uint32_t sched_cause(const struct sched *s, uint32_t task)
{
    if (!(s->flags[task] & NEED_LOST))
        return NODE_NONE;
    uint32_t need = s->cause[task];
    return graph_is_barrier(s->graph, need) ? s->cause[need] : need;
}

/* To those that need it. */
static bool is_open(const struct sched *s, uint32_t node)
{
    return s->end[node] == END_OPEN || s->flags[node] & EARLY;
}

uint32_t sched_open_need(const struct sched *s, uint32_t task)
{
    const struct graph *g = s->graph;
    uint32_t node = task, e = g->need_start[node];
    if (s->state[task] == AWAITING)
        return sched_missing_service(s, task);
    while (e < g->need_start[node + 1]) {
        if (!is_open(s, g->needs[e]) || is_service(s, g->needs[e])) {
            e++;
            continue;
        }
        node = g->needs[e]; /* each is open because of one that comes before it */
        e = g->need_start[node];
        if (!graph_is_barrier(g, node) && !(s->flags[node] & EARLY))
            return node;
    }
    return NODE_NONE;
}

struct propagation { /* what follows from ended nodes */
    struct sched *s;
    uint32_t head, tail; /* of s->work */
    bool services;       /* their users are counted */
    sched_skip_fn *skipped;
    void *context;
};

/* What is not started yet when its last user has ended will not be: its turn comes in
 * the worklist, as that of a node that has not ended. */
static void leave_services(struct propagation *r, uint32_t task)
{
    struct sched *s = r->s;
    struct walk w = services_of(s, task);
    uint32_t service;
    while ((service = next_service(s, &w)) != NODE_NONE) {
        assert(s->left[service] > 0);
        if (--s->left[service] == 0 && s->state[service] != ENDED)
            s->work[r->tail++] = service;
    }
}

static void end_node(struct propagation *r, uint32_t node, enum sched_end_class end)
{
    struct sched *s = r->s;
    if (!graph_is_barrier(s->graph, node) && s->state[node] != ENDED)
        s->open--;
    s->state[node] = ENDED;
    s->end[node] = (uint8_t)end;
    s->flags[node] |= end != END_OPEN && s->waiting[node] ? EARLY : 0;
    if (end == END_OPEN)
        return;
    s->work[r->tail++] = node;
    if (r->services)
        leave_services(r, node);
}

static void skip_task(struct propagation *r, uint32_t task, enum cairn_outcome outcome)
{
    end_node(r, task, sched_class(outcome));
    if (r->skipped)
        r->skipped(r->context, task, outcome);
}

/* A task that waits, after something it needs has changed. */
static void look_at_task(struct propagation *r, uint32_t task)
{
    struct sched *s = r->s;
    uint8_t when = graph_def(s->graph, task)->when;
    if (s->state[task] != WAITING)
        return;
    if (when == WHEN_SUCCESS && s->flags[task] & NEED_LOST)
        skip_task(r, task, CAIRN_SKIPPED);
    else if (s->waiting[task])
        return;
    else if (when == WHEN_FAILED && !(s->flags[task] & NEED_FAILED))
        skip_task(r, task, CAIRN_EXCLUDED);
    else
        sched_make_ready(s, task);
}

/* It will not run, whatever it waits for. Not what runs, or has ended. */
static bool can_be_dropped(const struct sched *s, uint32_t task)
{
    uint8_t state = s->state[task];
    return state != TAKEN && state != UP && state != OFFERED && state != ENDED;
}

/* But for the queue that it stands in. */
static void drop_unqueued(struct propagation *r, uint32_t task,
                          enum cairn_outcome outcome)
{
    struct sched *s = r->s;
    s->shelved -= s->state[task] == SHELVED;
    s->held -= s->state[task] == HELD;
    skip_task(r, task, outcome);
}

static void drop_task(struct propagation *r, uint32_t task, enum cairn_outcome outcome)
{
    struct sched *s = r->s;
    uint8_t state = s->state[task];
    const struct task_def *def = graph_def(s->graph, task);
    if (!can_be_dropped(s, task))
        return;
    drop_unqueued(r, task, outcome);
    if (state == READY)
        rebuild_queue(s, &s->ready, READY);
    for (uint32_t i = 0; i < n_uses(def) && state == PARKED; i++)
        rebuild_queue(s, &s->parked[use_of(s, def, i).pool], PARKED);
    if (state == READY || state == PARKED)
        wake_parked(s, task); /* it stands before nobody any more */
}

/* Among the members of a group of services that one which was left out is missed only if
 * it is the last one, or all are wanted. */
static bool misses_excluded(const struct sched *s, uint32_t task, uint32_t service)
{
    const struct graph *g = s->graph;
    for (uint32_t e = g->need_start[task]; e < g->need_start[task + 1]; e++) {
        uint32_t need = g->needs[e];
        bool others = false, has = need == service;
        if (graph_def(g, need) != graph_def(g, service))
            continue;
        for (uint32_t i = g->need_start[need];
             graph_is_barrier(g, need) && i < g->need_start[need + 1]; i++) {
            has |= g->needs[i] == service;
            others |= s->end[g->needs[i]] != END_EXCLUDED;
        }
        if (has && (!others || wants_all(g, task)))
            return true;
    }
    return false;
}

/* What it means for a task that one of its services is over. */
static uint8_t flag_of_service(const struct sched *s, uint32_t task, uint32_t service)
{
    switch ((enum sched_end_class)s->end[service]) {
    case END_FAILED:
        return NEED_FAILED;
    case END_BAD:
    case END_PARTLY:
        return NEED_BAD;
    case END_EXCLUDED:
        return misses_excluded(s, task, service) ? NEED_BAD : 0;
    case END_OPEN:
    case END_MET:
        break;
    }
    return 0;
}

uint32_t sched_lost_service(const struct sched *s, uint32_t task)
{
    struct walk w = services_of(s, task);
    uint32_t service = next_service(s, &w);
    while (service != NODE_NONE && !flag_of_service(s, task, service))
        service = next_service(s, &w);
    return service;
}

/* A service has ended: who needs it and does not run yet will not. */
static void leave_users(struct propagation *r, uint32_t service)
{
    struct sched *s = r->s;
    struct walk w = users_of(s, service);
    uint32_t user;
    while ((user = walk_next(s->graph, &w)) != NODE_NONE) {
        uint8_t flag = flag_of_service(s, user, service);
        note_cause(s, user, service, flag);
        if (flag)
            drop_task(r, user, CAIRN_SKIPPED);
        else if (s->state[user] == AWAITING && sched_is_served(s, user))
            sched_make_ready(s, user);
    }
}

/* At the first member that did not complete, dependents that want success can never
 * run; at the first excluded one, those of them that need all. */
static void give_up_dependents(struct propagation *r, uint32_t barrier)
{
    bool lost = r->s->flags[barrier] & NEED_LOST;
    const struct graph *g = r->s->graph;
    for (uint32_t e = g->dependent_start[barrier]; e < g->dependent_start[barrier + 1];
         e++) {
        uint32_t dependent = g->dependents[e];
        if (graph_def(g, dependent)->when != WHEN_SUCCESS ||
            graph_dependent_is_soft(g, e) || !(lost || wants_all(g, dependent)))
            continue;
        note_cause(r->s, dependent, barrier, NEED_BAD);
        look_at_task(r, dependent);
    }
}

/* All that it needs has ended: itself it had before. */
static void end_early(struct propagation *r, uint32_t task)
{
    uint8_t flags = r->s->flags[task];
    r->s->flags[task] = flags & (uint8_t) ~(EARLY | TOLD);
    if (flags & TOLD) /* else its turn is still to come */
        r->s->work[r->tail++] = task;
}

/* Twice for a task that has ended while something that it needs had not: those
 * that can never run are told at once; for the others it has ended when all of that
 * has, so that they overtake nothing that comes before it. */
static void notify_dependents(struct propagation *r, uint32_t node)
{
    struct sched *s = r->s;
    const struct graph *g = s->graph;
    bool over = !(s->flags[node] & EARLY);
    s->flags[node] |= over ? 0 : TOLD;
    for (uint32_t e = g->dependent_start[node]; e < g->dependent_start[node + 1]; e++) {
        uint32_t dependent = g->dependents[e];
        uint8_t flag =
            flag_of(g, s->end[node], dependent, graph_dependent_is_soft(g, e));
        bool first = is_first_loss(s->flags[dependent], flag);
        assert(s->waiting[dependent] > 0);
        note_cause(s, dependent, node, flag);
        s->waiting[dependent] -= over;
        bool last = s->waiting[dependent] == 0;
        if (!graph_is_barrier(g, dependent)) {
            look_at_task(r, dependent);
            if (last && s->flags[dependent] & EARLY)
                end_early(r, dependent);
            continue;
        }
        if (first)
            give_up_dependents(r, dependent);
        if (last)
            end_node(r, dependent, barrier_class(s->flags[dependent]));
    }
}

static void propagate_ends(struct propagation *r)
{
    while (r->head < r->tail) {
        uint32_t node = r->s->work[r->head++];
        if (!is_service(r->s, node))
            notify_dependents(r, node);
        else if (r->s->state[node] == ENDED)
            leave_users(r, node);
        else
            drop_task(r, node, CAIRN_EXCLUDED);
    }
}

void sched_end(struct sched *s, uint32_t task, enum cairn_outcome outcome,
               sched_skip_fn *skipped, void *context)
{
    struct propagation r = {
        .s = s, .services = s->left != NULL, .skipped = skipped, .context = context};
    if (s->state[task] == HELD)
        s->held--;
    else if (s->state[task] == OFFERED)
        s->offered--;
    else if (s->state[task] == TAKEN || s->state[task] == UP)
        sched_undo_take(s, task);
    else
        assert(s->state[task] == ENDED && s->end[task] == END_OPEN);
    end_node(&r, task, sched_class(outcome));
    propagate_ends(&r);
    check_transition(s);
}

void sched_drop(struct sched *s, const uint32_t *tasks, uint32_t n,
                sched_skip_fn *skipped, void *context)
{
    struct propagation r = {
        .s = s, .services = s->left != NULL, .skipped = skipped, .context = context};
    for (uint32_t i = 0; i < n; i++)
        if (can_be_dropped(s, tasks[i]))
            drop_unqueued(&r, tasks[i], CAIRN_EXCLUDED);
    rebuild_queue(s, &s->ready, READY);
    for (uint32_t p = 0; p <= s->graph->definition->n_pools; p++)
        rebuild_queue(s, &s->parked[p], PARKED);
    for (uint32_t i = 0; i < n; i++)
        wake_parked(s, tasks[i]);
    propagate_ends(&r);
    check_transition(s);
}

static bool is_wanted_now(const struct sched *s, uint32_t task)
{
    uint8_t when = graph_def(s->graph, task)->when;
    return when == WHEN_ALWAYS || (when == WHEN_FAILED && s->flags[task] & NEED_FAILED);
}

/* A group that ends with this member is released itself when its turn comes. What is
 * not wanted waits on: a resumed run decides. */
static void release_dependent(struct sched *s, uint32_t node)
{
    bool last = s->waiting[node] == 1 && s->state[node] == WAITING;
    bool group = graph_is_barrier(s->graph, node);
    assert(s->waiting[node] > 0);
    if (last && !group && !is_wanted_now(s, node))
        return;
    s->waiting[node]--;
    if (last && group) {
        s->state[node] = ENDED;
        s->end[node] = (uint8_t)barrier_class(s->flags[node]);
        s->flags[node] |= EARLY;
    } else if (last)
        sched_make_ready(s, node);
}

/* Whether a node may still start something: it runs, or waits for one that does. */
static bool may_go_on(const struct sched *s, uint32_t node)
{
    const struct graph *g = s->graph;
    bool live = false;
    for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1] && !live; e++)
        live = s->flags[g->needs[e]] & LIVE;
    switch ((enum sched_state)s->state[node]) {
    case WAITING:
        return live && (graph_is_barrier(g, node) || is_allowed(s, node));
    case ENDED:
        return live && s->flags[node] & EARLY;
    case SHELVED:
    case IDLE:
    case AWAITING:
        return false;
    case READY:
    case PARKED:
    case TAKEN:
    case HELD:
    case OFFERED:
    case UP:
        break;
    }
    return true;
}

/* In topological order, so that what has become ready holds back what comes after it.
 */
bool sched_release_handlers(struct sched *s)
{
    const struct graph *g = s->graph;
    assert(s->taken == 0 && s->ready.n == 0);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = g->order[i];
        bool live = may_go_on(s, node);
        s->flags[node] &= (uint8_t)~LIVE;
        s->flags[node] |= live ? LIVE : 0;
        if (live || s->state[node] != ENDED || !(s->flags[node] & EARLY) ||
            is_service(s, node))
            continue;
        s->flags[node] &= (uint8_t) ~(EARLY | TOLD);
        for (uint32_t e = g->dependent_start[node]; e < g->dependent_start[node + 1];
             e++)
            release_dependent(s, g->dependents[e]);
    }
    for (uint32_t node = 0; node < g->n_nodes; node++)
        s->flags[node] &= (uint8_t)~LIVE;
    check_transition(s);
    return s->ready.n > 0;
}

void sched_rerun(struct sched *s, uint32_t task)
{
    assert(s->state[task] == ENDED && s->end[task] == END_OPEN);
    s->open++;
    if (s->waiting[task])
        s->state[task] = WAITING;
    else
        sched_make_ready(s, task);
    check_transition(s);
}

/* ---- Life ---- */

static bool resize(void *array, size_t n, size_t size)
{
    void *at, *more;
    memcpy(&at, array, sizeof at);
    more = realloc(at, (n ? n : 1) * size);
    if (more)
        memcpy(array, &more, sizeof more);
    return more;
}

/* More than asked for, so that one task after the other does not copy all of them each
 * time. */
static uint32_t more_room(uint32_t room, uint32_t n)
{
    return room ? n + n / 2 : n;
}

static bool reserve_queue(struct heap *queue, uint32_t n)
{
    uint32_t room = more_room(queue->room, n);
    if (queue->at && n <= queue->room)
        return true;
    if (!resize(&queue->at, room, sizeof *queue->at))
        return false;
    queue->room = room;
    return true;
}

/* Of each pool: room for all that may wait there. They stand behind one another, and
 * `members` counts them. */
static bool reserve_parked(struct sched *s, uint32_t first_def)
{
    const struct definition *d = s->graph->definition;
    bool done = true;
    for (uint32_t i = first_def; i < d->n_defs; i++)
        for (uint32_t k = 0; k < n_uses(&d->defs[i]); k++)
            s->members[use_of(s, &d->defs[i], k).pool] += d->defs[i].members;
    for (uint32_t p = 0; p <= d->n_pools && done; p++)
        done = reserve_queue(&s->parked[p], s->members[p]);
    return done;
}

/* Room for the graph as it is now. */
static bool reserve_nodes(struct sched *s)
{
    const struct graph *g = s->graph;
    uint32_t room = more_room(s->room, g->n_nodes);
    size_t works = g->n_services ? 3 : 2;
    if (s->room && g->n_nodes <= s->room)
        return true;
    if (!resize(&s->state, room, sizeof *s->state) ||
        !resize(&s->end, room, sizeof *s->end) ||
        !resize(&s->flags, room, sizeof *s->flags) ||
        !resize(&s->waiting, room, sizeof *s->waiting) ||
        !resize(&s->cause, room, sizeof *s->cause) ||
        !resize(&s->work, works * ((size_t)room + 1), sizeof *s->work))
        return false;
    s->room = room;
    return true;
}

static void clear_nodes(struct sched *s, uint32_t first, uint32_t n)
{
    memset(s->state + first, WAITING, n);
    memset(s->end + first, END_OPEN, n);
    memset(s->flags + first, 0, n);
    memset(s->waiting + first, 0, n * sizeof *s->waiting);
}

static int allocate_arrays(struct sched *s, struct cairn_error *error)
{
    const struct graph *g = s->graph;
    uint32_t pools = g->definition->n_pools;
    s->left = g->n_services ? calloc(g->n_nodes, sizeof *s->left) : NULL;
    s->parked = calloc((size_t)pools + 1, sizeof *s->parked);
    s->members = calloc((size_t)pools + 1, sizeof *s->members);
    s->pool_used = calloc((size_t)pools + 1, sizeof *s->pool_used);
    s->closed = calloc((size_t)pools + 1, sizeof *s->closed);
    if (!s->parked || !s->members || !s->pool_used || !s->closed ||
        (g->n_services && !s->left) || !reserve_nodes(s) || !reserve_parked(s, 0) ||
        !reserve_queue(&s->ready, g->n_tasks))
        return error_nomem(error);
    clear_nodes(s, 0, g->n_nodes);
    return 0;
}

/* How the needs of a node that is begun with stand: in topological order, so they have
 * been looked at. */
static void count_needs(struct sched *s, uint32_t node)
{
    const struct graph *g = s->graph;
    for (uint32_t e = g->need_start[node]; e < g->need_start[node + 1]; e++) {
        uint32_t need = g->needs[e];
        if (is_service(s, need))
            continue;
        s->waiting[node] += is_open(s, need);
        note_cause(s, node, need,
                   flag_of(g, s->end[need], node, graph_need_is_soft(g, node, e)));
    }
    struct walk w = services_of(s, node);
    for (uint32_t service; (service = next_service(s, &w)) != NODE_NONE;)
        note_cause(s, node, service, flag_of_service(s, node, service));
}

/* Nothing is propagated here: dependents come later in the order, and count what they
 * need themselves. */
static void begin_node(struct propagation *r, uint32_t node, uint8_t outcome)
{
    struct sched *s = r->s;
    count_needs(s, node);
    if (graph_is_barrier(s->graph, node)) {
        if (s->waiting[node] == 0)
            end_node(r, node, barrier_class(s->flags[node]));
    } else if (outcome != CAIRN_PENDING)
        end_node(r, node, sched_class(outcome));
    else
        look_at_task(r, node);
    s->flags[node] |= s->flags[node] & EARLY ? TOLD : 0;
    r->tail = 0;
}

/* A barrier that still waits, with a member that ended badly, has not notified its
 * dependents.
 */
static void begin_failed_groups(struct propagation *r)
{
    struct sched *s = r->s;
    const struct graph *g = s->graph;
    for (uint32_t node = g->n_tasks; node < g->n_nodes; node++)
        if (s->state[node] == WAITING && s->flags[node] & (NEED_LOST | NEED_EXCLUDED))
            give_up_dependents(r, node);
    propagate_ends(r);
}

/* Counts who may still need a service, and ends those that nobody does; in the order
 * from the last task to the first, so that users have been looked at. */
static void begin_services(struct propagation *r)
{
    struct sched *s = r->s;
    for (uint32_t i = s->left ? s->graph->n_nodes : 0; i-- > 0;) {
        uint32_t task = s->graph->order[i], service;
        if (graph_is_barrier(s->graph, task))
            continue;
        if (is_service(s, task) && !s->left[task])
            drop_task(r, task, CAIRN_EXCLUDED);
        struct walk w = services_of(s, task);
        while (s->end[task] == END_OPEN && (service = next_service(s, &w)) != NODE_NONE)
            s->left[service]++;
    }
    r->tail = 0;
    r->services = s->left != NULL;
}

int sched_init(struct sched *sched, const struct graph *graph, const uint8_t *outcome,
               sched_skip_fn *skipped, void *context, struct cairn_error *error)
{
    struct sched s = {.graph = graph,
                      .n_tasks = graph->n_tasks,
                      .n_nodes = graph->n_nodes,
                      .n_parts = graph->n_parts,
                      .memory = UINT32_MAX,
                      .open = graph->n_tasks,
                      .allowed = SCHED_ORDINARY | SCHED_HANDLERS};
    struct propagation r = {.s = &s, .skipped = skipped, .context = context};
    int rc = allocate_arrays(&s, error);
    if (rc) {
        sched_release(&s);
        return rc;
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        uint32_t node = graph->order[i];
        begin_node(&r, node, graph_is_barrier(graph, node) ? 0 : outcome[node]);
    }
    begin_services(&r);
    begin_failed_groups(&r);
    check_transition(&s);
    *sched = s;
    return 0;
}

/* Barriers are behind all tasks, those of parts of groups behind the others: they go
 * behind the new ones of their kind. */
struct moved {
    uint32_t tasks, parts;     /* where they began */
    uint32_t to, parts_to;     /* ... and begin now */
    uint32_t n_whole, n_parts; /* how many there were */
};

static uint32_t node_now(const struct moved *m, uint32_t node)
{
    return node < m->tasks   ? node
           : node < m->parts ? node - m->tasks + m->to
                             : node - m->parts + m->parts_to;
}

static bool is_new(const struct moved *m, uint32_t node)
{
    return (node >= m->tasks && node < m->to) ||
           (node >= m->to + m->n_whole && node < m->parts_to) ||
           node >= m->parts_to + m->n_parts;
}

static void move_nodes(struct sched *s, uint32_t to, uint32_t from, uint32_t n)
{
    memmove(s->state + to, s->state + from, n);
    memmove(s->end + to, s->end + from, n);
    memmove(s->flags + to, s->flags + from, n);
    memmove(s->waiting + to, s->waiting + from, n * sizeof *s->waiting);
    memmove(s->cause + to, s->cause + from, n * sizeof *s->cause);
}

static struct moved move_barriers(struct sched *s)
{
    const struct graph *g = s->graph;
    struct moved m = {.tasks = s->n_tasks,
                      .parts = s->n_nodes - s->n_parts,
                      .to = g->n_tasks,
                      .parts_to = g->n_nodes - g->n_parts,
                      .n_parts = s->n_parts};
    m.n_whole = m.parts - m.tasks;
    for (uint32_t i = 0; s->n_nodes > s->n_tasks && i < s->n_nodes; i++)
        if (s->flags[i] & (NEED_LOST | NEED_EXCLUDED))
            s->cause[i] = node_now(&m, s->cause[i]);
    move_nodes(s, m.parts_to, m.parts, m.n_parts);
    move_nodes(s, m.to, m.tasks, m.n_whole);
    clear_nodes(s, m.tasks, m.to - m.tasks);
    clear_nodes(s, m.to + m.n_whole, m.parts_to - m.to - m.n_whole);
    clear_nodes(s, m.parts_to + m.n_parts, g->n_parts - m.n_parts);
    return m;
}

/* What was there may have become higher. */
static void sort_again(const struct sched *s, struct heap *queue)
{
    uint32_t n = queue->n;
    queue->n = 0;
    for (uint32_t i = 0; i < n; i++)
        entries_push(queue->at, &queue->n, entry_of(s->graph, queue->at[i].task));
}

int sched_extend(struct sched *s, const uint8_t *outcome, sched_skip_fn *skipped,
                 void *context, struct cairn_error *error)
{
    const struct graph *g = s->graph;
    struct propagation r = {.s = s, .skipped = skipped, .context = context};
    uint32_t before = s->n_tasks;
    assert(!s->left && !g->n_services && !s->aside);
    if (!reserve_nodes(s) || !reserve_queue(&s->ready, g->n_tasks) ||
        !reserve_parked(s, g->n_tasks > before ? g->def_of[before]
                                               : g->definition->n_defs))
        return error_nomem(error);
    struct moved moved = move_barriers(s);
    s->open += g->n_tasks - before;
    s->n_tasks = g->n_tasks;
    s->n_nodes = g->n_nodes;
    s->n_parts = g->n_parts;
    sort_again(s, &s->ready);
    for (uint32_t p = 0; p <= g->definition->n_pools; p++)
        sort_again(s, &s->parked[p]);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = g->order[i];
        if (is_new(&moved, node))
            begin_node(&r, node, graph_is_barrier(g, node) ? 0 : outcome[node]);
    }
    begin_failed_groups(&r);
    for (uint32_t p = 0; p <= g->definition->n_pools; p++)
        wake_first(s, p);
    check_transition(s);
    return 0;
}

void sched_release(struct sched *s)
{
    free(s->state);
    free(s->end);
    free(s->flags);
    free(s->waiting);
    free(s->cause);
    free(s->work);
    free(s->left);
    free(s->ready.at);
    for (uint32_t p = 0; s->parked && p <= s->graph->definition->n_pools; p++)
        free(s->parked[p].at);
    free(s->parked);
    free(s->members);
    free(s->pool_used);
    free(s->closed);
    *s = (struct sched){0};
}
