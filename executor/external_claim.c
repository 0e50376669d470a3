/* SPDX-License-Identifier: MIT */
/* External tasks: listing those that can be done, claiming one, keeping it. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/os.h"
#include "cairn/external.h"
#include "executor/external_task.h"
#include "storage/rows_event.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- What can be done ---- */

struct offer_list {
    struct arena arena; /* texts, so that nothing is open while the caller is called */
    struct cairn_next_info *at;
    size_t n;
};

static int add_offer(struct offer_list *list, struct run_view *v, uint32_t task,
                     const struct claim *claim, struct cairn_error *error)
{
    struct asker asker = {&v->lookup, task,
                          situation_attempts(&v->situation, task) + 1};
    struct scope scope = lookup_scope(&asker);
    struct buf text = BUF_INIT;
    bool claimed = claim->left_ms > 0;
    int rc = text_expand(&scope, scope.def->external, &text, error);
    if (rc) {
        buf_release(&text);
        return rc == CAIRN_ENOMEM ? rc : 0; /* the run's owner will fail the task */
    }
    list->at[list->n++] = (struct cairn_next_info){
        .run = v->row.run,
        .task = arena_text(&list->arena, str_of(v->workflow->graph.id[task])),
        .node = task,
        .text = arena_text(&list->arena, buf_view(&text)),
        .claimed = claimed,
        .holder = claimed ? arena_text(&list->arena, claim->holder) : NULL,
        .lease_left_ms = claim->left_ms,
        .claimed_ns = claimed ? claim->time_ns : 0,
        .leases_lost = claim->lost};
    buf_release(&text);
    return list->arena.failed ? error_nomem(error) : 0;
}

static int list_task(struct offer_list *list, struct run_view *v, uint32_t task,
                     const struct claim *claim, struct cairn_error *error)
{
    bool offered, pending = false;
    int rc = run_view_offers(v, task, &offered, error);
    if (!rc && offered)
        rc = run_view_has_command(v, task, 0, &pending, error);
    return rc || !offered || pending ? rc : add_offer(list, v, task, claim, error);
}

static int list_offers(struct offer_list *list, struct run_view *v, bool claimed,
                       struct cairn_error *error)
{
    struct claims claims;
    uint32_t n = v->workflow->graph.n_tasks;
    if (v->row.state != CAIRN_RUN_UNFINISHED)
        return 0;
    int rc = claims_load(&claims, v, error);
    if (rc)
        return rc;
    list->at = arena_take(&list->arena, n, sizeof *list->at);
    if (!list->at)
        rc = error_nomem(error);
    for (uint32_t task = 0; task < n && !rc; task++)
        if (claimed || !claims.at[task].left_ms)
            rc = list_task(list, v, task, &claims.at[task], error);
    claims_release(&claims);
    return rc;
}

int cairn_next(struct cairn_store *store, uint64_t run, bool claimed,
               int (*each)(void *, const struct cairn_next_info *), void *context,
               struct cairn_error *error)
{
    struct run_view v;
    struct offer_list list = {.arena = ARENA_INIT};
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = run_view_open(&v, store, run, error);
    if (!rc) {
        rc = list_offers(&list, &v, claimed, error);
        run_view_release(&v);
    }
    store_end_read(store);
    for (size_t i = 0; i < list.n && !rc; i++)
        if (each(context, &list.at[i]))
            break;
    arena_release(&list.arena);
    return rc;
}

/* ---- Claiming one ---- */

/* user@host. Users that only a directory service knows have their name in LOGNAME. */
static int describe_caller(char *out, size_t size, struct cairn_error *error)
{
    char host[64], user[64];
    const char *name = getenv("LOGNAME");
    int rc = os_user_name(user, error);
    os_host_name(host);
    if (user[0] || (name && *name))
        snprintf(out, size, "%s@%s", user[0] ? user : name, host);
    else
        snprintf(out, size, "uid-%u@%s", (unsigned)geteuid(), host);
    return rc;
}

static int put_claim_event(const struct external_task *t, struct str holder,
                           struct cairn_error *error)
{
    struct event_row event = {.run = t->view.row.run,
                              .time_ns = clock_utc_ns(),
                              .kind = EVENT_CLAIMED,
                              .gen = t->view.row.gen,
                              .task = t->task,
                              .data = holder};
    int rc = store_next_turn(t->view.store, event.run, &event.turn, error);
    return rc ? rc : store_put_event(t->view.store, &event, error);
}

