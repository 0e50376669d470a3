/* SPDX-License-Identifier: MIT */
/* Decides what runs: one function for plan, explain, run and resume, so that they
 * cannot disagree. Pure: what was found on disk is passed in.
 *
 * In: recorded outcomes, marks (runs/marks.h), evidence. Out, for each task: its fate
 * and a reason; for each barrier the fates of its members, or-ed, without BAD for those
 * that are excluded as long as others are left. judge_task goes through
 * the graph once in topological order, so that the fates of all needs are known when a
 * task is judged; then WILL is taken back where a failure that is to be
 * expected may stop the run first.
 *
 *   fate       set by                          means
 *   WILL       judge_open_task                 runs, unless something fails first
 *   MAY        judge_open_task, stop           may run: its condition, what it needs
 *                                              or another failure decides
 *   RISK       judge_open_task, with WILL or   failed last time, and nothing about it
 *              MAY                             has changed since
 *   COMPLETED  judge_task                      stays: its recorded success counts
 *   FAILED     judge_task                      stays: its failure is handled, or was
 *                                              just reported (MARK_REPORTED)
 *   BAD        judge_open_task                 does not run: skipped or excluded
 *   EXCLUDED   judge_task, with BAD            because of its own condition
 *   TURNED     judge_task, with BAD            and is not recorded so, or comes after
 *                                              what ends anew: what was made of it
 *                                              counts no more
 *              judge_open_task, with COMPLETED is done by another attempt than the one
 *                                              that is recorded (REUSED)
 *   SPARED     judge_open_task, with WILL; at  may turn out to be done already, once
 *              the end it has become MAY       what it needs has ended. What comes after
 *                                              it runs all the same
 *   OPEN       judge_task, alone               unknown: waits for a decision
 *              judge_open_task, with another   waits for such a task, or for somebody
 *                                              outside (an external task), or will be
 *                                              unknown (ADOPTED, edited since)
 *   DOOMED     judge_open_task, with WILL or   cannot but fail: the list that it stands
 *              MAY, and RISK                   for is known, and no good
 *   LISTED     mark_listed, with another   its list is made again, or that of what it
 *                                              needs: it is decided again then
 *
 *   reason (cairn/plan.h)            from
 *   DONE KEPT HANDLED                recorded_reason: what is recorded settles it
 *   CHANGED INPUT SECRET OUTPUT      completed_reason: it completed, but that does not
 *     DAMAGED UPSTREAM UNDONE        count any more
 *   FAILED CANCELLED SKIPPED         recorded_reason: it ended otherwise last time
 *     EXCLUDED UNDONE
 *   NEVER_RAN INTERRUPTED DAMAGED    pending_reason: it is recorded as pending
 *     ADOPTED CHANGED UPSTREAM
 *   NEED_SKIPPED EXCLUDED            judge_open_task, judge_skipped_task: its needs or
 *                                    its condition keep it from running
 *   REUSED                           judge_open_task: it is done already (decide.spared)
 *   UNKNOWN                          judge_task, before all others (is_unknown)
 *   ASKED                            completed_reason, judge_task: it is to run again
 *   SERVICE                          judge_task: what needs it runs; settle_services:
 *                                    nothing that needs it does
 *   NOT_CHOSEN                       set_aside: it would run, but was not chosen. Its
 *                                    fate is 0, and nothing that is chosen needs it.
 *                                    If it failed last time, that stays recorded */
#ifndef PLAN_DECIDE_H
#define PLAN_DECIDE_H

#include "cairn/plan.h"
#include "cairn/run.h"
#include "checkpoint/payload.h"
#include "graph/graph.h"
#include "runs/marks.h"

/* Handlers: a failure is handled by a task that needs the failed one (or its group)
 * with `when: failed`, once that has completed; that of a task with `may_fail` is handled
 * without one. The same for what is planned and for
 * what runs. This one runs only after failures. */
static inline bool task_is_handler(const struct task_def *def)
{
    return def->when == WHEN_FAILED;
}

/* May the task fail, or is there a handler of its failure for which `is` holds? */
bool failure_has_handler(const struct graph *graph, uint32_t task,
                         bool (*is)(const void *context, uint32_t handler),
                         const void *context);
/* Has one completed? `number` [n_tasks]: of each task in `states`, or NODE_NONE; NULL:
 * the graph's own. */
bool failure_is_handled(const struct graph *graph, uint32_t task,
                        const struct states *states, const uint32_t *number);

/* Whether what a completed task read and made, or a failed one read, is as it was
 * recorded. plan/evidence.c finds the first difference, outputs before inputs before
 * secrets. */
