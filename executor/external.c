/* SPDX-License-Identifier: MIT */
#include "executor/command_wait.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/os.h"
#include "base/words.h"
#include "cairn/run.h"
#include "plan/run_view.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct external_task {
    struct run_view view;
    struct claims claims;
    uint32_t task;
    struct claim *claim; /* in `claims` */
};

/* Inside a write transaction. CAIRN_ENOTFOUND; CAIRN_EUSAGE for a task that is not
 * external. */
static int external_task_open(struct external_task *t, struct cairn_store *store,
                              uint64_t run, const char *task,
                              struct cairn_error *error);
static void external_task_release(struct external_task *t);
/* CAIRN_EUSAGE if it cannot be done now; CAIRN_EOWNED if somebody has just ended it. */
static int external_task_check_open(struct external_task *t, struct cairn_error *error);
/* Has the run ended, by something else, while somebody did the task? That it
 * is done, with the token, is kept then, and counts when the run goes on. (A failure is
 * not: it would end the run again at once.) */
static bool external_task_is_late(const struct external_task *t);
/* Returns CAIRN_EOWNED, with the holder's name in the error. */
static int external_task_refuse_taken(const struct external_task *t,
                                      struct cairn_error *error);
/* CAIRN_EOWNED: it is not, or no longer, that of a claim of the task; CAIRN_EUSAGE: the
 * task was ended with it. */
static int external_task_check_token(const struct external_task *t, const char *token,
                                     struct cairn_error *error);

/* Stored by external_task_put_claim as the newest claim of the task. */
struct new_claim {
    struct str token, holder;
    int64_t lease_ms; /* 0: given back */
    bool spent;
    int64_t time_ns; /* of the claim; 0: it is made now */
};

static int external_task_put_claim(const struct external_task *t,
                                   const struct new_claim *claim,
                                   struct cairn_error *error);
/* Reports one as failed whose leases were lost too often, if that is still so. */
static int external_task_fail_lost(struct cairn_store *store, uint64_t run,
                                   const char *task, const char *message,
                                   struct cairn_error *error);

/* ---- Why a task cannot be done now ---- */

static const char *first_open_need(const struct run_view *v, uint32_t task)
{
    uint32_t need = sched_open_need(&v->sched, task);
    return need == NODE_NONE ? "" : v->workflow->graph.id[need];
}

static const char *resume_words(char out[RESUME_WORDS], const struct run_view *v)
{
    return definition_resume_words(out, &v->workflow->definition, v->row.run,
                                   " --no-wait");
}

static int refuse_run(const struct run_view *v, struct cairn_error *error)
{
    char words[RESUME_WORDS];
    return error_set(error, CAIRN_EUSAGE, "run %llu is %s; continue it first: %s",
                     (unsigned long long)v->row.run, cairn_run_state_name(v->row.state),
                     resume_words(words, v));
}

/* Only the owner of the run can offer it again. */
static int refuse_failed(const struct run_view *v, uint32_t task,
                         struct cairn_error *error)
{
    char words[RESUME_WORDS];
    return error_set(error, CAIRN_EUSAGE,
                     "task %s cannot be done now: it is failed; offer it again with: "
                     "%s",
                     v->workflow->graph.id[task], resume_words(words, v));
}

static int refuse_task(const struct run_view *v, uint32_t task,
                       struct cairn_error *error)
{
    const char *id = v->workflow->graph.id[task];
    uint8_t outcome = v->states.outcome[task];
    if (graph_def(&v->workflow->graph, task)->kind != TASK_EXTERNAL)
        return error_set(error, CAIRN_EUSAGE,
                         "task %s is not external: it is cairn that runs it", id);
    if (outcome == CAIRN_FAILED && !v->live && v->row.state == CAIRN_RUN_UNFINISHED)
        return refuse_failed(v, task, error);
    if (outcome != CAIRN_PENDING)
        return error_set(error, CAIRN_EUSAGE, "task %s cannot be done now: it is %s",
                         id, cairn_outcome_name(outcome));
    if (v->sched.state[task] == WAITING)
        return error_set(error, CAIRN_EUSAGE,
                         "task %s cannot be done now: it needs %s, which has not ended",
                         id, first_open_need(v, task));
    return error_set(error, CAIRN_EUSAGE,
                     "task %s cannot be done now: its condition is not met, or the run "
                     "has not come to it",
                     id);
}

