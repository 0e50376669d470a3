/* SPDX-License-Identifier: MIT */
/* Timers that are due. */
#include "executor/engine.h"

#include "base/clock.h"
#include "base/limits.h"

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
        commands_apply(e);
}

static void reach_deadline(struct engine *e)
{
    char text[96];
    snprintf(text, sizeof text, "the deadline of %g s is reached",
             (double)e->graph->definition->deadline_ms / 1000);
    halt_run(e, HALT_STOP, text);
}

int engine_timers(struct engine *e, struct cairn_error *error)
{
    struct timer timer;
    int64_t now = clock_mono_ns();
    while (timers_due(&e->timers, now, &timer)) {
        switch ((enum timer_kind)timer.kind) {
        case TIMER_TIMEOUT:
            halt_timed_out(e, &timer);
            break;
        case TIMER_KILL:
            halt_grace_over(e, &timer);
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