enum evidence {
    EVIDENCE_GOOD,
    OUTPUT_MISSING,
    OUTPUT_DIFFERS,
    INPUT_DIFFERS,
    INPUT_MISSING,
    INPUT_NEW, /* it matches a pattern, and was not there */
    SECRET_DIFFERS,
    RESULT_LOST /* what it made and passed on cannot be told: evidence.c */
};

/* Bits, see above. A task has WILL, MAY, COMPLETED, FAILED or BAD, or OPEN alone. */
enum fate {
    FATE_WILL = 1,
    FATE_MAY = 2,
    FATE_RISK = 4,
    FATE_COMPLETED = 8,
    FATE_FAILED = 16,
    FATE_BAD = 32,
    FATE_OPEN = 64,
    FATE_TURNED = 128,
    FATE_EXCLUDED = 256,
    FATE_LISTED = 512,
    FATE_SPARED = 1024,
    FATE_DOOMED = 2048
};

/* How it ends is not known before the run. */
enum { FATE_UNSETTLED = FATE_WILL | FATE_MAY | FATE_RISK | FATE_OPEN };

/* It does not end as it is recorded, or that is not known. */
enum { FATE_ANEW = FATE_UNSETTLED | FATE_TURNED };

/* Whether the condition of a task holds. OPEN: it depends on tasks that are not settled
 * (by `fate`, [n_nodes], complete for all that the task needs). */
enum condition { CONDITION_NO, CONDITION_YES, CONDITION_OPEN };

typedef enum condition condition_fn(void *context, uint32_t task, const uint16_t *fate);

/* Whether a task that would run is done already. OPEN: that can be told when what it
 * needs has ended. `settled`: what it needs does not run, and is as it stays. */
enum spared { SPARED_NO, SPARED_YES, SPARED_STAYS, SPARED_OPEN };
typedef enum spared spared_fn(void *context, uint32_t task, const uint16_t *fate,
                              bool settled);

struct decide_input {
    const struct graph *graph;
    const struct graph *old;     /* of the recorded states; NULL: nothing recorded */
    const uint32_t *old_task;    /* from map_tasks */
    const struct states *states; /* in old's numbers */
    const uint8_t *marks;        /* in old's numbers, or NULL */
    const uint8_t *new_marks;    /* of tasks that old has not, or NULL */
    const uint8_t *evidence;     /* [graph->n_tasks] enum evidence, or NULL */
    const uint32_t *first_maker, *makers; /* plan/situation.h; NULL: none */
    uint32_t *rounds;      /* [graph->n_tasks] done so far, or NULL; set to 0 where the
                              task begins anew */
    const uint8_t *chosen; /* [graph->n_nodes] with all that they need; NULL: all */
    const uint8_t *again;  /* [graph->n_nodes] what is recorded of them counts no more;
                              NULL: none */
    /* the run orders ready tasks by durations that are not known here */
    bool reweighed;
    enum cairn_on_failure on_failure;
    enum cairn_on_change on_change; /* KEEP: changed tasks that are done stay done */
    condition_fn *condition;
    spared_fn *spared; /* NULL: none is */
    void *context;
};

struct decisions {
    uint32_t n, will, may;
    uint32_t adopted; /* of `will`: not started, since they run already or have ended */
    uint32_t spared;  /* done by another attempt: neither will nor may */
    uint16_t *fate;   /* [n_nodes] enum fate */
    uint8_t *aside;   /* [n_tasks] would run, but was not chosen; with
                       one, all of `finally` is, too */
    uint32_t n_aside;
    uint8_t *ask;    /* [n_tasks] has completed, must not run twice, and what it needs
                        runs again: it is asked about when it can start */
    uint8_t *reset;  /* [n_tasks] what is recorded counts no more */
    uint8_t *reason; /* [n_tasks] enum cairn_reason */
    uint32_t *cause; /* [n_tasks] node that the reason, or the
                        uncertainty, comes from, or NODE_NONE */
    uint32_t changed, added, removed; /* against `old`: tasks */
    uint32_t kept;                    /* changed, but stay done (CAIRN_KEEP) */
};

/* It is taken over, has failed, and another try follows: it is started again. */
static inline bool is_tried_again(const struct decisions *d, uint32_t task,
                                  uint8_t mark)
{
    return d->reason[task] == CAIRN_REASON_ADOPTED && !(d->fate[task] & FATE_OPEN) &&
           (mark & (MARK_ENDED | MARK_ENDED_BADLY)) == MARK_ENDED_BADLY;
}

int decide(const struct decide_input *input, struct decisions *out,
           struct cairn_error *error);
void decisions_release(struct decisions *decisions);
/* The graph has more tasks, all of which run. CAIRN_ENOMEM. */
int decisions_extend(struct decisions *decisions, const struct graph *graph);

#endif
