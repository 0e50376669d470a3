/* SPDX-License-Identifier: MIT */
/* Stopping, and time limits. TERM goes to the whole group of a task, KILL after its
 * grace. */
#include "executor/engine.h"

#include "base/clock.h"
#include "storage/rows_event.h"

#include <poll.h>
#include <signal.h>

static void add_timer(struct engine *e, int64_t delay_ms, enum timer_kind kind,
                      const struct job *job)
{
    struct timer timer = {clock_mono_ns() + delay_ms * 1000000, kind,
                          (uint32_t)(job - e->jobs), job->stamp};
    e->broken |= timers_add(&e->timers, timer, NULL) != 0;
}

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
    add_timer(e, graph_def(e->graph, job->intent.task)->grace_ms, TIMER_KILL, job);
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
        keeper_signal(&job->keeper, e->halt == HALT_KILL ? KEEPER_KILL : KEEPER_STOP);
    else if (e->halt == HALT_KILL)
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
    if (halt <= e->halt)
        return;
    e->halt = halt;
    snprintf(e->halt_text, sizeof e->halt_text, "%s", why);
    audit_event(e, EVENT_HALTED, (uint8_t)halt, UINT32_MAX, str_of(why));
    if (e->phase == PHASE_MAIN)
        sched_allow(&e->sched, halt == HALT_FAILURE ? SCHED_HANDLERS : 0);
    else if (halt == HALT_KILL)
        sched_allow(&e->sched, 0);
    turn_withdraw_intents(e);
    if (e->spawner)
        spawner_recall(e->spawner);
    if (halt < HALT_STOP)
        return;
    report(e, CAIRN_EVENT_STOPPING, e->halt_text);
    for (uint32_t i = 0; !spares(e, halt) && i < e->n_jobs; i++)
        if (e->jobs[i].state == JOB_RUNNING)
            halt_job(e, &e->jobs[i]);
}

void halt_timed_out(struct engine *e, const struct timer *timer)
{
    struct job *job = &e->jobs[timer->index];
    if (job->state != JOB_RUNNING || job->stamp != timer->stamp || job->cancelled ||
        has_ended(job))
        return;
    job->timed_out = true;
    ask_to_end(e, job);
}

void halt_grace_over(struct engine *e, const struct timer *timer)
{
    struct job *job = &e->jobs[timer->index];
    if (job->state == JOB_RUNNING && job->stamp == timer->stamp)
        kill_job(job);
}
