/* SPDX-License-Identifier: MIT */
/* The attempt of a task that is a callback. It is asked to stop where a process would
 * get TERM. Where a process would be killed, the run only stops waiting for it. */
#include "executor/attempt/call.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/ending.h"
#include "executor/attempt/round.h"
#include "executor/state/before.h"
#include "executor/state/report.h"

#include "storage/rows_attempt.h"

bool intent_is_call(const struct engine *e, const struct intent *intent)
{
    return intent->role == ROLE_TASK &&
           graph_def(e->request.graph, intent->task)->kind == TASK_CALL;
}

/* ---- Ending ---- */

static void describe_answer(struct ending *ending, enum cairn_outcome outcome,
                            const char *text)
{
    if (outcome == CAIRN_COMPLETED || outcome == CAIRN_CANCELLED)
        ending->row.outcome = (uint8_t)outcome;
    else
        ending->row.outcome = CAIRN_FAILED;
    if (text)
        buf_text(&ending->text, text);
    else if (ending->row.outcome == CAIRN_FAILED && outcome != CAIRN_FAILED)
        buf_format(&ending->text,
                   "its callback answered %d (%s); it can be completed, failed or "
                   "cancelled",
                   (int)outcome, cairn_outcome_name(outcome));
}

static void describe_time_limit(const struct engine *e, struct ending *ending,
                                const char *more)
{
    const struct task_def *def = graph_def(e->request.graph, ending->row.task);
    ending->row.outcome = def->once ? CAIRN_UNKNOWN : CAIRN_FAILED;
    ending->row.flags |= ATTEMPT_TIMED_OUT;
    buf_clear(&ending->text);
    buf_format(&ending->text, "timed out after %g s%s", (double)def->timeout_ms / 1000,
               more);
}

/* `call`: what has ended, whose values count if it completed; or NULL. */
static int settle_call(struct engine *e, struct job *job,
                       const struct cairn_attempt *call, struct ending *ending,
                       struct cairn_error *error)
{
    job->result = (struct result){0};
    job->reading_ns = 0;
    arena_release(&job->arena);
    int rc = call && ending->row.outcome == CAIRN_COMPLETED
                 ? call_values(call, &job->arena, &job->result.values,
                               &job->result.n_values, error)
                 : 0;
    if (!rc)
        rc = result_begin(e, job, ending, error);
    if (rc)
        return rc == LOOK_WAITS ? 0 : rc;
    end_or_repeat(e, job, ending);
    failure_check_settled(e);
    return 0;
}

int call_looked(struct engine *e, struct job *job, struct ending *ending, int rc,
                struct cairn_error *why)
{
    rc = result_finish(e, job, ending, rc, why);
    if (rc)
        return rc;
    end_or_repeat(e, job, ending);
    return 0;
}

/* `call` NULL: it left neither values nor a message, or never ran. */
static int call_ended(struct engine *e, struct job *job, enum cairn_outcome outcome,
                      const struct cairn_attempt *call, const char *text,
                      struct cairn_error *error)
{
    jobs_end_call(job);
    struct ending *ending = ending_of_job(e, job, NULL, error);
    if (!ending)
        return CAIRN_ENOMEM;
    if (job->timed_out)
        describe_time_limit(e, ending, "");
    else
        describe_answer(ending, outcome, call ? call_text(call) : text);
    if (job->bereft && ending->row.outcome == CAIRN_COMPLETED) {
        ending->row.outcome = CAIRN_FAILED;
        buf_clear(&ending->text);
        job_describe_end(e, job, ending);
    }
    return settle_call(e, job, call, ending, error);
}

int calls_settle(struct engine *e, struct cairn_error *error)
{
    struct cairn_attempt *call =
        e->calls.threads ? call_threads_collect(e->calls.threads) : NULL;
    int rc = 0;
    while (call) {
        struct cairn_attempt *next = call_next(call);
        struct job *job = &e->jobs.at[call_slot(call)];
        if (rc)
            jobs_end_call(job);
        else
            rc = call_ended(e, job, call_outcome(call), call, NULL, error);
        call_release(call);
        call = next;
    }
    return rc;
}

/* ---- Starting ---- */

