/* SPDX-License-Identifier: MIT */
/* Stopping, and time limits. TERM goes to the whole group of a task, KILL after its
 * grace. */
#include "executor/state/report.h"

#include "plan/stop.h"
#include "storage/rows_event.h"

#include <stdio.h>

/* Before the signal: so the note of its end says that we wanted it. */
static void note_wish(struct job *job)
{
    atomic_fetch_or(&job->request.note_flags,
                    job->timed_out && !job->cancelled ? NOTE_TIMED_OUT : NOTE_STOPPED);
}

static void stop_job(struct engine *e, const struct job *job, enum runner_stop how)
{
    e->request.runner->ops->stop(e->request.runner, &job->process, how);
}

static void kill_job(struct engine *e, struct job *job)
{
    job->killed = true;
    note_wish(job);
    stop_job(e, job, RUNNER_KILL);
}

static void ask_to_end(struct engine *e, struct job *job)
{
    note_wish(job);
    stop_job(e, job, RUNNER_ASK);
    int64_t grace_ms = graph_def(e->request.graph, job->intent.task)->grace_ms;
    loop_set_timer(e, TIMER_KILL, grace_ms * 1000000, job_index(&e->jobs, job),
                   job->stamp);
}

/* Not yet collected: neither a wish to stop nor a time limit came in time. What a
 * keeper has ended says so itself. */
static bool has_ended(struct engine *e, const struct job *job)
{
    return !job->kept &&
           e->request.runner->ops->has_ended(e->request.runner, &job->process);
}

void halt_job(struct engine *e, struct job *job)
{
    if (has_ended(e, job))
        return;
    bool asked = job_was_asked(job);
    job->cancelled = true;
    if (job->kept)
        stop_job(e, job, e->halting.level == HALT_KILL ? RUNNER_KILL : RUNNER_ASK);
    else if (e->halting.level == HALT_KILL)
        kill_job(e, job);
    else if (!asked)
        ask_to_end(e, job);
}

void halt_dismiss(struct engine *e, struct job *job)
{
    if (!job_was_asked(job))
        ask_to_end(e, job);
    job->dismissed = true;
}

void halt_bereft(struct engine *e, struct job *job, uint32_t service)
{
    bool asked = job_was_asked(job);
    if (has_ended(e, job))
        return;
    job->bereft = service + 1;
    if (!asked)
        ask_to_end(e, job);
}

void halt_probe(struct engine *e, struct job *job)
{
    job->cancelled = true;
    kill_job(e, job);
}

/* A first stop waits for callbacks; a second one only for the rest of their grace. */
static void halt_call(struct engine *e, struct job *job)
{
    if (!job->asked)
        calls_ask_to_stop(e, job);
    else if (e->halting.level == HALT_KILL && job->grace_over)
        loop_set_timer(e, TIMER_KILL, 0, job_index(&e->jobs, job), job->stamp);
}

void halt_look(struct engine *e, struct job *job)
{
    int64_t grace_ms = graph_def(e->request.graph, job->intent.task)->grace_ms;
    if (e->halting.level == HALT_KILL)
        looks_stop(e, job);
    else
        loop_set_timer(e, TIMER_KILL, grace_ms * 1000000, job_index(&e->jobs, job),
                       job->stamp);
}

/* What waits for its inputs to be read has not started, and need not. */
static void stop_unwanted_looks(struct engine *e)
{
    for (uint32_t i = 0; i < e->jobs.n; i++) {
        struct job *job = &e->jobs.at[i];
        if (job->state != JOB_LOOKING || !job->awaits_inputs)
            continue;
        const struct task_def *def = graph_def(e->request.graph, job->intent.task);
        if (!(e->progress.sched.allowed & sched_kind_of(def)))
            looks_stop(e, job);
    }
}

/* Because of another failure: a task that would not start any more. What must not run
 * twice is not ended half-way, nor is a service before those that need it. */
bool halt_cancels(const struct engine *e, const struct job *job)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    return e->halting.level == HALT_FAILURE && e->phase == PHASE_MAIN &&
           failure_policy(e) == ON_FAILURE_CANCEL && !job->beside && !def->once &&
           (job->role == ROLE_TASK || job->role == ROLE_CHECK) &&
           sched_kind_of(def) == SCHED_ORDINARY;
}

