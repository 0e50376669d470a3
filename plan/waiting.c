/* SPDX-License-Identifier: MIT */
/* What everything waits for: each task of a run that is going on, or could, and how
 * much stands behind it. */
#include "cairn/runs.h"
#include "plan/claims.h"
#include "storage/store.h"

#include <stdlib.h>

struct waiting_tasks {
    struct run_view view;
    struct claims claims;
    struct arena arena; /* texts */
    uint8_t *running;   /* [n_tasks] */
    int64_t *since_ns;  /* [n_tasks] */
    uint32_t *pool_used;
    struct cairn_waiting_info *at;
    size_t n;
};

/* ---- How much stands behind a task ---- */

/* Nodes with a single dependent pass the question on, so that the many members of a
 * group are answered together; `known` keeps the answers. */
struct behind {
    const struct graph *graph;
    const uint8_t *state; /* [n_nodes] enum sched_state */
    uint32_t *known;      /* [n_nodes] UINT32_MAX: not yet */
    uint32_t *stamp;      /* [n_nodes] of the last look that met the node */
    uint32_t *stack;      /* [n_nodes] */
    uint32_t look;
};

static int behind_open(struct behind *b, const struct run_view *v,
                       struct cairn_error *error)
{
    uint32_t n = v->workflow->graph.n_nodes;
    *b = (struct behind){.graph = &v->workflow->graph,
                         .state = v->sched.state,
                         .known = malloc((size_t)n * sizeof *b->known),
                         .stamp = calloc(n, sizeof *b->stamp),
                         .stack = malloc((size_t)n * sizeof *b->stack)};
    for (uint32_t i = 0; b->known && i < n; i++)
        b->known[i] = UINT32_MAX;
    return b->known && b->stamp && b->stack ? 0 : error_nomem(error);
}

static void behind_release(struct behind *b)
{
    free(b->known);
    free(b->stamp);
    free(b->stack);
}

static bool is_still_open(const struct behind *b, uint32_t node)
{
    return !graph_is_barrier(b->graph, node) && b->state[node] != ENDED;
}

static uint32_t count_below(struct behind *b, uint32_t node)
{
    const struct graph *g = b->graph;
    uint32_t n = 0, top = 0;
    b->stack[top++] = node;
    b->stamp[node] = ++b->look;
    while (top) {
        uint32_t at = b->stack[--top];
        for (uint32_t i = g->dependent_start[at]; i < g->dependent_start[at + 1]; i++) {
            uint32_t dependent = g->dependents[i];
            if (b->stamp[dependent] == b->look)
                continue;
            b->stamp[dependent] = b->look;
            n += is_still_open(b, dependent);
            b->stack[top++] = dependent;
        }
    }
    return n;
}

static uint32_t behind_of(struct behind *b, uint32_t node)
{
    const struct graph *g = b->graph;
    uint32_t chain = 0, at = node;
    while (b->known[at] == UINT32_MAX &&
           g->dependent_start[at + 1] == g->dependent_start[at] + 1)
        at = g->dependents[g->dependent_start[at]];
    if (b->known[at] == UINT32_MAX)
        b->known[at] = count_below(b, at);
    chain = at;
    uint32_t extra = 0;
    for (at = node; at != chain; at = g->dependents[g->dependent_start[at]])
        extra += is_still_open(b, g->dependents[g->dependent_start[at]]);
    uint32_t total = b->known[chain] + extra;
    for (at = node; at != chain; at = g->dependents[g->dependent_start[at]]) {
        b->known[at] = b->known[chain] + extra;
        extra -= is_still_open(b, g->dependents[g->dependent_start[at]]);
    }
    return total;
}

/* ---- What each waits for ---- */

static void count_pools(struct waiting_tasks *w)
{
    const struct graph *g = &w->view.workflow->graph;
    for (uint32_t task = 0; task < g->n_tasks; task++) {
        uint32_t pool = graph_def(g, task)->pool;
        if (w->running[task] && pool != UINT32_MAX)
            w->pool_used[pool]++;
    }
}

static bool has_outlived(const struct run_view *v, uint32_t task)
{
    return !v->live && situation_mark(&v->situation, task) & MARK_OUTLIVED &&
           !situation_noted_end(&v->situation, v->situation.present.old_task[task]);
}

static const char *external_text(struct waiting_tasks *w, uint32_t task)
{
    struct run_view *v = &w->view;
    struct asker asker = {&v->lookup, task,
                          situation_attempts(&v->situation, task) + 1};
    struct scope scope = lookup_scope(&asker);
    struct buf text = BUF_INIT;
    const char *copy = NULL;
    int rc = text_expand(&scope, scope.def->external, &text, NULL);
    w->arena.failed |= rc == CAIRN_ENOMEM;
    if (!rc)
        copy = arena_text(&w->arena, buf_view(&text));
    buf_release(&text);
    return copy;
}

