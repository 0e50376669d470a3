/* SPDX-License-Identifier: MIT */
/* Out of memory or a damaged store in the middle of a run. */
#include "executor/give_up.h"

/* The runner notes its end before it tells us, and cannot once it is reaped. */
static bool awaits_note(const struct job *job)
{
    return job->noted && job->request.watched && !job->request.ended;
}

/* What has ended by itself is for the next run, which finds the note of its end. */
static void end_job(struct engine *e, struct job *job)
{
    struct runner *runner = e->request.runner;
    struct process_end unused;
    if (!runner->ops->has_ended(runner, &job->process)) {
        atomic_fetch_or(&job->request.note_flags, NOTE_STOPPED);
        runner->ops->stop(runner, &job->process, RUNNER_KILL);
    }
    if (runner->ops->has_ended(runner, &job->process) && !awaits_note(job))
        (void)jobs_reap(e, job, &unused, NULL);
}

static void take_requests(struct engine *e)
{
    struct runner *runner = e->request.runner;
    struct spawn_request *request = NULL;
    if (e->jobs.runner_open)
        (void)runner->ops->collect(runner, &request, NULL);
    for (; request; request = request->next) {
        struct job *job = request->context;
        if (job->state == JOB_SPAWNING) /* else its end, which is looked at below */
            jobs_take_process(e, job, request);
    }
}

/* Callbacks have what is left of their grace. */
static void end_calls(struct engine *e, int64_t since_ns)
{
    struct cairn_attempt *call =
        e->calls.threads ? call_threads_collect(e->calls.threads) : NULL;
    while (call) {
        struct cairn_attempt *next = call_next(call);
        jobs_end_call(&e->jobs.at[call_slot(call)]);
        call_release(call);
        call = next;
    }
    for (uint32_t i = 0; i < e->jobs.n; i++) {
        struct job *job = &e->jobs.at[i];
        if (job->state != JOB_CALLED)
            continue;
        int64_t grace_ms = graph_def(e->request.graph, job->intent.task)->grace_ms;
        if (loop_now_ns(e) - since_ns < grace_ms * 1000000)
            continue;
        calls_leave(e, job);
        jobs_end_call(job);
    }
}

static void end_jobs(struct engine *e)
{
    for (uint32_t i = 0; i < e->jobs.n; i++) {
        struct job *job = &e->jobs.at[i];
        if (job->state == JOB_RUNNING)
            end_job(e, job);
        looks_stop(e, job); /* what it finds is dropped with the threads */
        if (job->state == JOB_OVER || job->state == JOB_LOOKING)
            jobs_abandon(e, job);
    }
}

/* Checks, too: the seats of what is ended here stay taken, so what waits in the runner
 * would never start. */
static void recall_all(struct engine *e)
{
    struct runner *runner = e->request.runner;
    for (uint32_t i = 0; i < e->jobs.n; i++)
        if (e->jobs.at[i].state == JOB_SPAWNING)
            e->jobs.at[i].request.may_recall = true;
    if (e->jobs.runner_open)
        runner->ops->recall(runner);
}

void engine_give_up(struct engine *e)
{
    enum { PAUSE_NS = 10000000 };
    int64_t since_ns = loop_now_ns(e);
    halt_run(e, HALT_KILL, "ending running tasks: the run cannot go on");
    recall_all(e);
    while (e->jobs.running) {
        take_requests(e);
        end_calls(e, since_ns);
        end_jobs(e);
        if (e->jobs.running)
            loop_pause(e, PAUSE_NS);
    }
}