/* ---- Opening a task ---- */

static int external_task_open(struct external_task *t, struct cairn_store *store,
                              uint64_t run, const char *task, struct cairn_error *error)
{
    int rc = run_view_open(&t->view, store, run, error);
    if (rc)
        return rc;
    rc = run_view_find(&t->view, task, &t->task, error);
    if (!rc && graph_def(&t->view.workflow->graph, t->task)->kind != TASK_EXTERNAL)
        rc = refuse_task(&t->view, t->task, error);
    if (!rc)
        rc = claims_load(&t->claims, &t->view, error);
    if (rc)
        run_view_release(&t->view);
    else
        t->claim = &t->claims.at[t->task];
    return rc;
}

static void external_task_release(struct external_task *t)
{
    claims_release(&t->claims);
    run_view_release(&t->view);
}

/* Resuming the run would not offer it again. */
static bool has_settled(const struct external_task *t)
{
    return t->view.row.state == CAIRN_RUN_COMPLETED ||
           t->view.states.outcome[t->task] == CAIRN_COMPLETED;
}

static int external_task_check_open(struct external_task *t, struct cairn_error *error)
{
    bool offered, pending;
    const char *id = t->view.workflow->graph.id[t->task];
    if (has_settled(t))
        return refuse_task(&t->view, t->task, error);
    if (t->view.row.state != CAIRN_RUN_UNFINISHED)
        return refuse_run(&t->view, error);
    int rc = run_view_offers(&t->view, t->task, &offered, error);
    if (!rc && !offered)
        rc = refuse_task(&t->view, t->task, error);
    if (!rc)
        rc = run_view_has_command(&t->view, t->task, 0, &pending, error);
    if (!rc && pending)
        rc = error_set(error, CAIRN_EOWNED, "somebody has just done task %s", id);
    return rc;
}

static bool external_task_is_late(const struct external_task *t)
{
    const struct run_view *v = &t->view;
    return !v->live &&
           (v->row.state == CAIRN_RUN_FAILED || v->row.state == CAIRN_RUN_CANCELLED) &&
           v->states.outcome[t->task] == CAIRN_PENDING;
}

static int external_task_refuse_taken(const struct external_task *t,
                                      struct cairn_error *error)
{
    int64_t left = (t->claim->left_ms + 999) / 1000;
    const char *id = t->view.workflow->graph.id[t->task];
    unsigned long long run = t->view.row.run;
    char word[SHELL_WORD_ROOM(256)];
    return error_set(
        error, CAIRN_EOWNED,
        "%.*s has task %s for another %lld second%s: if that is you, "
        "give the --token that `cairn claim %llu %s` has printed; see `cairn next "
        "%llu --claimed`",
        (int)t->claim->holder.len, t->claim->holder.ptr, id, (long long)left,
        left == 1 ? "" : "s", run, shell_word_in(word, sizeof word, str_of(id)), run);
}

static int external_task_check_token(const struct external_task *t, const char *token,
                                     struct cairn_error *error)
{
    const char *id = t->view.workflow->graph.id[t->task];
    if (!t->claim->exists || !str_equal(t->claim->token, str_of(token)))
        return error_set(error, CAIRN_EOWNED,
                         "this token is not, or no longer, that of a claim of task %s",
                         id);
    if (t->claim->spent)
        return error_set(error, CAIRN_EUSAGE,
                         "task %s was ended with this token already", id);
    if (t->claim->left_ms <= 0)
        return error_set(error, CAIRN_EOWNED,
                         "the lease on task %s is over: claim it again", id);
    return 0;
}

static int external_task_put_claim(const struct external_task *t,
                                   const struct new_claim *claim,
                                   struct cairn_error *error)
{
    char boot[37];
    os_boot_id(boot);
    int64_t until = clock_boot_ns() + claim->lease_ms * 1000000;
    struct claim_row row = {.run = t->view.row.run,
                            .gen = t->view.row.gen,
                            .task = t->task,
                            .token = claim->token,
                            .holder = claim->holder,
                            .boot = str_of(boot),
                            .until_boot_ns = claim->lease_ms ? until : CLAIM_GIVEN_BACK,
                            .time_ns = claim->time_ns ? claim->time_ns : clock_utc_ns(),
                            .spent = claim->spent};
    return store_put_claim(t->view.store, &row, error);
}

