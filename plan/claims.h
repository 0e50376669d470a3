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
    int64_t time_ns;
    int64_t left_ms; /* of the lease; 0: over */
};
struct claims {
    struct arena arena;
    struct claim *at; /* [n_tasks] the newest of each */
};
/* In the transaction of `outside`. */
int claims_load(struct claims *claims, const struct run_view *view,
                struct cairn_error *error);
void claims_release(struct claims *claims);

#endif
