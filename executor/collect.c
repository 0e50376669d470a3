/* SPDX-License-Identifier: MIT */
/* Timers that are due. */
#include "executor/collect.h"

#include "executor/attempt/call.h"
#include "executor/attempt/ending.h"
#include "executor/attempt/service.h"
#include "executor/attempt/start.h"
#include "executor/attempt/stream.h"
#include "executor/command_apply.h"
#include "executor/state/job_disk.h"
#include "executor/state/report.h"

#include "base/os.h"
#include "plan/stop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/* True if one of them grows so fast that it should be looked at again soon. On a disk
 * that is full more is given back, so that what runs can go on writing. */
static bool trim_outputs(struct engine *e)
{
    enum { FAST_BYTES = 4 << 20, FULL_BYTES = 64 << 10, FULL_HOLE = 16 << 10 };
    bool fast = false, full = os_is_full(e->run.live_dir);
    uint64_t limit = output_limit(e), least = CAPTURE_HOLE;
    if (full) {
        limit = limit < FULL_BYTES ? limit : FULL_BYTES;
        least = FULL_HOLE;
    }
    for (uint32_t i = 0; i < e->jobs.n; i++) {
        struct job *job = &e->jobs.at[i];
        if (job->state != JOB_RUNNING || !job->capture_open)
            continue;
        capture_reserve(&job->capture);
        fast |= capture_trim(&job->capture,
                             job->capture.in_memory ? output_limit(e) : limit,
                             least) > FAST_BYTES;
        job_check_growth(e, job);
    }
    return fast;
}

static void trim_and_repeat(struct engine *e)
{
    enum { SOON_NS = 20000000 };
    if (trim_outputs(e))
        loop_set_timer(e, TIMER_TRIM, SOON_NS, 0, 0);
}

/* `n`: of the tick before this one. */
static void handle_tick(struct engine *e, uint32_t n)
{
    enum { TICK_NS = 200000000, PER_SECOND = 5 };
    loop_set_timer(e, TIMER_TICK, TICK_NS, ++n, 0);
    shares_ask(e); /* who had places may have been killed */
    stream_outputs(e);
    look_at_logs(e);
    report(e, CAIRN_EVENT_TICK, NULL);
    if (!e->loop.trimming)
        trim_and_repeat(e);
    if (n % PER_SECOND == 0)
        commands_apply(e);
}

static void reach_deadline(struct engine *e)
{
    char text[96];
    snprintf(text, sizeof text, "the deadline of %g s is reached",
             (double)e->request.graph->definition->deadline_ms / 1000);
    halt_run(e, HALT_STOP, text);
}

/* NULL: the timer is of a process. */
static struct job *called_job(struct engine *e, const struct timer *timer)
{
    struct job *job = &e->jobs.at[timer->index];
    return job->state == JOB_CALLED && job->stamp == timer->stamp ? job : NULL;
}

static void reach_time_limit(struct engine *e, const struct timer *timer)
{
    struct job *call = called_job(e, timer);
    if (call)
        call_timed_out(e, call);
    else
        halt_timed_out(e, timer);
}

static int end_grace(struct engine *e, const struct timer *timer,
                     struct cairn_error *error)
{
    struct job *call = called_job(e, timer);
    if (call)
        return call_grace_over(e, call, error);
    halt_grace_over(e, timer);
    return 0;
}

static int engine_timers(struct engine *e, struct cairn_error *error)
{
    struct timer timer;
    int64_t now = loop_now_ns(e);
    int rc = 0;
    while (!rc && loop_take_due(e, now, &timer)) {
        switch ((enum timer_kind)timer.kind) {
        case TIMER_TIMEOUT:
            reach_time_limit(e, &timer);
            break;
        case TIMER_KILL:
            rc = end_grace(e, &timer, error);
            break;
        case TIMER_RETRY:
            if (e->progress.sched.state[timer.index] == HELD)
                sched_again(&e->progress.sched, timer.index);
            break;
        case TIMER_TICK:
            handle_tick(e, timer.index);
            break;
        case TIMER_COMMIT:
            saving_try_now(e);
            break;
        case TIMER_ADDITIONS:
            commands_take_waiting(e);
            break;
        case TIMER_TRIM:
            trim_and_repeat(e);
            break;
        case TIMER_PROBE:
            service_ask(e, &timer);
            break;
        case TIMER_DEADLINE:
            reach_deadline(e);
            break;
        }
    }
    return !rc && e->broken ? error_nomem(error) : rc;
}

/* The first part of a turn: what has happened since the last one. */

static void drain_fd(int fd)
{
    char bytes[64];
    while (read(fd, bytes, sizeof bytes) > 0)
        ;
}

/* What a task with secrets wrote. */
static void collect_pipe(struct engine *e, uint64_t what)
{
    uint64_t index = (what & 0xffff) - WATCH_PIPE;
    struct job *job = &e->jobs.at[index / 2];
    if (job->state == JOB_RUNNING && job->stamp == what >> 16)
        job_pipe_read(e, job, (int)(index % 2));
}

