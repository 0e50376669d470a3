/* SPDX-License-Identifier: MIT */
/* Timers that are due. */
#include "executor/due.h"

#include "executor/command_apply.h"
#include "executor/parts/report.h"

#include "base/limits.h"

/* True if one of them grows so fast that it should be looked at again soon. */
static bool trim_outputs(struct engine *e)
{
    enum { FAST_BYTES = 4 << 20 };
    bool fast = false;
    uint64_t limit = e->request.options->output_limit ? e->request.options->output_limit
                                                      : LIMIT_OUTPUT_BYTES;
    for (uint32_t i = 0; i < e->jobs.n; i++)
        if (e->jobs.at[i].state == JOB_RUNNING && e->jobs.at[i].capture_open)
            fast |= capture_trim(&e->jobs.at[i].capture, limit) > FAST_BYTES;
    return fast;
}

static void trim(struct engine *e)
{
    enum { SOON_NS = 20000000 };
    if (trim_outputs(e))
        loop_set_timer(e, TIMER_TRIM, SOON_NS, 0, 0);
}

/* `n`: of the tick before this one. */
static void tick(struct engine *e, uint32_t n)
{
    enum { TICK_NS = 200000000, PER_SECOND = 5 };
    loop_set_timer(e, TIMER_TICK, TICK_NS, ++n, 0);
    report(e, CAIRN_EVENT_TICK, NULL);
    if (!e->loop.trimming)
        trim(e);
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

int engine_timers(struct engine *e, struct cairn_error *error)
{
    struct timer timer;
    int64_t now = loop_now_ns(e);
    while (loop_take_due(e, now, &timer)) {
        switch ((enum timer_kind)timer.kind) {
        case TIMER_TIMEOUT:
            halt_timed_out(e, &timer);
            break;
        case TIMER_KILL:
            halt_grace_over(e, &timer);
            break;
        case TIMER_RETRY:
            if (e->progress.sched.state[timer.index] == HELD)
                sched_again(&e->progress.sched, timer.index);
            break;
        case TIMER_TICK:
            tick(e, timer.index);
            break;
        case TIMER_COMMIT:
            saving_try_now(e);
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