static void classify_ready(struct waiting_tasks *w, uint32_t task, bool offered,
                           struct cairn_waiting_info *info)
{
    const struct definition *d = &w->view.workflow->definition;
    uint32_t pool = graph_def(&w->view.workflow->graph, task)->pool;
    info->waits_for = CAIRN_WAITS_SLOT;
    if (offered) {
        info->waits_for = CAIRN_WAITS_EXTERNAL;
        info->text = external_text(w, task);
        const struct claim *claim = &w->claims.at[task];
        info->leases_lost = claim->lost;
        if (claim->left_ms) {
            info->since_ns = claim->time_ns;
            info->holder = arena_text(&w->arena, claim->holder);
            info->lease_left_ms = claim->left_ms;
        }
    } else if (pool != UINT32_MAX && w->pool_used[pool] >= d->pools[pool].limit) {
        info->waits_for = CAIRN_WAITS_POOL;
        info->text = arena_text(&w->arena, d->pools[pool].name);
    }
}

/* 1: it is one of them. */
static int classify_task(struct waiting_tasks *w, uint32_t task,
                         struct cairn_waiting_info *info, struct cairn_error *error)
{
    struct run_view *v = &w->view;
    bool offered = false;
    if (v->states.outcome[task] == CAIRN_UNKNOWN) {
        info->waits_for = CAIRN_WAITS_DECISION;
        info->check = graph_def(&v->workflow->graph, task)->check.len > 0;
        return 1;
    }
    if ((v->live && w->running[task]) || has_outlived(v, task)) {
        info->waits_for = CAIRN_WAITS_RUNNING;
        info->since_ns = w->since_ns[task];
        return 1;
    }
    if (v->sched.state[task] != READY)
        return 0;
    int rc = run_view_offers(v, task, &offered, error);
    if (!rc)
        classify_ready(w, task, offered, info);
    return rc ? rc : 1;
}

static int by_weight(const void *a, const void *b)
{
    const struct cairn_waiting_info *x = a, *y = b;
    if (x->behind != y->behind)
        return x->behind < y->behind ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static int list_waiting(struct waiting_tasks *w, struct cairn_error *error)
{
    struct run_view *v = &w->view;
    struct behind behind;
    int rc = behind_open(&behind, v, error);
    for (uint32_t task = 0; task < v->workflow->graph.n_tasks && !rc; task++) {
        struct cairn_waiting_info info = {.node = task};
        int found = classify_task(w, task, &info, error);
        if (found < 0)
            rc = found;
        if (found <= 0)
            continue;
        info.task = arena_text(&w->arena, str_of(v->workflow->graph.id[task]));
        info.behind = behind_of(&behind, task);
        w->at[w->n++] = info;
    }
    behind_release(&behind);
    return rc ? rc : w->arena.failed ? error_nomem(error) : 0;
}

static int load_waiting(struct waiting_tasks *w, struct cairn_store *store,
                        struct cairn_error *error)
{
    struct run_view *v = &w->view;
    uint32_t n = v->workflow->graph.n_tasks;
    w->since_ns = calloc((size_t)n + 1, sizeof *w->since_ns);
    w->at = calloc((size_t)n + 1, sizeof *w->at);
    w->pool_used =
        calloc((size_t)v->workflow->definition.n_pools + 1, sizeof(uint32_t));
    if (!w->since_ns || !w->at || !w->pool_used)
        return error_nomem(error);
    w->running = running_tasks(store, &v->row, n, w->since_ns);
    if (!w->running)
        return error_nomem(error);
    if (v->live)
        count_pools(w);
    int rc = claims_load(&w->claims, v, error);
    if (rc)
        return rc;
    rc = list_waiting(w, error);
    claims_release(&w->claims);
    if (!rc && w->n)
        qsort(w->at, w->n, sizeof *w->at, by_weight);
    return rc;
}

/* A run that has ended waits for nothing but decisions. */
static bool is_shown(const struct waiting_tasks *w,
                     const struct cairn_waiting_info *info)
{
    return w->view.row.state == CAIRN_RUN_UNFINISHED ||
           info->waits_for == CAIRN_WAITS_DECISION;
}

int cairn_waiting(struct cairn_store *store, uint64_t run,
                  int (*each)(void *, const struct cairn_waiting_info *), void *context,
                  struct cairn_error *error)
{
    struct waiting_tasks w = {.arena = ARENA_INIT};
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = run_view_open(&w.view, store, run, error);
    bool opened = !rc;
    if (!rc)
        rc = load_waiting(&w, store, error);
    store_end_read(store);
    for (size_t i = 0; i < w.n && !rc; i++)
        if (is_shown(&w, &w.at[i]) && each(context, &w.at[i]))
            break;
    if (opened)
        run_view_release(&w.view);
    free(w.running);
    free(w.since_ns);
    free(w.pool_used);
    free(w.at);
    arena_release(&w.arena);
    return rc;
}
