/* SPDX-License-Identifier: MIT */
/* The decision what runs: one function for plan, explain, run and resume, so that they
 * cannot disagree. Pure: what the disk says comes in as arguments. */
#ifndef PLAN_DECIDE_H
#define PLAN_DECIDE_H

#include "cairn/run.h"
#include "checkpoint/states.h"
#include "graph/graph.h"

/* RESET: it has run before, and its outcome was dropped so that it runs again.
 * UNDOING: its undo was started and its end is not recorded. OUTLIVED: its newest
 * attempt still runs under a keeper, or its keeper has recorded how it ended. REPORTED:
 * somebody outside said that it failed, and its run has not come to an end since: that
 * failure is for the run to deal with. */
enum mark {
    MARK_INTERRUPTED = 1,
    MARK_DAMAGED = 2,
    MARK_RESET = 4,
    MARK_UNDOING = 8,
    MARK_OUTLIVED = 16,
    MARK_REPORTED = 32
};
/* What the disk and the environment say of a completed task. */
enum evidence {
    EVIDENCE_GOOD,
    OUTPUT_MISSING,
    OUTPUT_DIFFERS,
    INPUT_DIFFERS,
    SECRET_DIFFERS
};

/* Bits of a node. A task has one of WILL, MAY and the ends; a barrier all those of its
 * members. */
enum fate {
    FATE_WILL = 1, /* it runs */
    FATE_MAY = 2,  /* it may run */
    FATE_RISK = 4, /* it failed last time, and nothing of it has changed since */
    /* It does not run: how it stands. */
    FATE_COMPLETED = 8,
    FATE_FAILED = 16,
    FATE_BAD = 32, /* skipped or excluded */
    FATE_OPEN = 64 /* waits for a decision */
};
enum { FATE_UNSETTLED = FATE_WILL | FATE_MAY | FATE_RISK | FATE_OPEN };

/* Whether the condition of a task holds. OPEN: it depends on tasks that are not settled
 * (by `fate`, [n_nodes], complete for all that the task needs). */
enum condition { CONDITION_NO, CONDITION_YES, CONDITION_OPEN };
typedef enum condition condition_fn(void *context, uint32_t task, const uint8_t *fate);

struct decide_input {
    const struct graph *graph;
    const struct graph *old;        /* of the recorded states; NULL: nothing recorded */
    const uint32_t *old_task;       /* from map_tasks */
    const struct states *states;    /* in old's numbers */
    const uint8_t *marks;           /* in old's numbers, or NULL */
    const uint8_t *new_marks;       /* of tasks that old has not, or NULL */
    const uint8_t *evidence;        /* [graph->n_tasks] enum evidence, or NULL */
    enum cairn_on_change on_change; /* KEEP: changed tasks that are done stay done */
    condition_fn *condition;
    void *context;
};
struct decisions {
    uint32_t n, will, may;
    uint8_t *fate;                    /* [n_nodes] enum fate */
    uint8_t *reset;                   /* [n_tasks] what is recorded counts no more */
    uint8_t *reason;                  /* [n_tasks] enum cairn_reason */
    uint32_t *cause;                  /* [n_tasks] node that the reason, or the doubt,
                                         comes from, or NODE_NONE */
    uint32_t changed, added, removed; /* against `old`: tasks */
    uint32_t kept;                    /* changed, but stay done (CAIRN_KEEP) */
};
int decide(const struct decide_input *input, struct decisions *out,
           struct cairn_error *error);
void decisions_release(struct decisions *decisions);

#endif
