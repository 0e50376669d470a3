/* SPDX-License-Identifier: MIT */
/* Stopping, and time limits. TERM goes to the whole group of a task, KILL after its
 * grace. */
#include "executor/parts/report.h"
#include "executor/parts/stop.h"

#include "process/spawner.h"
#include "storage/rows_event.h"

#include <poll.h>
#include <signal.h>

static void kill_job(struct job *job)
{
    job->killed = true;
    process_signal(job->pid, SIGKILL);
}

static void ask_to_end(struct engine *e, struct job *job)
{
    /* A stopped process cannot act on TERM before it is continued. */
    process_signal(job->pid, SIGTERM);
    process_signal(job->pid, SIGCONT);
    int64_t grace_ms = graph_def(e->request.graph, job->intent.task)->grace_ms;
    loop_set_timer(e, TIMER_KILL, grace_ms * 1000000, job_index(&e->jobs, job),
                   job->stamp);
}

/* Not yet collected: neither a wish to stop nor a time limit came in time. */
static bool has_ended(const struct job *job)
{
    struct pollfd end = {.fd = job->pidfd, .events = POLLIN};
    return !job->kept && poll(&end, 1, 0) == 1;
}

void halt_job(struct engine *e, struct job *job)
{
    if (has_ended(job))
        return;
    bool asked = job->cancelled || job->timed_out;
    job->cancelled = true;
    if (job->kept)
        keeper_signal(&job->keeper,
                      e->halting.level == HALT_KILL ? KEEPER_KILL : KEEPER_STOP);
    else if (e->halting.level == HALT_KILL)
        kill_job(job);
    else if (!asked)
        ask_to_end(e, job);
}

/* A first wish to stop lets the undoing and `finally` finish. */
static bool spares(const struct engine *e, enum halt halt)
{
    return halt == HALT_STOP && e->phase != PHASE_MAIN;
}

void halt_run(struct engine *e, enum halt halt, const char *why)
{
    if (halt <= e->halting.level)
        return;
    e->halting.level = halt;
    snprintf(e->halting.why, sizeof e->halting.why, "%s", why);
    audit_event(e, EVENT_HALTED, (uint8_t)halt, UINT32_MAX, str_of(why));
    if (e->phase == PHASE_MAIN)
        sched_allow(&e->progress.sched, halt == HALT_FAILURE ? SCHED_HANDLERS : 0);
    else if (halt == HALT_KILL)
        sched_allow(&e->progress.sched, 0);
    turn_withdraw_intents(e);
    if (e->jobs.spawner)
        spawner_recall(e->jobs.spawner);
    if (halt < HALT_STOP)
        return;
    report(e, CAIRN_EVENT_STOPPING, e->halting.why);
    for (uint32_t i = 0; !spares(e, halt) && i < e->jobs.n; i++)
        if (e->jobs.at[i].state == JOB_RUNNING)
            halt_job(e, &e->jobs.at[i]);
}

void halt_asked(struct engine *e)
{
    uint32_t count = e->request.options->stop->count;
    if (count > e->halting.stops_seen)
        halt_run(e, count > 1 ? HALT_KILL : HALT_STOP,
                 count > 1 ? "ending running tasks at once"
                           : "ending running tasks; ask again to end them at once");
    e->halting.stops_seen = count;
}

void halt_timed_out(struct engine *e, const struct timer *timer)
{
    struct job *job = &e->jobs.at[timer->index];
    if (job->state != JOB_RUNNING || job->stamp != timer->stamp || job->cancelled ||
        has_ended(job))
        return;
    job->timed_out = true;
    ask_to_end(e, job);
}

void halt_grace_over(struct engine *e, const struct timer *timer)
{
    struct job *job = &e->jobs.at[timer->index];
    if (job->state == JOB_RUNNING && job->stamp == timer->stamp)
        kill_job(job);
}
