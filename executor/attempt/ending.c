/* SPDX-License-Identifier: MIT */
/* Whether a failure stops the run: it does, unless a handler may still run. Each
 * settled ending of the turn is read once. */
#include "executor/attempt/ending.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/kept.h"
#include "executor/attempt/roles.h"
#include "executor/state/job_disk.h"
#include "executor/state/report.h"

#include "plan/decide.h"
#include "process/spawner.h"

#include <errno.h>

static bool has_not_ended(const void *context, uint32_t handler)
{
    const struct engine *e = context;
    const uint8_t *aside = e->progress.sched.aside;
    return e->progress.sched.state[handler] != ENDED && !(aside && aside[handler]);
}

bool failure_unhandled(const struct engine *e, uint32_t task, bool still_open)
{
    const struct graph *g = e->request.graph;
    return !failure_is_handled(g, task, &e->progress.states, NULL) &&
           !(still_open && failure_has_handler(g, task, has_not_ended, e));
}

static void stop_after_failure(struct engine *e, uint32_t task)
{
    char text[256];
    if (failure_policy(e) == ON_FAILURE_CONTINUE || e->phase != PHASE_MAIN ||
        e->halting.level || !failure_unhandled(e, task, true))
        return;
    snprintf(text, sizeof text, "%s failed", e->request.graph->id[task]);
    halt_run(e, HALT_FAILURE, text);
}

void failure_check_recorded(struct engine *e)
{
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        if (e->progress.states.outcome[task] == CAIRN_FAILED &&
            !failed_before(e, task) && !graph_def(e->request.graph, task)->finally)
            stop_after_failure(e, task);
}

/* A task with `when: failed` ended without completing: what it would have handled. */
static void stop_after_handler(struct engine *e, uint32_t task)
{
    const struct graph *g = e->request.graph;
    for (uint32_t i = g->need_start[task]; i < g->need_start[task + 1]; i++) {
        uint32_t need = g->needs[i];
        if (!graph_is_barrier(g, need)) {
            if (e->progress.states.outcome[need] == CAIRN_FAILED)
                stop_after_failure(e, need);
            continue;
        }
        for (uint32_t k = g->need_start[need]; k < g->need_start[need + 1]; k++)
            if (e->progress.states.outcome[g->needs[k]] == CAIRN_FAILED)
                stop_after_failure(e, g->needs[k]);
    }
}

static bool is_handler(const struct engine *e, uint32_t task)
{
    return task_is_handler(graph_def(e->request.graph, task));
}

static void check_settled(struct engine *e, const struct ending *ending)
{
    uint32_t task = ending->change.task;
    if (ending->change.outcome == CAIRN_FAILED)
        stop_after_failure(e, task);
    if (ending->change.outcome != CAIRN_COMPLETED && is_handler(e, task))
        stop_after_handler(e, task);
    for (uint32_t i = 0; i < ending->skipped.n; i++)
        if (is_handler(e, ending->skipped.at[i].task))
            stop_after_handler(e, ending->skipped.at[i].task);
}

void failure_check_settled(struct engine *e)
{
    const struct ending *ending;
    while ((ending = turn_next_settled(e)))
        check_settled(e, ending);
}

/* What the runner says of a process: that it runs, that it was never made, or how it
 * ended. The role of its attempt decides what that means. */

/* What a shell would have made of it, with the signal in words. Unless the whole
 * group was signalled by us: that ends the shell, too. */
static void describe_end_as_shell(const struct job *job, struct process_end *end,
                                  struct buf *text)
{
    const struct spawn_request *request = &job->request;
    if (!end->signal || !request->otherwise || request->other || job_was_asked(job))
        return;
    job_describe_signal(end->signal, text);
    end->exit_code = 128 + end->signal;
    end->signal = 0;
}

/* So that nobody wonders where a server has gone. */
static void tell_left_behind(struct engine *e, const struct job *job, pid_t group)
{
    enum { TOLD_MOST = 10 };
    struct buf text = BUF_INIT, names = BUF_INIT;
    if (job->role != ROLE_TASK || job_was_asked(job) ||
        e->jobs.leftovers_told == TOLD_MOST)
        return;
    left_behind_names(group, &names);
    if (names.size) {
        jobs_told_leftovers(e);
        buf_format(
            &text,
            "%s left processes behind, which were ended with it: %s; one that is "
            "to stay needs a session of its own: setsid -f COMMAND",
            e->request.graph->id[job->intent.task], names.data);
        report(e, CAIRN_EVENT_NOTICE, text.failed ? "out of memory" : text.data);
    }
    buf_release(&names);
    buf_release(&text);
}