static int make_claim_token(char token[CAIRN_CLAIM_MAX], struct cairn_error *error)
{
    return random_hex(token, 16, error);
}

/* External tasks: listing those that can be done, claiming one, keeping it. */

/* ---- What can be done ---- */

struct offer_list {
    struct arena arena; /* texts, so that nothing is open while the caller is called */
    struct cairn_next_info *at;
    size_t n;
};

static int add_offer(struct offer_list *list, struct run_view *v, uint32_t task,
                     const struct claim *claim, struct cairn_error *error)
{
    struct asker asker = {.lookup = &v->lookup,
                          .task = task,
                          .attempt = situation_attempts(&v->situation, task) + 1};
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

static bool lost_too_many(const struct external_task *t)
{
    uint32_t most = graph_def(&t->view.workflow->graph, t->task)->lost_claims;
    return t->claim->lost >= (most ? most : LIMIT_LEASES_LOST);
}

/* A step that ends each of its workers would be offered for ever. */
static int refuse_lost(const struct external_task *t, struct claimer *c,
                       struct cairn_error *error)
{
    snprintf(c->lost, sizeof c->lost,
             "%u lease%s on it ran out before anybody reported, the last one of %.*s",
             t->claim->lost, t->claim->lost == 1 ? "" : "s", (int)t->claim->holder.len,
             t->claim->holder.ptr);
    char words[RESUME_WORDS];
    return error_set(
        error, CAIRN_EUSAGE, "task %s has failed: %s; offer it again with: %s",
        t->view.workflow->graph.id[t->task], c->lost, resume_words(words, &t->view));
}

static int claim_task(struct external_task *t, struct claimer *c,
                      struct cairn_error *error)
{
    struct clean clean = CLEAN("");
    int rc = external_task_check_open(t, error);
    if (!rc && t->claim->left_ms > 0)
        rc = external_task_refuse_taken(t, error);
    if (!rc && lost_too_many(t))
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
        rc = external_task_put_claim(t, &claim, error)
                 ?: put_claim_event(t, clean_str(clean), error);
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
        rc = os_caller_name(c->caller, sizeof c->caller, error);
    return rc;
}

int cairn_claim(struct cairn_store *store, uint64_t run, const char *task,
                int64_t lease_ms, const char *holder, char token[CAIRN_CLAIM_MAX],
                struct cairn_error *error)
{
    struct claimer claimer;
    struct external_task t = {.task = NODE_NONE};
    int rc = prepare_claim(&claimer, lease_ms, holder, error)
                 ?: store_begin(store, -1, error);
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

/* External tasks: reporting how one ended. */

/* ---- Who may report ---- */

/* Without a token: only a task that nobody has claimed since it last ended. */
static int check_unclaimed(const struct external_task *t, struct cairn_error *error)
{
    if (!t->claim->exists || t->claim->spent)
        return 0;
    if (t->claim->left_ms > 0)
        return external_task_refuse_taken(t, error);
    return error_set(error, CAIRN_EOWNED,
                     "%.*s had task %s, and the lease is over: claim it",
                     (int)t->claim->holder.len, t->claim->holder.ptr,
                     t->view.workflow->graph.id[t->task]);
}

/* Somebody may have claimed or ended it meanwhile. */
static int check_lost(const struct external_task *t, struct cairn_error *error)
{
    if (t->claim->exists && !t->claim->spent && lost_too_many(t) &&
        t->claim->left_ms == 0)
        return 0;
    return external_task_refuse_taken(t, error);
}

/* Where there was no claim, a spent one is stored, so that nobody else ends the task.
 */
static int spend_claim(const struct external_task *t, const char *token,
                       struct cairn_error *error)
{
    char made[CAIRN_CLAIM_MAX];
    int rc = make_claim_token(made, error);
    if (rc)
        return rc;
    struct new_claim claim = {
        .token = str_of(token ? token : made),
        .holder = token ? t->claim->holder : STR(""),
        .spent = true,
        .time_ns = t->claim->exists && !t->claim->spent ? t->claim->time_ns : 0};
    return external_task_put_claim(t, &claim, error);
}

/* ---- The report ---- */

struct external_report { /* encode_report makes the data of a command of it */
    uint8_t verb;
    const char *token;
    const struct cairn_param *values;
    size_t n_values;
    const char *message;
    bool lost; /* its leases were lost too often: nobody reports it */
};

static int by_key(const void *a, const void *b)
{
    const struct cairn_param *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int check_key(const char *key, struct cairn_error *error)
{
    if (!str_is_env_name(str_of(key)))
        return error_set(
            error, CAIRN_EUSAGE,
            "`%.200s` is not a name of a value: it has letters, digits and "
            "_, and does not begin with a digit",
            key);
    if (strlen(key) > LIMIT_NAME_BYTES)
        return error_set(error, CAIRN_ELIMIT,
                         "the name of a value is longer than %d bytes",
                         LIMIT_NAME_BYTES);
    return 0;
}

static int check_values(const struct external_report *r, struct cairn_error *error)
{
    size_t bytes = 0;
    int rc = 0;
    if (r->n_values > LIMIT_VALUES)
        return error_set(error, CAIRN_ELIMIT, "%zu values; at most %d can be set",
                         r->n_values, LIMIT_VALUES);
    for (size_t i = 0; i < r->n_values && !rc; i++) {
        rc = check_key(r->values[i].name, error);
        bytes += strlen(r->values[i].name) + strlen(r->values[i].value) + 2;
    }
    if (!rc && bytes > LIMIT_VALUES_BYTES)
        rc =
            error_set(error, CAIRN_ELIMIT, "%zu bytes of values; at most %d can be set",
                      bytes, LIMIT_VALUES_BYTES);
    return rc;
}

static int check_report(const struct external_report *r, struct cairn_error *error)
{
    if (r->verb == COMMAND_COMPLETE)
        return check_values(r, error);
    if (r->message && strlen(r->message) > LIMIT_TEXT_BYTES)
        return error_set(error, CAIRN_ELIMIT, "the message is longer than %d bytes",
                         LIMIT_TEXT_BYTES);
    return 0;
}

/* In the order of their keys. Of several with one key the last counts. */
static int encode_values(struct run_view *v, const struct external_report *r,
                         struct buf *data, struct cairn_error *error)
{
    struct cairn_param *sorted = calloc(r->n_values + 1, sizeof *sorted);
    size_t n = 0;
    if (!sorted)
        return error_nomem(error);
    for (size_t i = 0; i < r->n_values; i++) {
        size_t k = 0;
        while (k < n && strcmp(sorted[k].name, r->values[i].name) != 0)
            k++;
        sorted[k] = r->values[i];
        n += k == n;
    }
    qsort(sorted, n, sizeof *sorted, by_key);
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        char what[240];
        struct clean name = CLEAN(""), value = CLEAN("");
        rc = run_view_take(v, OUTSIDE_NAME, "the name of a value", sorted[i].name,
                           &name, error);
        snprintf(what, sizeof what, "the value %.200s", sorted[i].name);
        if (!rc)
            rc = run_view_take(v, OUTSIDE_PROSE, what, sorted[i].value, &value, error);
        buf_lstr(data, clean_str(name));
        buf_lstr(data, clean_str(value));
    }
    free(sorted);
    return rc ? rc : buf_check(data, error);
}

static int encode_report(struct run_view *v, const struct external_report *r,
                         struct buf *data, struct cairn_error *error)
{
    if (r->verb == COMMAND_COMPLETE)
        return encode_values(v, r, data, error);
    struct clean clean = CLEAN("reported as failed");
    int rc = r->message && *r->message ? run_view_take(v, OUTSIDE_PROSE, "the message",
                                                       r->message, &clean, error)
                                       : 0;
    buf_str(data, clean_str(clean));
    return rc ? rc : buf_check(data, error);
}

/* ---- Sending it ---- */

static int put_report(struct external_task *t, const struct external_report *r,
                      struct queued_command *command, struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    int rc = r->token ? external_task_check_token(t, r->token, error) : 0;
    bool kept = r->verb == COMMAND_COMPLETE && r->token && external_task_is_late(t);
    if (!rc && !kept)
        rc = external_task_check_open(t, error);
    if (!rc && !r->token)
        rc = r->lost ? check_lost(t, error) : check_unclaimed(t, error);
    if (!rc && r->verb == COMMAND_COMPLETE)
        rc = run_view_check_outputs(&t->view, t->task, error);
    if (!rc)
        rc =
            spend_claim(t, r->token, error) ?: encode_report(&t->view, r, &data, error);
    struct command_row row = {.verb = r->verb,
                              .task = t->task,
                              .time_ns = clock_utc_ns(),
                              .data = buf_view(&data)};
    if (!rc)
        rc = run_view_put_command(&t->view, &row, command, error);
    buf_release(&data);
    return rc;
}

/* What was refused has ended nothing: the claim is as it was before, unless somebody
 * has taken the task meanwhile. */
static int restore_claim(const struct external_task *t, const char *token,
                         int64_t until_ns, bool *restored, struct cairn_error *error)
{
    int64_t left_ms = (until_ns - clock_boot_ns()) / 1000000;
    struct new_claim claim = {.token = str_of(token),
                              .holder = t->claim->holder,
                              .lease_ms = left_ms > 1 ? left_ms : 1,
                              .time_ns = t->claim->time_ns};
    if (t->view.states.outcome[t->task] != CAIRN_PENDING || !t->claim->spent ||
        !str_equal(t->claim->token, claim.token))
        return 0;
    *restored = true;
    return external_task_put_claim(t, &claim, error);
}

/* Returns `refused`, which *error is about. */
static int give_claim_back(struct cairn_store *store, uint64_t run, const char *task,
                           const char *token, int64_t until_ns, int refused,
                           struct cairn_error *error)
{
    struct external_task t = {.task = NODE_NONE};
    struct cairn_error why;
    bool restored = false;
    int rc = store_begin(store, -1, &why);
    if (rc)
        return refused;
    rc = external_task_open(&t, store, run, task, &why);
    if (!rc) {
        rc = restore_claim(&t, token, until_ns, &restored, &why);
        external_task_release(&t);
    }
    rc = store_end(store, rc, &why);
    if (rc || !restored)
        return refused;
    why = *error;
    return error_set(error, (enum cairn_code)refused, "%s; the claim still holds",
                     why.text);
}

static int send_report(struct cairn_store *store, uint64_t run, const char *task,
                       const struct external_report *r, struct cairn_error *error)
{
    struct external_task t = {.task = NODE_NONE};
    int64_t until_ns = 0;
    struct queued_command command = {.task = task, .done = r->verb == COMMAND_COMPLETE};
    int rc = check_report(r, error) ?: store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = external_task_open(&t, store, run, task, error);
    if (!rc) {
        until_ns = clock_boot_ns() + t.claim->left_ms * 1000000;
        rc = put_report(&t, r, &command, error);
        external_task_release(&t);
    }
    rc = store_end(store, rc, error);
    if (rc)
        return rc;
    rc = command_wait(store, &command, error);
    if (rc != CAIRN_EUSAGE || !r->token)
        return rc;
    return give_claim_back(store, run, task, r->token, until_ns, rc, error);
}

int cairn_complete(struct cairn_store *store, uint64_t run, const char *task,
                   const char *token, const struct cairn_param *values, size_t n_values,
                   struct cairn_error *error)
{
    struct external_report r = {.verb = COMMAND_COMPLETE,
                                .token = token,
                                .values = values,
                                .n_values = n_values};
    return send_report(store, run, task, &r, error);
}

int cairn_fail(struct cairn_store *store, uint64_t run, const char *task,
               const char *token, const char *message, struct cairn_error *error)
{
    struct external_report r = {
        .verb = COMMAND_FAIL, .token = token, .message = message};
    return send_report(store, run, task, &r, error);
}

static int external_task_fail_lost(struct cairn_store *store, uint64_t run,
                                   const char *task, const char *message,
                                   struct cairn_error *error)
{
    struct external_report r = {.verb = COMMAND_FAIL, .message = message, .lost = true};
    return send_report(store, run, task, &r, error);
}
