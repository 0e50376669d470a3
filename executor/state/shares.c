/* SPDX-License-Identifier: MIT */
#include "executor/state/shares.h"

#include "executor/state/engine.h"
#include "executor/state/report.h"

#include "base/memory.h"
#include "runs/stored.h"
#include "storage/rows_event.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

static bool needs_shares(const struct engine *e)
{
    const struct definition *d = e->request.graph->definition;
    bool needs = false;
    for (uint32_t i = 0; i < d->n_defs && !needs; i++)
        needs = task_def_shares_pools(d, &d->defs[i]);
    return needs && e->request.store && e->request.mode == MODE_RUN;
}

static uint32_t wishes_of(const struct definition *d, const struct task_def *def,
                          struct places_wish *wishes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < def->n_pools; i++) {
        const struct pool *pool = &d->pools[def->pools[i].pool];
        if (pool->shared)
            wishes[n++] =
                (struct places_wish){pool->name, def->pools[i].places, pool->limit};
    }
    return n;
}

int shares_check(struct engine *e, struct cairn_error *error)
{
    struct shares *shares = &e->shares;
    struct places *places = &shares->places;
    const struct definition *d = e->request.graph->definition;
    const struct run_parent *inside = &e->run.situation.inside;
    struct places_wish wishes[LIMIT_TASK_POOLS];
    if (!inside->run || !needs_shares(e))
        return 0;
    int rc = run_parents(e->request.store, inside, &shares->around, &places->n_around,
                         error);
    places->around = shares->around;
    places->live_dir = store_live_dir(e->request.store);
    for (uint32_t i = 0; i < d->n_defs && !rc; i++) {
        uint32_t n = wishes_of(d, &d->defs[i], wishes);
        if (n)
            rc = places_check(places, wishes, n, d->defs[i].id, error);
    }
    return rc;
}

int shares_open(struct engine *e, struct cairn_error *error)
{
    struct shares *shares = &e->shares;
    if (!needs_shares(e))
        return 0;
    shares->told = calloc(e->request.graph->definition->n_pools, sizeof *shares->told);
    int rc = shares->told
                 ? places_open(&shares->places, e->run.live_dir, e->run.row.run, error)
                 : error_nomem(error);
    shares->open = !rc;
    return rc;
}

/* What still runs under a keeper keeps what it has: only our copy is closed. */
void shares_close(struct engine *e)
{
    struct shares *shares = &e->shares;
    for (uint32_t i = 0; i < shares->n; i++)
        lock_close(&shares->at[i].held);
    if (shares->open)
        places_close(&shares->places);
    free(shares->at);
    free(shares->told);
    free(shares->around);
    *shares = (struct shares){0};
}

static const struct share *find_share(const struct engine *e, uint32_t task)
{
    const struct shares *shares = &e->shares;
    for (uint32_t i = 0; i < shares->n; i++)
        if (shares->at[i].task == task)
            return &shares->at[i];
    return NULL;
}

bool shares_has(const struct engine *e, uint32_t task)
{
    const struct graph *g = e->request.graph;
    return !e->shares.open ||
           !task_def_shares_pools(g->definition, graph_def(g, task)) ||
           find_share(e, task);
}

int shares_descriptor(const struct engine *e, uint32_t task)
{
    const struct share *share = find_share(e, task);
    return share ? share->held.fd : 0;
}

static void tell_other_limit(struct engine *e, const struct places_entry *other)
{
    const struct definition *d = e->request.graph->definition;
    uint32_t pool = definition_pool(d, str_of(other->pool));
    char text[512];
    if (!other->places || pool == UINT32_MAX || e->shares.told[pool])
        return;
    e->shares.told[pool] = true;
    snprintf(text, sizeof text,
             "the limit of pool `%s` is %u here, and %u in run %llu: each run keeps to "
             "its own",
             other->pool, d->pools[pool].limit, other->limit,
             (unsigned long long)other->run);
    audit_event(e, EVENT_NOTICE, 0, UINT32_MAX, str_of(text));
    report(e, CAIRN_EVENT_NOTICE, text);
}

int shares_take(struct engine *e, uint32_t task, struct cairn_error *error)
{
    struct shares *shares = &e->shares;
    const struct graph *g = e->request.graph;
    const struct task_def *def = graph_def(g, task);
    struct places_wish wishes[LIMIT_TASK_POOLS];
    struct places_entry other;
    if (shares_has(e, task))
        return 1;
    struct share *at = array_room(shares->at, shares->n, &shares->capacity, sizeof *at);
    if (!at)
        return error_nomem(error);
    shares->at = at;
    uint32_t n = wishes_of(g->definition, def, wishes);
    bool waited = shares->places.waiting.fd >= 0;
    at = &shares->at[shares->n];
    at->task = task;
    int rc = places_take(&shares->places, wishes, n, str_of(g->id[task]), &at->held,
                         &other, error);
    if (rc < 0)
        return rc;
    tell_other_limit(e, &other);
    shares->n += rc > 0;
    if (!rc)
        sched_refuse(&e->progress.sched, task);
    else if (waited) /* in one queue for all pools: it stands there anew */
        sched_reopen(&e->progress.sched);
    return rc;
}

void shares_settle(struct engine *e)
{
    struct shares *shares = &e->shares;
    for (uint32_t i = 0; i < shares->n;)
        if (e->progress.sched.state[shares->at[i].task] == TAKEN) {
            i++;
        } else {
            places_give_back(&shares->places, &shares->at[i].held);
            shares->at[i] = shares->at[--shares->n];
        }
}

void shares_leave(struct engine *e, bool can_start)
{
    if (e->shares.open && !(can_start && sched_waits_for_others(&e->progress.sched)))
        places_withdraw(&e->shares.places);
}

void shares_ask(struct engine *e)
{
    if (e->shares.open && sched_waits_for_others(&e->progress.sched))
        sched_reopen(&e->progress.sched);
}
