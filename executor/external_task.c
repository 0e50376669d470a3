/* SPDX-License-Identifier: MIT */
#include "executor/external_task.h"

#include "base/clock.h"
#include "base/os.h"
#include "base/shell_word.h"
#include "storage/rows_command.h"

/* ---- Why a task cannot be done now ---- */

static const char *first_open_need(const struct run_view *v, uint32_t task)
{
    uint32_t need = sched_open_need(&v->sched, task);
    return need == NODE_NONE ? "" : v->workflow->graph.id[need];
}

static int refuse_run(const struct run_view *v, struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE,
                     "run %llu is %s; go on with it first: `cairn resume %llu "
                     "--no-wait`",
                     (unsigned long long)v->row.run, cairn_run_state_name(v->row.state),
                     (unsigned long long)v->row.run);
}

/* Only the owner of the run can offer it again. */
static int refuse_failed(const struct run_view *v, uint32_t task,
                         struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE,
                     "task %s cannot be done now: it is failed; offer it again with: "
                     "`cairn resume %llu --no-wait`",
                     v->workflow->graph.id[task], (unsigned long long)v->row.run);
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

int external_task_open(struct external_task *t, struct cairn_store *store, uint64_t run,
                       const char *task, struct cairn_error *error)
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

void external_task_release(struct external_task *t)
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

int external_task_check_open(struct external_task *t, struct cairn_error *error)
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

bool external_task_is_late(const struct external_task *t)
{
    const struct run_view *v = &t->view;
    return !v->live &&
           (v->row.state == CAIRN_RUN_FAILED || v->row.state == CAIRN_RUN_CANCELLED) &&
           v->states.outcome[t->task] == CAIRN_PENDING;
}

int external_task_refuse_taken(const struct external_task *t, struct cairn_error *error)
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

int external_task_check_token(const struct external_task *t, const char *token,
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

int external_task_put_claim(const struct external_task *t,
                            const struct new_claim *claim, struct cairn_error *error)
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

int make_claim_token(char token[CAIRN_CLAIM_MAX], struct cairn_error *error)
{
    uint8_t bytes[16];
    int rc = random_bytes(bytes, sizeof bytes, error);
    for (size_t i = 0; i < sizeof bytes && !rc; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return rc;
}