static int spawned_or_ended(struct engine *e, struct spawn_request *request,
                            struct cairn_error *error)
{
    struct job *job = request->context;
    int rc = job->state == JOB_SPAWNING ? engine_spawned(e, request, error) : 0;
    if (rc || !request->ended)
        return rc;
    job->ended_ns = request->ended_ns;
    return engine_exited(e, job, error);
}

/* All of them, also after an error: what runs must be known to give_up. */
static int collect_spawned(struct engine *e, struct cairn_error *error)
{
    struct runner *runner = e->request.runner;
    struct spawn_request *request = NULL;
    int first = e->jobs.runner_open ? runner->ops->collect(runner, &request, error) : 0;
    while (request) {
        struct spawn_request *next = request->next;
        int rc = spawned_or_ended(e, request, first ? NULL : error);
        if (!first)
            first = rc;
        request = next;
    }
    return first;
}

/* Before the news is collected: this may make some. */
static int tend_runner(struct engine *e, struct cairn_error *error)
{
    struct runner *runner = e->request.runner;
    const char *notice;
    int rc = runner->ops->tend(runner, &notice, error);
    if (notice)
        report(e, CAIRN_EVENT_NOTICE, notice);
    return rc;
}

static int handle_looks(struct engine *e, struct cairn_error *error)
{
    drain_fd(look_threads_fd(e->looks.threads));
    int rc = looks_settle(e, error);
    if (!rc && e->looks.command_ready)
        commands_apply(e);
    return rc;
}

static int handle_event(struct engine *e, uint64_t what, struct cairn_error *error)
{
    switch (what & 0xffff) {
    case WATCH_WAKE:
        drain_fd(e->loop.wake_fd);
        shares_ask(e);
        commands_apply(e);
        return 0;
    case WATCH_STOP:
        drain_fd(e->request.options->stop->fd);
        halt_asked(e);
        return 0;
    case WATCH_CALLS: /* what has finished since engine_collect looked is another event
                       */
        drain_fd(call_threads_fd(e->calls.threads));
        return calls_settle(e, error);
    case WATCH_LOOKS:
        return handle_looks(e, error);
    case WATCH_NEWS: /* it has been looked at */
    case WATCH_TEND:
        return 0;
    default:
        collect_pipe(e, what);
        return 0;
    }
}

/* How long at most, 0: not at all, and how deeply the runner may let us rest. */
static int64_t longest_wait_ns(struct engine *e, enum spawner_rest *rest)
{
    enum { LONGEST_MS = 60000, REST_MS = 4, MS_NS = 1000000 };
    *rest = REST_NOT;
    if (e->run.lost) /* only for what still runs to end */
        return (int64_t)MS_NS * LONGEST_MS;
    if (launch_possible(e))
        return 0;
    int64_t lingers_ns = turn_commit_delay_ns(e);
    /* A call that ended in this turn's second start waits for the next turn's commit.
     */
    bool more = e->turn.unacted &&
                (!e->saving.waits || (e->saving.degraded &&
                                      e->request.options->saving == CAIRN_BEST_EFFORT));
    if (more && !lingers_ns)
        return 0;
    /* What was handed to the runner starts at once, or when another one ends: no reason
     * to wake us, if we hear of it soon. */
    if (e->jobs.runner_open)
        *rest = lingers_ns ? REST_ENDS : e->jobs.submitted ? REST_STARTS : REST_NOT;
    jobs_clear_submitted(e);
    return lingers_ns ? lingers_ns : (int64_t)MS_NS * (*rest ? REST_MS : LONGEST_MS);
}

static int wait_for_events(struct engine *e, struct epoll_event *events, int most)
{
    enum spawner_rest rest;
    int64_t longest_ns = longest_wait_ns(e, &rest);
    return loop_wait(e, longest_ns, rest, events, most);
}

static int handle_all(struct engine *e, const struct epoll_event *events, int n,
                      bool pipes, struct cairn_error *error)
{
    int rc = 0;
    for (int i = 0; i < n && !rc; i++)
        if (((events[i].data.u64 & 0xffff) >= WATCH_PIPE) == pipes)
            rc = handle_event(e, events[i].data.u64, error);
    return rc;
}

int engine_collect(struct engine *e, struct cairn_error *error)
{
    enum { AT_ONCE = 64 };
    struct epoll_event events[AT_ONCE];
    int n = wait_for_events(e, events, AT_ONCE);
    if (n < 0 && errno != EINTR)
        return error_sys(error, errno, "cannot wait for events");
    owned_run_watch_store(e); /* before files of the tasks that ended are looked at */
    int rc = 0;
    for (int i = 0; i < n && !rc; i++)
        if (events[i].data.u64 == WATCH_TEND)
            rc = tend_runner(e, error);
    /* Ends before the wish to stop: what had ended by itself was not cancelled. */
    int collected = collect_spawned(e, rc ? NULL : error);
    rc = rc ? rc : collected;
    if (!rc)
        rc = calls_settle(e, error)
             ?: looks_settle(e, error)
             ?: handle_all(e, events, n, true, error)
             ?: handle_all(e, events, n, false, error)
             ?: engine_timers(e, error);
    if (!rc)
        services_tend(e);
    return !rc && e->broken ? error_nomem(error) : rc;
}
