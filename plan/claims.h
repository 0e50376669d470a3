/* SPDX-License-Identifier: MIT */
/* Claims of a run's external tasks, by the task's number now: one that was made before
 * the workflow was edited holds for the task of the same id. */
#ifndef PLAN_CLAIMS_H
#define PLAN_CLAIMS_H

#include "plan/run_view.h"

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
