/* SPDX-License-Identifier: MIT */
/* A run seen by somebody who does not own it: its claims, what could be done now, and
 * what everything waits for. */
#include "plan/run_view.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/os.h"
#include "cairn/runs.h"
#include "graph/match.h"
#include "runs/outputs.h"
#include "runs/owner.h"
#include "runs/places.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct claims_reader {
    struct claims *claims;
    uint32_t n;          /* tasks of the generation that is read */
    const uint32_t *now; /* [n] their numbers now */
    char boot[37];
    bool damaged;
};

/* Rounded up: a lease that runs is not shown as over. */
static int64_t lease_left_ms(const struct claims_reader *r, const struct claim_row *row)
{
    int64_t left_ns = row->until_boot_ns - clock_boot_ns();
    if (left_ns <= 0 || !str_equal(row->boot, str_of(r->boot)))
        return 0;
    return (left_ns - 1) / 1000000 + 1;
}

static uint32_t lost_before(struct str token)
{
    uint32_t n = 0;
    if (token.len <= CLAIM_DIGITS || token.ptr[CLAIM_DIGITS] != '.')
        return 0;
    for (size_t i = CLAIM_DIGITS + 1; i < token.len && n <= CLAIM_LOST_MOST; i++)
        n = token.ptr[i] >= '0' && token.ptr[i] <= '9'
                ? 10 * n + (uint32_t)(token.ptr[i] - '0')
                : CLAIM_LOST_MOST;
    return n < CLAIM_LOST_MOST ? n : CLAIM_LOST_MOST;
}

/* A damaged claim counts as none: its token is not valid. */
static int note_claim(void *context, const struct claim_row *row)
{
    struct claims_reader *r = context;
    uint32_t task = row->task < r->n ? r->now[row->task] : NODE_NONE;
    r->damaged |= !row->sum_ok;
    if (task == NODE_NONE)
        return 0;
    struct claim *claim = &r->claims->at[task];
    *claim = (struct claim){.exists = row->sum_ok};
    if (!row->sum_ok)
        return 0;
    claim->spent = row->spent;
    claim->token = arena_str(&r->claims->arena, row->token);
    claim->holder = arena_str(&r->claims->arena, row->holder);
    claim->time_ns = row->time_ns;
    claim->left_ms = row->spent ? 0 : lease_left_ms(r, row);
    bool ran_out = claim->left_ms == 0 && row->until_boot_ns != CLAIM_GIVEN_BACK;
    claim->lost = row->spent ? 0 : lost_before(row->token) + ran_out;
    return 0;
}

