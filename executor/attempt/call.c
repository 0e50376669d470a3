/* SPDX-License-Identifier: MIT */
/* The attempt of a task that is a callback. It is asked to stop where a process would
 * get TERM. Where a process would be killed, the run only stops waiting for it. */
#include "executor/attempt/call.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/call_order.h"
#include "executor/attempt/ending.h"
#include "executor/attempt/roles.h"
#include "executor/state/before.h"
#include "executor/state/report.h"

#include "storage/rows_attempt.h"

bool intent_is_call(const struct engine *e, const struct intent *intent)
{
    return intent->role == ROLE_TASK &&
           graph_def(e->request.graph, intent->task)->kind == TASK_CALL;
}

/* ---- Ending ---- */

/* As a command would have ended that does the same. */
static int end_as_process(struct engine *e, struct job *job, const struct call_end *end,
                          struct cairn_error *error)
{
    struct process_end as = {.exit_code = end->outcome == CAIRN_COMPLETED ? 0 : 1};
    struct buf text = BUF_INIT;
    job->cancelled |= end->outcome == CAIRN_CANCELLED || (end->left && !job->timed_out);
    if (end->text)
        buf_text(&text, end->text);
    if (end->left)
        buf_format(&text, "%sits callback has not ended and was left behind",
                   text.size ? "; " : "");
    int rc = role_ops[job->role].ended(e, job, &as, &text, error);
    buf_release(&text);
    return rc;
}

static int call_ended(struct engine *e, struct job *job, const struct call_end *end,
                      struct cairn_error *error)
{
    jobs_end_call(job);
    int rc = role_ops[job->role].answered
                 ? role_ops[job->role].answered(e, job, end, error)
                 : end_as_process(e, job, end, error);
    failure_check_settled(e);
    return rc;
}

/* It was never called. */
static int call_failed(struct engine *e, struct job *job, const char *why,
                       struct cairn_error *error)
{
    struct call_end end = {.outcome = CAIRN_FAILED, .text = why};
    return call_ended(e, job, &end, error);
}

int calls_settle(struct engine *e, struct cairn_error *error)
{
    struct cairn_attempt *call =
        e->calls.threads ? call_threads_collect(e->calls.threads) : NULL;
    int rc = 0;
    while (call) {
        struct cairn_attempt *next = call_next(call);
        struct job *job = &e->jobs.at[call_slot(call)];
        struct call_end end = {call_outcome(call), call_text(call), call, false};
        if (rc)
            jobs_end_call(job);
        else
            rc = call_ended(e, job, &end, error);
        call_release(call);
        call = next;
    }
    return rc;
}

/* ---- Starting ---- */

static int order_task(struct engine *e, const struct job *job, struct arena *scratch,
                      struct call_order *order, struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    return call_order_make(e, job, (struct program_call){def->call, def->context}, NULL,
                           NULL, scratch, order, error);
}

/* While the engine runs it, nothing else is done: so only if nothing can become due
 * meanwhile, and it is likely to return at once. */
static bool runs_here(const struct engine *e, const struct task_def *def)
{
    return !def->timeout_ms && !def->parallel && call_quick(e->calls.threads) &&
           !e->jobs.runner_open;
}

static int run_here(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct call_order order;
    struct arena scratch = ARENA_INIT;
    struct cairn_attempt *call;
    enum cairn_outcome outcome;
    struct cairn_error why = {0};
    int rc = order_task(e, job, &scratch, &order, &why)
                 ?: call_run(e->calls.threads, &order, &call, &outcome, &why);
    arena_release(&scratch);
    if (rc)
        return call_failed(e, job, why.text, error);
    jobs_set_call(job, call);
    struct call_end end = {.outcome = outcome};
    return call ? 0 : call_ended(e, job, &end, error);
}

static int run_elsewhere(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct call_order order;
    struct arena scratch = ARENA_INIT;
    struct cairn_error why = {0};
    int rc = order_task(e, job, &scratch, &order, &why)
                 ?: call_order_start(e, job, &order, &why);
    arena_release(&scratch);
    return rc ? call_failed(e, job, why.text, error) : 0;
}

int call_launch(struct engine *e, const struct intent *intent,
                struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, intent->task);
    if (!def->call)
        return engine_not_started(e, intent, NULL,
                                  "its callback is not in this program", error);
    struct job *job = jobs_take(e, intent);
    before_look(e, intent->task, intent->attempt);
    jobs_begin_call(e, job);
    job->started_ns = loop_utc_ns(e);
    report_start(e, job);
    return runs_here(e, def) ? run_here(e, job, error) : run_elsewhere(e, job, error);
}

/* ---- Leaving one behind ---- */

void call_timed_out(struct engine *e, struct job *job)
{
    job->timed_out = true;
    if (job->grace_over) /* since a stop, which waits for it without its limit */
        loop_set_timer(e, TIMER_KILL, 0, job_index(&e->jobs, job), job->stamp);
    else
        calls_ask_to_stop(e, job);
}

static int leave_behind(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct call_end end = {.outcome = CAIRN_FAILED, .left = true};
    calls_leave(e, job);
    return call_ended(e, job, &end, error);
}

int call_grace_over(struct engine *e, struct job *job, struct cairn_error *error)
{
    int rc = calls_settle(e, error); /* it may have ended just now */
    if (rc || job->state != JOB_CALLED)
        return rc;
    job->grace_over = true;
    return job->timed_out || e->halting.level == HALT_KILL ? leave_behind(e, job, error)
                                                           : 0;
}
