/* SPDX-License-Identifier: MIT */
/* Stopping, and time limits. TERM goes to the whole group of a task, KILL after its
 * grace. */
#include "executor/engine.h"

#include "base/clock.h"
#include "base/limits.h"
#include "storage/rows_event.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- The stop handle ---- */

int cairn_stop_new(struct cairn_stop **out, struct cairn_error *error)
{
    struct cairn_stop *stop = calloc(1, sizeof *stop);
    if (!stop)
        return error_nomem(error);
    stop->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop->fd < 0) {
        free(stop);
        return error_sys(error, errno, "cannot make a stop handle");
    }
    *out = stop;
    return 0;
}

void cairn_stop_request(struct cairn_stop *stop)
{
    int saved = errno; /* this may run in a signal handler */
    uint64_t one = 1;
    stop->count++;
    ssize_t written = write(stop->fd, &one, sizeof one);
    (void)written; /* fails only when the counter is full, and then it is readable */
    errno = saved;
}

void cairn_stop_free(struct cairn_stop *stop)
{
    if (!stop)
        return;
    close(stop->fd);
    free(stop);
}

/* ---- Ending tasks ---- */

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
    add_timer(e, graph_def(e->graph, job->task)->grace_ms, TIMER_KILL, job);
}

/* Not yet collected: neither a wish to stop nor a time limit came in time. */
static bool has_ended(const struct job *job)
{
    struct pollfd end = {.fd = job->pidfd, .events = POLLIN};
    return !job->kept && poll(&end, 1, 0) == 1;
}

void job_terminate(struct engine *e, struct job *job)
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

void engine_halt(struct engine *e, enum halt halt, const char *why)
{
    if (halt <= e->halt)
        return;
    e->halt = halt;
    snprintf(e->halt_text, sizeof e->halt_text, "%s", why);
    engine_log(e, EVENT_HALTED, (uint8_t)halt, UINT32_MAX, str_of(why));
    if (e->phase == PHASE_MAIN)
        sched_allow(&e->sched, halt == HALT_FAILURE ? SCHED_HANDLERS : 0);
    else if (halt == HALT_KILL)
        sched_allow(&e->sched, 0);
    engine_withdraw_intents(e);
    if (e->spawner)
        spawner_recall(e->spawner);
    if (halt < HALT_STOP)
        return;
    report(e, CAIRN_EVENT_STOPPING, e->halt_text);
    for (uint32_t i = 0; !spares(e, halt) && i < e->n_jobs; i++)
        if (e->jobs[i].state == JOB_RUNNING)
            job_terminate(e, &e->jobs[i]);
}

/* ---- Timers ---- */

static void time_out(struct engine *e, const struct timer *timer)
{
    struct job *job = &e->jobs[timer->index];
    if (job->state != JOB_RUNNING || job->stamp != timer->stamp || job->cancelled ||
        has_ended(job))
        return;
    job->timed_out = true;
    ask_to_end(e, job);
}

static void end_grace(struct engine *e, const struct timer *timer)
{
    struct job *job = &e->jobs[timer->index];
    if (job->state == JOB_RUNNING && job->stamp == timer->stamp)
        kill_job(job);
}

/* True if one of them grows so fast that it should be looked at again soon. */
static bool trim_outputs(struct engine *e)
{
    enum { FAST_BYTES = 4 << 20 };
    bool fast = false;
    uint64_t limit =
        e->options->output_limit ? e->options->output_limit : LIMIT_OUTPUT_BYTES;
    for (uint32_t i = 0; i < e->n_jobs; i++)
        if (e->jobs[i].state == JOB_RUNNING && e->jobs[i].capture_open)
            fast |= capture_trim(&e->jobs[i].capture, limit) > FAST_BYTES;
    return fast;
}

static void trim(struct engine *e)
{
    enum { SOON_NS = 20000000 };
    e->trimming = trim_outputs(e);
    if (!e->trimming)
        return;
    struct timer next = {clock_mono_ns() + SOON_NS, TIMER_TRIM, 0, 0};
    e->broken |= timers_add(&e->timers, next, NULL) != 0;
}

static void tick(struct engine *e)
{
    enum { TICK_NS = 200000000, PER_SECOND = 5 };
    struct timer next = {clock_mono_ns() + TICK_NS, TIMER_TICK, 0, 0};
    e->broken |= timers_add(&e->timers, next, NULL) != 0;
    report(e, CAIRN_EVENT_TICK, NULL);
    if (!e->trimming)
        trim(e);
    if (++e->ticks % PER_SECOND == 0)
        engine_look_for_commands(e);
}

static void reach_deadline(struct engine *e)
{
    char text[96];
    snprintf(text, sizeof text, "the deadline of %g s is reached",
             (double)e->graph->definition->deadline_ms / 1000);
    engine_halt(e, HALT_STOP, text);
}

int engine_timers(struct engine *e, struct cairn_error *error)
{
    struct timer timer;
    int64_t now = clock_mono_ns();
    while (timers_due(&e->timers, now, &timer)) {
        switch ((enum timer_kind)timer.kind) {
        case TIMER_TIMEOUT:
            time_out(e, &timer);
            break;
        case TIMER_KILL:
            end_grace(e, &timer);
            break;
        case TIMER_RETRY:
            if (e->sched.state[timer.index] == HELD)
                sched_again(&e->sched, timer.index);
            break;
        case TIMER_TICK:
            tick(e);
            break;
        case TIMER_COMMIT:
            e->commit_waits = false;
            break;
        case TIMER_TRIM:
            trim(e);
            break;
        case TIMER_DEADLINE:
            reach_deadline(e);
            break;
        }
    }
    return e->broken ? error_nomem(error) : 0;
}