/* Who claims, as it is going to be stored. */
struct claimer {
    int64_t lease_ms;
    const char *holder;
    char caller[LIMIT_NAME_BYTES + 1]; /* where no holder is given */
    char token[CAIRN_CLAIM_MAX];
    char lost[LIMIT_NAME_BYTES + 120]; /* why the task is to fail instead, or empty */
};

/* A step that ends each of its workers would be offered for ever. */
static int refuse_lost(const struct external_task *t, struct claimer *c,
                       struct cairn_error *error)
{
    snprintf(c->lost, sizeof c->lost,
             "%u leases on it ran out before anybody reported, the last one of %.*s",
             t->claim->lost, (int)t->claim->holder.len, t->claim->holder.ptr);
    return error_set(error, CAIRN_EUSAGE,
                     "task %s has failed: %s; offer it again with: cairn resume %llu "
                     "--no-wait",
                     t->view.workflow->graph.id[t->task], c->lost,
                     (unsigned long long)t->view.row.run);
}

static int claim_task(struct external_task *t, struct claimer *c,
                      struct cairn_error *error)
{
    struct clean clean = CLEAN("");
    int rc = external_task_check_open(t, error);
    if (!rc && t->claim->left_ms > 0)
        rc = external_task_refuse_taken(t, error);
    if (!rc && t->claim->lost >= LIMIT_LEASES_LOST)
        rc = refuse_lost(t, c, error);
    if (!rc)
        rc = run_view_take(&t->view, OUTSIDE_PROSE, "the holder", c->holder, &clean,
                           error);
    if (t->claim->lost)
        snprintf(c->token + CLAIM_DIGITS, sizeof c->token - CLAIM_DIGITS, ".%u",
                 t->claim->lost % (CLAIM_LOST_MOST + 1));
    struct new_claim claim = {
        .token = str_of(c->token), .holder = clean_str(clean), .lease_ms = c->lease_ms};
    if (!rc)
        rc = external_task_put_claim(t, &claim, error);
    if (!rc)
        rc = put_claim_event(t, clean_str(clean), error);
    return rc;
}

static int check_lease(int64_t lease_ms, struct cairn_error *error)
{
    const int64_t longest_ms = 366ll * 86400 * 1000;
    if (lease_ms <= 0 || lease_ms > longest_ms)
        return error_set(error, CAIRN_EUSAGE,
                         "a lease is more than nothing and at most 366 days");
    return 0;
}

static int prepare_claim(struct claimer *c, int64_t lease_ms, const char *holder,
                         struct cairn_error *error)
{
    int rc = check_lease(lease_ms, error);
    c->lost[0] = 0;
    if (!rc && holder && strlen(holder) > LIMIT_NAME_BYTES)
        rc = error_set(error, CAIRN_ELIMIT,
                       "the name of the holder is longer than %d bytes",
                       LIMIT_NAME_BYTES);
    if (!rc)
        rc = make_claim_token(c->token, error);
    c->lease_ms = lease_ms;
    c->holder = holder && *holder ? holder : c->caller;
    if (!rc && c->holder == c->caller)
        rc = describe_caller(c->caller, sizeof c->caller, error);
    return rc;
}

int cairn_claim(struct cairn_store *store, uint64_t run, const char *task,
                int64_t lease_ms, const char *holder, char token[CAIRN_CLAIM_MAX],
                struct cairn_error *error)
{
    struct claimer claimer;
    struct external_task t = {.task = NODE_NONE};
    int rc = prepare_claim(&claimer, lease_ms, holder, error);
    if (!rc)
        rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = external_task_open(&t, store, run, task, error);
    if (!rc) {
        rc = claim_task(&t, &claimer, error);
        external_task_release(&t);
    }
    rc = store_end(store, rc, error);
    if (rc && claimer.lost[0]) {
        struct cairn_error why = *error;
        int failed = external_task_fail_lost(store, run, task, claimer.lost, error);
        *error = failed ? *error : why;
        rc = failed ? failed : rc;
    }
    if (!rc)
        memcpy(token, claimer.token, sizeof claimer.token);
    return rc;
}

/* ---- Claiming any ---- */

/* What the caller gets, with its texts. */
struct claimed {
    struct cairn_claimed shown; /* first: the handle */
    struct arena arena;
};