/* What the tasks that it needs have passed on, in the scratch arena. */
static int find_needs(struct engine *e, uint32_t task, struct arena *scratch,
                      struct call_order *order, struct cairn_error *error)
{
    const struct graph *g = e->request.graph;
    const struct states *states = &e->progress.states;
    uint32_t first = g->need_start[task], end = g->need_start[task + 1], n = 0;
    struct call_need *needs = NULL;
    for (uint32_t i = first; states->outputs && i < end; i++) {
        uint32_t need = g->needs[i];
        const struct result *result;
        if (graph_need_is_order(g, task, i) || need >= states->n ||
            states->outcome[need] != CAIRN_COMPLETED ||
            digest_is_none(&states->outputs[need]))
            continue;
        int rc = lookup_result(&e->progress.lookup, need, &result, error);
        if (rc)
            return rc;
        if (!needs)
            needs = arena_take(scratch, end - first, sizeof *needs);
        if (!needs)
            return error_nomem(error);
        uint32_t lists = result_lists(result);
        if (result->n_values > lists)
            needs[n++] = (struct call_need){g->id[need], result->values + lists,
                                            result->n_values - lists};
    }
    order->needs = needs;
    order->n_needs = n;
    return 0;
}

/* Its arguments with the values put in, in the scratch arena. */
static int find_arguments(struct engine *e, const struct job *job,
                          struct arena *scratch, struct call_order *order,
                          struct cairn_error *error)
{
    struct asker asker = job_asker(e, job);
    struct scope scope = lookup_scope(&asker);
    const struct task_def *def = scope.def;
    struct key_value *arguments =
        def->n_env ? arena_take(scratch, def->n_env, sizeof *arguments) : NULL;
    struct buf text = BUF_INIT;
    int rc = 0;
    for (uint32_t i = 0; arguments && i < def->n_env && !rc; i++) {
        buf_clear(&text);
        rc = text_expand(&scope, def->env[i].value, &text, error);
        arguments[i] =
            (struct key_value){def->env[i].key, arena_str(scratch, buf_view(&text))};
    }
    buf_release(&text);
    order->arguments = arguments;
    order->n_arguments = arguments ? def->n_env : 0;
    return rc ? rc : scratch->failed ? error_nomem(error) : 0;
}

/* What it is given is in the scratch arena. */
static int order_call(struct engine *e, const struct job *job, struct arena *scratch,
                      struct call_order *order, struct cairn_error *error)
{
    const struct intent *intent = &job->intent;
    const struct task_def *def = graph_def(e->request.graph, intent->task);
    *order = (struct call_order){.call = def->call,
                                 .context = def->context,
                                 .task = e->request.graph->id[intent->task],
                                 .number = intent->attempt,
                                 .slot = job_index(&e->jobs, job),
                                 .parallel = def->parallel,
                                 .stop = e->request.options->stop};
    return find_needs(e, intent->task, scratch, order, error)
               ?: find_arguments(e, job, scratch, order, error);
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
    int rc = order_call(e, job, &scratch, &order, &why)
                 ?: call_run(e->calls.threads, &order, &call, &outcome, &why);
    arena_release(&scratch);
    if (rc)
        return call_ended(e, job, CAIRN_FAILED, NULL, why.text, error);
    jobs_set_call(job, call);
    return call ? 0 : call_ended(e, job, outcome, NULL, NULL, error);
}

static int run_elsewhere(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct call_order order;
    struct arena scratch = ARENA_INIT;
    struct cairn_error why = {0};
    struct cairn_attempt *call = NULL;
    int64_t timeout_ms = graph_def(e->request.graph, job->intent.task)->timeout_ms;
    int rc = order_call(e, job, &scratch, &order, &why)
                 ?: call_start(e->calls.threads, &order, &call, &why);
    arena_release(&scratch);
    if (rc)
        return call_ended(e, job, CAIRN_FAILED, NULL, why.text, error);
    jobs_set_call(job, call);
    if (timeout_ms)
        loop_set_timer(e, TIMER_TIMEOUT, timeout_ms * 1000000, job_index(&e->jobs, job),
                       job->stamp);
    return 0;
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
    static const char left[] = "; its callback has not ended and was left behind";
    struct ending *ending = ending_of_job(e, job, NULL, error);
    if (!ending)
        return CAIRN_ENOMEM;
    calls_leave(e, job);
    jobs_end_call(job);
    if (job->timed_out)
        describe_time_limit(e, ending, left);
    else {
        bool once = graph_def(e->request.graph, job->intent.task)->once;
        ending->row.outcome = once ? CAIRN_UNKNOWN : CAIRN_CANCELLED;
        buf_format(&ending->text, "cancelled%s", left);
    }
    return settle_call(e, job, NULL, ending, error);
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
