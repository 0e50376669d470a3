/* SPDX-License-Identifier: MIT */
/* A run seen by somebody who does not own it: what could be done now, and commands that
 * change it. A command is stored in the transaction that checks it. Then the run's
 * owner takes it, or, where nobody owns the run, we do (engine_turn). */
#ifndef PLAN_OPEN_RUN_VIEW_H
#define PLAN_OPEN_RUN_VIEW_H

#include "plan/sched.h"
#include "plan/situation.h"
#include "runs/lookup.h"
#include "runs/view.h"
#include "workflow/workflow.h"

struct outside {
    struct cairn_store *store;
    struct arena arena; /* texts of `row` */
    struct run_row row;
    struct cairn_workflow *workflow; /* the definition that is stored with the run */
    struct situation situation;
    struct states states; /* as recorded; interrupted `once` tasks are unknown if nobody
                             owns the run */
    struct sched sched;
    struct lookup lookup;
    bool live, loaded;
};
/* Inside a transaction of the caller's, so that everything is of one moment. run 0: the
 * newest. */
int outside_open(struct outside *outside, struct cairn_store *store, uint64_t run,
                 struct cairn_error *error);
void outside_release(struct outside *outside);
/* CAIRN_ENOTFOUND, naming the run. */
int outside_find(const struct outside *outside, const char *id, uint32_t *task,
                 struct cairn_error *error);
/* How many attempts of a task are known. */
uint32_t outside_attempts(const struct outside *outside, uint32_t task);
/* *offered: an external task that can be done now. */
int outside_offers(struct outside *outside, uint32_t task, bool *offered,
                   struct cairn_error *error);
/* *pending: a command of this verb (0: COMPLETE or FAIL) for the task is stored and
 * nobody has taken it yet. */
int outside_pending(const struct outside *outside, uint32_t task, uint8_t verb,
                    bool *pending, struct cairn_error *error);
/* What a task declares must be there if it is said to be done: looked at before
 * anything is stored, so that it can still be made. CAIRN_EUSAGE. */
int outside_check_outputs(struct outside *outside, uint32_t task,
                          struct cairn_error *error);
/* Appends text without the secrets of the workflow that are known here. */
void outside_redact(const struct outside *outside, struct str text, struct buf *out);

/* ---- Commands ---- */

struct outside_command {
    uint64_t run, id;
    uint64_t turn; /* nothing that came of it happened before */
    uint8_t verb;
    /* What the caller sets, and keeps: */
    const char *task;
    bool done; /* meant to end in CAIRN_COMPLETED */
};
/* Inside a write transaction: fills in the rest of `out`. */
int outside_put(const struct outside *outside, const struct command_row *row,
                struct outside_command *out, struct cairn_error *error);
/* After the commit: until it was taken, and what came of it. CAIRN_EBUSY: the owner has
 * not taken it in time; it stays stored. CAIRN_EUSAGE: it was refused, or it did not
 * come out as it was meant. */
int outside_settle(struct cairn_store *store, const struct outside_command *command,
                   struct cairn_error *error);

#endif
