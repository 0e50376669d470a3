/* SPDX-License-Identifier: MIT */
/* One outcome per task, and what a change does to it. Invariant: all three arrays have
 * `n` entries; `outputs` appears with the first output digest that is not zero. */
#include "checkpoint/states.h"

#include "base/limits.h"
#include "cairn/outcome.h"

#include <assert.h>
#include <stdlib.h>

void assert_states(const struct states *states)
{
    assert(states->n <= LIMIT_TASKS);
    assert(states->outcome && states->attempts);
}

int states_init(struct states *states, uint32_t n, struct cairn_error *error)
{
    if (n > LIMIT_TASKS) {
        error_set(error, CAIRN_ELIMIT, "%u tasks are more than the limit of %d", n,
                  LIMIT_TASKS);
        return CAIRN_ELIMIT;
    }
    struct states made = {.n = n};
    size_t room = n ? n : 1;
    made.outcome = calloc(room, sizeof *made.outcome);
    made.attempts = calloc(room, sizeof *made.attempts);
    if (!made.outcome || !made.attempts) {
        states_release(&made);
        error_nomem(error);
        return CAIRN_ENOMEM;
    }
    *states = made;
    return 0;
}

void states_release(struct states *states)
{
    free(states->outcome);
    free(states->attempts);
    free(states->outputs);
    *states = (struct states){0};
}

static int need_outputs(struct states *states, struct cairn_error *error)
{
    assert(states->n > 0);
    if (!states->outputs)
        states->outputs = calloc(states->n, sizeof *states->outputs);
    return states->outputs ? 0 : error_nomem(error);
}

int states_copy(struct states *to, const struct states *from, struct cairn_error *error)
{
    struct states made = {0};
    assert_states(from);
    int rc = states_init(&made, from->n, error);
    if (rc)
        return rc;
    memcpy(made.outcome, from->outcome, from->n * sizeof *from->outcome);
    memcpy(made.attempts, from->attempts, from->n * sizeof *from->attempts);
    if (from->outputs && from->n) {
        rc = need_outputs(&made, error);
        if (rc) {
            states_release(&made);
            return rc;
        }
        memcpy(made.outputs, from->outputs, from->n * sizeof *from->outputs);
    }
    *to = made;
    return 0;
}

int states_fill(struct states *states, const struct change *change, uint32_t n,
                struct cairn_error *error)
{
    uint32_t from = change->task;
    assert_states(states);
    if (from >= states->n || n > states->n - from)
        return error_set(error, CAIRN_EDAMAGED, "a change of task %u, of only %u", from,
                         states->n);
    if (!digest_is_none(&change->outputs)) {
        int rc = need_outputs(states, error);
        if (rc)
            return rc;
    }
    memset(states->outcome + from, change->outcome, n);
    for (uint32_t i = from; i < from + n; i++)
        states->attempts[i] = change->attempts;
    for (uint32_t i = from; states->outputs && i < from + n; i++)
        states->outputs[i] = change->outputs;
    return 0;
}

int states_apply(struct states *states, const struct change *change,
                 struct cairn_error *error)
{
    return states_fill(states, change, 1, error);
}

struct tally states_tally(const struct states *states)
{
    uint32_t of[256] = {0};
    for (uint32_t i = 0; i < states->n; i++)
        of[states->outcome[i]]++;
    struct tally tally = {.total = states->n,
                          .completed = of[CAIRN_COMPLETED],
                          .failed = of[CAIRN_FAILED],
                          .skipped = of[CAIRN_SKIPPED] + of[CAIRN_EXCLUDED],
                          .cancelled = of[CAIRN_CANCELLED],
                          .undone = of[CAIRN_UNDONE],
                          .unknown = of[CAIRN_UNKNOWN],
                          .excluded = of[CAIRN_EXCLUDED]};
    assert(tally_done(&tally) + tally.undone + tally.unknown <= tally.total);
    return tally;
}