static int read_claims(struct claims_reader *r, const struct run_view *v, uint32_t gen,
                       struct cairn_error *error)
{
    struct cairn_error why = {0};
    r->damaged = false;
    int rc = store_each_claim(v->store, v->row.run, gen, note_claim, r, &why);
    if (rc == CAIRN_EDAMAGED && r->damaged)
        return 0;
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

static int read_with_graph(struct claims_reader *r, const struct run_view *v,
                           uint32_t gen, const struct graph *then,
                           struct cairn_error *error)
{
    uint32_t *now = malloc(((size_t)then->n_tasks + 1) * sizeof *now);
    if (!now)
        return error_nomem(error);
    map_tasks(then, &v->workflow->graph, now);
    r->now = now;
    r->n = then->n_tasks;
    int rc = read_claims(r, v, gen, error);
    free(now);
    return rc;
}

static int read_generation(struct claims_reader *r, const struct run_view *v,
                           uint32_t gen, struct cairn_error *error)
{
    struct definition definition;
    struct graph graph;
    if (gen == v->row.gen)
        return read_with_graph(r, v, gen, &v->workflow->graph, error);
    int rc = generation_load(v->store, &v->row, gen, &definition, &graph, error);
    if (rc)
        return rc;
    rc = read_with_graph(r, v, gen, &graph, error);
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

int claims_load(struct claims *claims, const struct run_view *v,
                struct cairn_error *error)
{
    *claims = (struct claims){.arena = ARENA_INIT};
    struct claims_reader r = {.claims = claims};
    int rc = 0;
    os_boot_id(r.boot);
    claims->at =
        arena_take(&claims->arena, v->workflow->graph.n_tasks, sizeof *claims->at);
    for (uint32_t gen = 1; claims->at && gen <= v->row.gen && !rc; gen++)
        rc = read_generation(&r, v, gen, error);
    if (!rc && claims->arena.failed)
        rc = error_nomem(error);
    if (rc)
        claims_release(claims);
    return rc;
}

void claims_release(struct claims *claims)
{
    arena_release(&claims->arena);
    *claims = (struct claims){.arena = ARENA_INIT};
}

/* ---- Looking ---- */

/* What a live owner runs is only pending, as seen from here. */
static int copy_states(struct run_view *v, struct cairn_error *error)
{
    return v->live ? states_copy(&v->states, &v->situation.present.states, error)
                   : situation_states(&v->situation, v->workflow, &v->states, error);
}

static int load_situation(struct run_view *v, struct cairn_error *error)
{
    const struct graph *g = &v->workflow->graph;
    int rc = situation_load_as_is(&v->situation, v->workflow, v->store, v->row.run,
                                  NULL, error);
    if (rc)
        return rc;
    v->loaded = true;
    rc = copy_states(v, error)
             ?: sched_init(&v->sched, g, v->states.outcome, NULL, NULL, error);
    v->lookup = (struct lookup){.graph = g,
                                .states = &v->states,
                                .store = v->store,
                                .run = v->row.run,
                                .digests = FILE_DIGESTS_INIT};
    return rc;
}

int run_view_open(struct run_view *v, struct cairn_store *store, uint64_t run,
                  struct cairn_error *error)
{
    *v = (struct run_view){.store = store};
    int rc = run_row_get(&v->row, store, run, &v->arena, error)
                 ?: workflow_stored(&v->workflow, store, &v->row, error);
    int live = rc ? 0 : run_live(store, &v->row, error);
    if (live < 0)
        rc = live;
    v->live = live > 0;
    if (!rc)
        rc = load_situation(v, error);
    if (rc)
        run_view_release(v);
    return rc;
}

void run_view_release(struct run_view *v)
{
    lookup_release(&v->lookup);
    if (v->sched.graph)
        sched_release(&v->sched);
    states_release(&v->states);
    if (v->loaded)
        situation_release(&v->situation);
    cairn_workflow_free(v->workflow);
    arena_release(&v->arena);
    *v = (struct run_view){0};
}

int run_view_find(const struct run_view *v, const char *id, uint32_t *task,
                  struct cairn_error *error)
{
    uint32_t found = id ? graph_find(&v->workflow->graph, str_of(id)) : NODE_NONE;
    if (found == NODE_NONE)
        return run_no_task(v->row.run, id ? id : "", error);
    *task = found;
    return 0;
}

int run_view_offers(struct run_view *v, uint32_t task, bool *offered,
                    struct cairn_error *error)
{
    struct asker asker = {.lookup = &v->lookup,
                          .task = task,
                          .attempt = situation_attempts(&v->situation, task) + 1};
    struct scope scope = lookup_scope(&asker);
    struct cairn_error why = {0};
    bool holds = true;
    *offered = false;
    if (scope.def->kind != TASK_EXTERNAL || v->sched.state[task] != READY)
        return 0;
    int rc = scope.def->condition.len
                 ? condition_holds(&scope, scope.def->condition, &holds, &why)
                 : 0;
    if (rc && rc != CAIRN_EWORKFLOW && rc != CAIRN_EDAMAGED)
        return error_set(error, rc, "%s", why.text);
    *offered = !rc && holds; /* else the run's owner will make it fail */
    return 0;
}

int run_view_has_command(const struct run_view *v, uint32_t task, uint8_t verb,
                         bool *pending, struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    struct command_row row = {0};
    int rc = 0;
    *pending = false;
    do {
        struct cairn_error why = {0};
        buf_clear(&data);
        rc = store_next_command(v->store, v->row.run, row.id, &row, &data, &why);
        if (rc == CAIRN_EDAMAGED && row.id) {
            rc = 0; /* nobody will carry it out */
            continue;
        }
        if (rc)
            error_set(error, rc, "%s", why.text);
        bool meant = verb ? row.verb == verb
                          : row.verb == COMMAND_COMPLETE || row.verb == COMMAND_FAIL;
        *pending = !rc && row.id && meant && row.gen == v->row.gen && row.task == task;
    } while (!rc && row.id && !*pending);
    buf_release(&data);
    return rc;
}

int run_view_take(struct run_view *v, enum outside_kind kind, const char *what,
                  const char *text, struct clean *out, struct cairn_error *error)
{
    struct outside outside = {v->situation.secrets.redactor, false, v->store};
    struct outside_text given = {kind, what, str_of(text), NULL};
    return outside_take(&outside, &given, &v->arena, out, error);
}

/* ---- Commands ---- */

int run_view_put_command(const struct run_view *v, const struct command_row *given,
                         struct queued_command *out, struct cairn_error *error)
{
    struct command_row row = *given;
    uint64_t turn = 0;
    row.run = v->row.run;
    row.gen = v->row.gen;
    int rc = store_next_turn(v->store, row.run, &turn, error)
                 ?: store_put_command(v->store, &row, error);
    if (rc)
        return rc;
    out->run = row.run;
    out->id = row.id;
    out->turn = turn;
    out->verb = row.verb;
    return 0;
}

int run_view_check_outputs(struct run_view *v, uint32_t task, struct cairn_error *error)
{
    struct asker asker = {.lookup = &v->lookup,
                          .task = task,
                          .attempt = situation_attempts(&v->situation, task)};
    struct scope scope = lookup_scope(&asker);
    struct files files;
    struct stat st;
    int rc = files_begin(&files, &scope, false, error);
    if (rc)
        return rc;
    while ((rc = files_step(&files, error)) > 0)
        if (stat(files.path.data, &st) < 0) {
            rc = error_set(error, CAIRN_EUSAGE,
                           "task %s is not done: its output %s is not there (%s)",
                           v->workflow->graph.id[task], files.name.data,
                           files.path.data);
            break;
        }
    files_release(&files);
    return rc;
}

/* What everything waits for: each task of a run that is going on, or could, and how
 * much stands behind it. */

struct waiting_tasks {
    struct run_view view;
    struct claims claims;
    struct arena arena; /* texts */
    uint8_t *running;   /* [n_tasks] */
    int64_t *since_ns;  /* [n_tasks] */
    uint32_t *pool_used;
    uint64_t memory_used, memory; /* MiB, and what there is */
    struct places_entry *pool;    /* [n_pool] of pools that runs share */
    size_t n_pool, pool_capacity;
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
        const struct task_def *def = graph_def(g, task);
        for (uint32_t i = 0; i < def->n_pools && w->running[task]; i++)
            w->pool_used[def->pools[i].pool] += def->pools[i].places;
        w->memory_used += w->running[task] ? def->memory : 0;
    }
    w->memory = w->memory_used ? memory_of(g->definition, 0) : 0;
}

static bool has_outlived(const struct run_view *v, uint32_t task)
{
    return !v->live && situation_mark(&v->situation, task) & MARK_OUTLIVED &&
           !situation_noted_end(&v->situation, v->situation.present.old_task[task]);
}

static const char *external_text(struct waiting_tasks *w, uint32_t task)
{
    struct run_view *v = &w->view;
    struct asker asker = {.lookup = &v->lookup,
                          .task = task,
                          .attempt = situation_attempts(&v->situation, task) + 1};
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

static int note_place(void *context, const struct places_entry *entry)
{
    struct waiting_tasks *w = context;
    struct places_entry *at =
        array_room(w->pool, w->n_pool, &w->pool_capacity, sizeof *at);
    w->arena.failed |= !at;
    if (!at)
        return 1;
    w->pool = at;
    at[w->n_pool++] = *entry;
    return 0;
}

static bool is_of_pool(const struct places_entry *entry, const struct pool *pool,
                       uint32_t lender)
{
    return entry->lender == lender && str_equal(str_of(entry->pool), pool->name);
}

/* It is about to start. */
static bool has_its_places(const struct waiting_tasks *w, const struct pool *pool,
                           const char *id)
{
    bool has = false;
    for (size_t i = 0; i < w->n_pool && !has; i++)
        has = !w->pool[i].waits && w->pool[i].run == w->view.row.run &&
              str_equal(str_of(w->pool[i].pool), pool->name) &&
              strncmp(w->pool[i].task, id, PLACES_TEXT - 1) == 0;
    return has;
}

/* Whether others have the places of a pool that runs share, or come before. Then
 * *held_by says who. */
static bool is_shared_out(struct waiting_tasks *w, const struct pool *pool,
                          uint32_t places, const char *id, const char **held_by)
{
    uint64_t held = 0;
    struct places_entry own = {.limit = pool->limit};
    struct buf text = BUF_INIT;
    if (has_its_places(w, pool, id))
        return false;
    for (size_t i = 0; i < w->n_pool; i++)
        if (w->pool[i].waits && w->pool[i].run == w->view.row.run &&
            str_equal(str_of(w->pool[i].pool), pool->name))
            own = w->pool[i];
    for (size_t i = 0; i < w->n_pool; i++)
        if (is_of_pool(&w->pool[i], pool, own.lender) && !w->pool[i].waits)
            held += w->pool[i].places;
    bool full = held + places > own.limit;
    for (size_t i = 0; i < w->n_pool && (full || own.ticket); i++) {
        const struct places_entry *at = &w->pool[i];
        if (!is_of_pool(at, pool, own.lender) ||
            (at->waits && at->ticket >= own.ticket))
            continue;
        buf_format(&text, "%srun %llu (%s%s)", text.size ? ", " : "",
                   (unsigned long long)at->run,
                   at->waits ? "waits for it before: " : "", at->task);
    }
    if (text.size)
        *held_by = arena_text(&w->arena, buf_view(&text));
    w->arena.failed |= text.failed;
    buf_release(&text);
    return full || *held_by;
}

/* The first of the task's pools that has no room for it, or NULL. */
static const struct pool *full_pool(struct waiting_tasks *w, uint32_t task,
                                    const char **held_by)
{
    const struct definition *d = &w->view.workflow->definition;
    const struct task_def *def = graph_def(&w->view.workflow->graph, task);
    for (uint32_t i = 0; i < def->n_pools; i++) {
        const struct pool_use *use = &def->pools[i];
        const struct pool *pool = &d->pools[use->pool];
        bool full = pool->shared
                        ? is_shared_out(w, pool, use->places,
                                        w->view.workflow->graph.id[task], held_by)
                        : (uint64_t)w->pool_used[use->pool] + use->places > pool->limit;
        if (full)
            return pool;
    }
    return NULL;
}

static void classify_ready(struct waiting_tasks *w, uint32_t task, bool offered,
                           struct cairn_waiting_info *info)
{
    const struct pool *pool =
        offered || !w->view.live ? NULL : full_pool(w, task, &info->held_by);
    uint32_t memory = graph_def(&w->view.workflow->graph, task)->memory;
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
    } else if (pool) {
        info->waits_for = CAIRN_WAITS_POOL;
        info->text = arena_text(&w->arena, pool->name);
    } else if (memory && w->memory_used && w->memory_used + memory > w->memory) {
        info->waits_for = CAIRN_WAITS_MEMORY;
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
    bool shares = false;
    for (uint32_t i = 0; i < v->workflow->definition.n_pools; i++)
        shares |= v->workflow->definition.pools[i].shared;
    if (shares && v->live) /* it only says why: without it less is said */
        (void)places_each(store_live_dir(store), note_place, w, NULL);
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
    free(w.pool);
    free(w.at);
    arena_release(&w.arena);
    return rc;
}
