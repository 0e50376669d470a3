/* SPDX-License-Identifier: MIT */
/* From the end of an attempt to what it means: an outcome, or a retry. */
#include "executor/engine.h"

#include "base/array.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "storage/rows_attempt.h"

void skip_add(struct engine *e, struct skip **list, uint32_t *n, size_t *capacity,
              uint32_t task, enum cairn_outcome outcome)
{
    e->states.outcome[task] = (uint8_t)outcome;
    e->states.attempts[task] = 0;
    struct skip *grown = array_room(*list, *n, capacity, sizeof *grown);
    if (!grown) {
        e->broken = true;
        return;
    }
    *list = grown;
    /* Before sched_init is over there is nobody to ask: engine_open fills it in. */
    uint32_t cause = outcome == CAIRN_SKIPPED && e->sched.state
                         ? sched_culprit(&e->sched, task)
                         : NODE_NONE;
    (*list)[(*n)++] = (struct skip){task, cause, (uint8_t)outcome};
}

struct settling {
    struct engine *e;
    struct ending *ending;
};

static void note_skip(void *context, uint32_t task, enum cairn_outcome outcome)
{
    struct settling *s = context;
    struct ending *ending = s->ending;
    skip_add(s->e, &ending->skipped, &ending->n_skipped, &ending->skipped_capacity,
             task, outcome);
}

static bool retry_applies(const struct engine *e, const struct ending *ending)
{
    const struct retry_policy *retry = &graph_def(e->graph, ending->row.task)->retry;
    enum sched_kind kind = sched_kind_of(graph_def(e->graph, ending->row.task));
    if (!(e->sched.allowed & kind) || e->failures[ending->row.task] > retry->max)
        return false;
    for (uint32_t i = 0; i < retry->n_on_exit; i++)
        if (ending->row.exit_code == retry->on_exit[i])
            return true;
    return retry->n_on_exit == 0;
}

static void hold_for_retry(struct engine *e, struct ending *ending)
{
    uint32_t task = ending->row.task;
    const struct retry_policy *retry = &graph_def(e->graph, task)->retry;
    struct backoff backoff = {retry->delay_ms, retry->factor_permille, retry->jitter};
    ending->next_ms = backoff_delay_ms(&backoff, e->failures[task]);
    ending->row.flags |= ATTEMPT_RETRY;
    struct timer timer = {clock_mono_ns() + ending->next_ms * 1000000, TIMER_RETRY,
                          task, 0};
    sched_hold(&e->sched, task);
    e->broken |= timers_add(&e->timers, timer, NULL) != 0;
}

static void apply_change(struct engine *e, struct ending *ending)
{
    ending->final = true;
    e->broken |= states_apply(&e->states, &ending->change, NULL) != 0;
}

static void settle_for_good(struct engine *e, struct ending *ending)
{
    struct settling settling = {e, ending};
    ending->change.task = ending->row.task;
    ending->change.outcome = ending->row.outcome;
    ending->change.attempts = ending->row.number;
    ending->settled = true;
    apply_change(e, ending);
    sched_end(&e->sched, ending->change.task, ending->change.outcome, note_skip,
              &settling);
    if (ending->n_skipped)
        audit_skips(e, ending->skipped, ending->n_skipped);
}

void settle_ending(struct engine *e, struct ending *ending)
{
    turn_add_ending(e, ending);
    redact_buf(e, &ending->text);
    if (ending->row.outcome == CAIRN_FAILED) {
        e->failures[ending->row.task]++;
        if (retry_applies(e, ending)) {
            hold_for_retry(e, ending);
            return;
        }
    }
    settle_for_good(e, ending);
}

void settle_unknown(struct engine *e, struct ending *ending)
{
    turn_add_ending(e, ending);
    ending->change = (struct change){.task = ending->row.task,
                                     .outcome = CAIRN_UNKNOWN,
                                     .attempts = ending->row.number};
    apply_change(e, ending);
    sched_end(&e->sched, ending->row.task, CAIRN_UNKNOWN, NULL, NULL);
}

void settle_undone(struct engine *e, struct ending *ending)
{
    turn_add_ending(e, ending);
    ending->change = (struct change){.task = ending->row.task,
                                     .outcome = CAIRN_UNDONE,
                                     .attempts = ending->row.number};
    apply_change(e, ending);
}

void settle_rerun(struct engine *e, struct ending *ending)
{
    turn_add_ending(e, ending);
    ending->change =
        (struct change){.task = ending->row.task, .outcome = CAIRN_PENDING};
    apply_change(e, ending);
    sched_rerun(&e->sched, ending->row.task);
}

void settle_no_retry(struct engine *e, uint32_t task)
{
    e->failures[task] = graph_def(e->graph, task)->retry.max;
}
