/* SPDX-License-Identifier: MIT */
/* A run seen by somebody who does not own it: what could be done now, and commands that
 * change it. A command is stored in the transaction that checks it; after the commit
 * the run's owner takes it or, where nobody owns the run, the caller does
 * (engine_settle).
 *
 * Claims of a run's external tasks, by the task's number now: one that was made before
 * the workflow was edited holds for the task of the same id. */
#ifndef PLAN_RUN_VIEW_H
#define PLAN_RUN_VIEW_H

#include "plan/sched.h"
#include "plan/situation.h"
#include "runs/lookup.h"
#include "runs/run_tasks.h"
#include "runs/stored.h"
#include "secrets/outside.h"
#include "storage/rows_command.h"
#include "storage/rows_run.h"
#include "workflow/workflow.h"

struct run_view {
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
int run_view_open(struct run_view *view, struct cairn_store *store, uint64_t run,
                  struct cairn_error *error);
void run_view_release(struct run_view *view);
/* CAIRN_ENOTFOUND, naming the run. */
int run_view_find(const struct run_view *view, const char *id, uint32_t *task,
                  struct cairn_error *error);
/* *offered: an external task that can be done now. */
int run_view_offers(struct run_view *view, uint32_t task, bool *offered,
                    struct cairn_error *error);
/* *pending: a command of this verb (0: COMPLETE or FAIL) for the task is stored and
 * nobody has taken it yet. */
int run_view_has_command(const struct run_view *view, uint32_t task, uint8_t verb,
                         bool *pending, struct cairn_error *error);
/* What a task declares must be there if it is said to be done: looked at before
 * anything is stored, so that it can still be made. CAIRN_EUSAGE. */
int run_view_check_outputs(struct run_view *view, uint32_t task,
                           struct cairn_error *error);
/* outside_take with the secrets of the workflow that are known here. The text is in the
 * arena of the view. */
int run_view_take(struct run_view *view, enum outside_kind kind, const char *what,
                  const char *text, struct clean *out, struct cairn_error *error);

/* ---- Commands ---- */

/* A command that is stored for the run's owner. */
struct queued_command {
    uint64_t run, id;
    uint64_t turn; /* its effects are of this turn or a later one */
    uint8_t verb;
    /* Set, and owned, by the caller: */
    const char *task;
    bool done; /* meant to end in CAIRN_COMPLETED */
};

/* Inside a write transaction: stores the command, and fills in the rest of `out`. */
int run_view_put_command(const struct run_view *view, const struct command_row *row,
                         struct queued_command *out, struct cairn_error *error);

struct claim {
    bool exists;
    bool spent; /* completed or failed with it */
    struct str token, holder;
    int64_t time_ns; /* UTC, of the claim: renewing it changes nothing */
    int64_t left_ms; /* of the lease; 0: over */
    uint32_t lost;   /* leases that ran out before anybody reported, with this one */
};

struct claims {
    struct arena arena;
    struct claim *at; /* [n_tasks] the newest of each */
};

/* A token is 32 hexadecimal digits. Of a claim before which leases were lost, a point
 * and their number stand behind them, so that it needs no place of its own. */
enum { CLAIM_DIGITS = 32, CLAIM_LOST_MOST = 999 };

/* In the transaction of `outside`. */
int claims_load(struct claims *claims, const struct run_view *view,
                struct cairn_error *error);
void claims_release(struct claims *claims);

#endif
