/* SPDX-License-Identifier: MIT */
/* Timers that are due. */
#include "executor/due.h"

#include "executor/attempt/call.h"
#include "executor/attempt/stream.h"
#include "executor/command_apply.h"
#include "executor/state/job_disk.h"
#include "executor/state/report.h"

#include "base/os.h"

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

int engine_timers(struct engine *e, struct cairn_error *error)
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
        case TIMER_TRIM:
            trim_and_repeat(e);
            break;
        case TIMER_DEADLINE:
            reach_deadline(e);
            break;
        }
    }
    return !rc && e->broken ? error_nomem(error) : rc;
}