static int settle_end(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct process_end end = {.exit_code = -1};
    struct cairn_error local = {0};
    struct buf text = BUF_INIT;
    pid_t group = job->process.pid;
    int rc = 0;
    if (job->kept)
        rc = kept_ended(e, job, &end, &text, error);
    else if (jobs_reap(e, job, &end, &local)) {
        end.unknown = true;
        buf_format(&text, "its end could not be learned: %s", local.text);
    } else
        describe_end_as_shell(job, &end, &text);
    if (!job->kept && end.left_behind)
        tell_left_behind(e, job, group);
    if (!rc && end.exit_code != 0)
        job_check_disk(e, job);
    if (rc)
        rc = rc < 0 ? rc : 0;
    else
        rc = role_ops[job->role].ended(e, job, &end, &text, error);
    failure_check_settled(e);
    buf_release(&text);
    return rc;
}

void let_next_start(struct engine *e, uint64_t ticket)
{
    e->request.runner->ops->go_on(e->request.runner, ticket);
}

int engine_exited(struct engine *e, struct job *job, struct cairn_error *error)
{
    uint64_t ticket = job->stamp; /* the job may have another process afterwards */
    int rc = settle_end(e, job, error);
    if (job->state != JOB_LOOKING) /* else afterwards */
        let_next_start(e, ticket);
    return rc;
}

static void start_timers(struct engine *e, const struct job *job)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    int64_t timeout_ms = job->role == ROLE_TASK && task_def_is_service(def)
                             ? def->ready_within_ms
                             : def->timeout_ms;
    if (timeout_ms && !job->kept)
        loop_set_timer(e, TIMER_TIMEOUT, timeout_ms * 1000000, job_index(&e->jobs, job),
                       job->stamp);
}

/* There is no process after all. */
static int not_spawned(struct engine *e, struct job *job,
                       const struct spawn_request *request, struct cairn_error *error)
{
    struct process_end end = {.exit_code = request->exit_code};
    struct buf text = BUF_INIT;
    spawn_describe_failure(request, &text);
    job->started_ns = job->started_ns ? job->started_ns : loop_utc_ns(e);
    if (end.exit_code == 0)
        end.exit_code = -1;
    int rc = role_ops[job->role].ended(e, job, &end, &text, error);
    failure_check_settled(e);
    buf_release(&text);
    return rc;
}

/* It was taken back before it had started. */
static int free_recalled(struct engine *e, struct job *job, struct cairn_error *error)
{
    struct intent intent = job->intent;
    jobs_free_recalled(e, job);
    sched_return(&e->progress.sched, intent.task);
    return starts_drop(&e->starts, &intent) ? error_nomem(error) : 0;
}

int engine_spawned(struct engine *e, struct spawn_request *request,
                   struct cairn_error *error)
{
    struct job *job = request->context;
    uint64_t ticket = job->stamp;
    jobs_take_process(e, job, request);
    job_pipes_spawned(job);
    if (request->error == ECANCELED)
        return free_recalled(e, job, error);
    if (request->error) {
        int rc = not_spawned(e, job, request, error);
        let_next_start(e, ticket);
        return rc;
    }
    if (role_ops[job->role].started)
        role_ops[job->role].started(e, job);
    int rc = job_pipes_watch(e, job, error);
    if (halt_cancels(e, job) ||
        (e->halting.level >= HALT_STOP &&
         (e->phase == PHASE_MAIN || e->halting.level == HALT_KILL)))
        halt_job(e, job);
    uint32_t lost = sched_lost_service(&e->progress.sched, job->intent.task);
    if (lost != NODE_NONE && job->role == ROLE_TASK)
        halt_bereft(e, job, lost);
    if (!rc)
        start_timers(e, job);
    return rc;
}

int engine_not_started(struct engine *e, const struct intent *intent,
                       const struct result *read, const char *why,
                       struct cairn_error *error)
{
    int rc = role_ops[intent->role].not_started(e, intent, read, why, error);
    failure_check_settled(e);
    return rc;
}
