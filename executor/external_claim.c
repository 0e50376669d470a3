/* SPDX-License-Identifier: MIT */
/* External tasks: listing those that can be done, and claiming one. */
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
        .lease_left_ms = claim->left_ms};
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

static int claim_task(struct external_task *t, int64_t lease_ms, const char *holder,
                      const char *token, struct cairn_error *error)
{
    struct buf clean = BUF_INIT;
    int rc = external_task_check_open(t, error);
    if (!rc && t->claim->left_ms > 0)
        rc = external_task_refuse_taken(t, error);
    run_view_redact(&t->view, str_of(holder), &clean);
    if (!rc)
        rc = buf_check(&clean, error);
    struct new_claim claim = {str_of(token), buf_view(&clean), lease_ms, false};
    if (!rc)
        rc = external_task_put_claim(t, &claim, error);
    if (!rc)
        rc = put_claim_event(t, buf_view(&clean), error);
    buf_release(&clean);
    return rc;
}

int cairn_claim(struct cairn_store *store, uint64_t run, const char *task,
                int64_t lease_ms, const char *holder, char token[CAIRN_CLAIM_MAX],
                struct cairn_error *error)
{
    const int64_t longest_ms = 366ll * 86400 * 1000;
    char caller[LIMIT_NAME_BYTES + 1], made[CAIRN_CLAIM_MAX];
    struct external_task t = {.task = NODE_NONE};
    if (lease_ms <= 0 || lease_ms > longest_ms)
        return error_set(error, CAIRN_EUSAGE,
                         "a lease is more than nothing and at most 366 days");
    if (holder && strlen(holder) > LIMIT_NAME_BYTES)
        return error_set(error, CAIRN_ELIMIT,
                         "the name of the holder is longer than %d bytes",
                         LIMIT_NAME_BYTES);
    int rc = make_claim_token(made, error);
    if (!rc && !(holder && *holder))
        rc = describe_caller(caller, sizeof caller, error);
    if (!rc)
        rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = external_task_open(&t, store, run, task, error);
    if (!rc) {
        rc = claim_task(&t, lease_ms, holder && *holder ? holder : caller, made, error);
        external_task_release(&t);
    }
    rc = store_end(store, rc, error);
    if (!rc)
        memcpy(token, made, sizeof made);
    return rc;
}