/* The first task that is offered and free, as an offer in the list; none: list->n 0. */
static int find_free(struct offer_list *list, struct external_task *t,
                     struct cairn_error *error)
{
    uint32_t n = t->view.workflow->graph.n_tasks;
    int rc = 0;
    list->at = arena_take(&list->arena, 1, sizeof *list->at);
    if (!list->at)
        return error_nomem(error);
    if (t->view.row.state != CAIRN_RUN_UNFINISHED)
        return 0;
    for (uint32_t task = 0; task < n && !list->n && !rc; task++)
        if (!t->claims.at[task].left_ms)
            rc = list_task(list, &t->view, task, &t->claims.at[task], error);
    return rc;
}

static int claim_free(struct claimed *out, struct external_task *t,
                      struct claimer *claimer, struct cairn_error *error)
{
    struct offer_list list = {.arena = ARENA_INIT};
    int rc = find_free(&list, t, error);
    if (!rc && list.n) {
        t->task = list.at->node;
        t->claim = &t->claims.at[t->task];
        rc = claim_task(t, claimer, error);
        out->shown.run = list.at->run;
        out->shown.node = list.at->node;
        out->shown.task = list.at->task;
        out->shown.text = list.at->text;
        memcpy(out->shown.token, claimer->token, sizeof claimer->token);
    }
    out->arena = list.arena;
    return rc;
}

static int claim_in_run(struct claimed *out, struct cairn_store *store, uint64_t run,
                        struct claimer *claimer, struct cairn_error *error)
{
    struct external_task t = {.task = NODE_NONE};
    int rc = run_view_open(&t.view, store, run, error);
    if (rc)
        return rc;
    rc = claims_load(&t.claims, &t.view, error);
    if (!rc) {
        rc = claim_free(out, &t, claimer, error);
        claims_release(&t.claims);
    }
    run_view_release(&t.view);
    return rc;
}

int cairn_claim_any(struct cairn_claimed **out, struct cairn_store *store, uint64_t run,
                    int64_t lease_ms, const char *holder, struct cairn_error *error)
{
    struct claimer claimer;
    struct claimed *claimed = calloc(1, sizeof *claimed);
    int rc =
        claimed ? prepare_claim(&claimer, lease_ms, holder, error) : error_nomem(error);
    for (bool again = true; !rc && again;) {
        rc = store_begin(store, -1, error);
        if (rc)
            break;
        rc = claim_in_run(claimed, store, run, &claimer, error);
        rc = store_end(store, rc, error);
        again = rc && claimer.lost[0];
        if (again) { /* that one fails, and another one is looked for */
            rc = external_task_fail_lost(store, claimed->shown.run, claimed->shown.task,
                                         claimer.lost, error);
            arena_release(&claimed->arena);
            *claimed = (struct claimed){.arena = ARENA_INIT};
            claimer.lost[0] = 0;
        }
    }
    bool found = !rc && claimed->shown.task;
    if (!found && claimed)
        cairn_claimed_free(&claimed->shown);
    if (!rc)
        *out = found ? &claimed->shown : NULL;
    return rc;
}

void cairn_claimed_free(struct cairn_claimed *handle)
{
    struct claimed *claimed = (struct claimed *)handle;
    if (!claimed)
        return;
    arena_release(&claimed->arena);
    free(claimed);
}

/* ---- Renewing ---- */

/* Not in the audit log: it says nothing new, and comes again and again. */
static int renew_claim(struct external_task *t, const char *token, int64_t lease_ms,
                       struct cairn_error *error)
{
    int rc = external_task_check_token(t, token, error);
    /* Given back it can be in a run that has ended, too. */
    if (!rc && lease_ms && !external_task_is_late(t))
        rc = external_task_check_open(t, error);
    struct new_claim claim = {.token = t->claim->token,
                              .holder = t->claim->holder,
                              .lease_ms = lease_ms,
                              .time_ns = t->claim->time_ns};
    return rc ? rc : external_task_put_claim(t, &claim, error);
}

int cairn_renew(struct cairn_store *store, uint64_t run, const char *task,
                const char *token, int64_t lease_ms, struct cairn_error *error)
{
    struct external_task t = {.task = NODE_NONE};
    int rc = lease_ms ? check_lease(lease_ms, error) : 0;
    if (!rc && !token)
        rc = error_set(error, CAIRN_EUSAGE, "a lease is renewed with its token");
    if (!rc)
        rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = external_task_open(&t, store, run, task, error);
    if (!rc) {
        rc = renew_claim(&t, token, lease_ms, error);
        external_task_release(&t);
    }
    return store_end(store, rc, error);
}