static void cancel_others(struct engine *e)
{
    uint32_t n = 0;
    char text[sizeof e->halting.why + 64];
    for (uint32_t i = 0; i < e->jobs.n; i++)
        n += e->jobs.at[i].state == JOB_RUNNING && halt_cancels(e, &e->jobs.at[i]);
    snprintf(text, sizeof text, "%s: ending %u other task%s (`on_failure: cancel`)",
             e->halting.why, n, n == 1 ? "" : "s");
    if (n)
        report(e, CAIRN_EVENT_NOTICE, text);
    for (uint32_t i = 0; i < e->jobs.n; i++) {
        if (!halt_cancels(e, &e->jobs.at[i]))
            continue;
        if (e->jobs.at[i].state == JOB_RUNNING)
            halt_job(e, &e->jobs.at[i]);
        else if (e->jobs.at[i].state == JOB_CALLED)
            halt_call(e, &e->jobs.at[i]);
    }
}

/* A first wish to stop lets the undoing and `finally` finish. */
static bool lets_running_finish(const struct engine *e, enum halt halt)
{
    return halt == HALT_STOP && e->phase != PHASE_MAIN;
}

void halt_run(struct engine *e, enum halt halt, const char *why)
{
    if (halt <= e->halting.level)
        return;
    e->halting.level = halt;
    snprintf(e->halting.why, sizeof e->halting.why, "%s", why);
    if (!lets_running_finish(e, halt)) /* else more is started */
        audit_event(e, EVENT_HALTED, (uint8_t)halt, UINT32_MAX, str_of(why));
    if (e->phase == PHASE_MAIN)
        sched_allow(&e->progress.sched, halt == HALT_FAILURE ? SCHED_HANDLERS : 0);
    else if (halt == HALT_KILL)
        sched_allow(&e->progress.sched, 0);
    turn_withdraw_intents(e);
    if (e->jobs.runner_open)
        e->request.runner->ops->recall(e->request.runner);
    stop_unwanted_looks(e);
    if (halt < HALT_STOP) {
        cancel_others(e);
        return;
    }
    report(e, CAIRN_EVENT_STOPPING, e->halting.why);
    for (uint32_t i = 0; !lets_running_finish(e, halt) && i < e->jobs.n; i++) {
        if (e->jobs.at[i].beside && halt != HALT_KILL)
            continue; /* services end behind what needs them (attempt/service.c) */
        if (e->jobs.at[i].state == JOB_RUNNING)
            halt_job(e, &e->jobs.at[i]);
        else if (e->jobs.at[i].state == JOB_CALLED)
            halt_call(e, &e->jobs.at[i]);
        else if (e->jobs.at[i].state == JOB_LOOKING && !e->jobs.at[i].awaits_inputs)
            halt_look(e, &e->jobs.at[i]);
    }
}

/* What a first wish to stop waits for. */
static const char *what_goes_on(const struct engine *e)
{
    if (e->phase == PHASE_FINALLY)
        return "the `finally` tasks";
    return e->request.mode == MODE_UNDO ? "the undo commands"
                                        : "the undo commands and `finally` tasks";
}

void halt_cancelled(struct engine *e)
{
    char why[sizeof e->halting.why] = "cancelled by `cairn cancel`";
    if (e->phase != PHASE_MAIN)
        snprintf(why, sizeof why, "when %s have run (asked by `cairn cancel`)",
                 what_goes_on(e));
    halt_run(e, HALT_STOP, why);
}

static void stop_gracefully(struct engine *e)
{
    char why[sizeof e->halting.why] = "ending running tasks; ask again to end them at "
                                      "once";
    if (e->phase != PHASE_MAIN)
        snprintf(why, sizeof why, "when %s have run; ask again to end them at once",
                 what_goes_on(e));
    halt_run(e, HALT_STOP, why);
}

void halt_asked(struct engine *e)
{
    uint32_t count = e->request.options->stop->count;
    if (count > e->halting.stops_seen && count > 1)
        halt_run(e, HALT_KILL,
                 e->phase == PHASE_MAIN ? "ending running tasks at once"
                                        : "ending what runs at once");
    else if (count > e->halting.stops_seen)
        stop_gracefully(e);
    e->halting.stops_seen = count;
}

void halt_timed_out(struct engine *e, const struct timer *timer)
{
    struct job *job = &e->jobs.at[timer->index];
    if (job->state != JOB_RUNNING || job->stamp != timer->stamp || job_was_asked(job) ||
        has_ended(e, job))
        return;
    if (job->beside && e->progress.sched.state[job->intent.task] == UP)
        return; /* it was ready in time */
    job->timed_out = true;
    ask_to_end(e, job);
}

void halt_grace_over(struct engine *e, const struct timer *timer)
{
    struct job *job = &e->jobs.at[timer->index];
    if (job->stamp != timer->stamp)
        return;
    if (job->state == JOB_RUNNING)
        kill_job(e, job);
    else if (job->state == JOB_LOOKING && !job->awaits_inputs)
        looks_stop(e, job);
}
