/* SPDX-License-Identifier: MIT */
/* What the files of cairn_plan share. */
#ifndef PLAN_PLAN_INT_H
#define PLAN_PLAN_INT_H

#include "cairn/plan.h"
#include "plan/situation.h"

struct cairn_plan {
    struct situation situation;
    const struct cairn_workflow *workflow;
    struct arena arena; /* details that had to be made; failed: one is not right */
    char live[160];     /* a notice, or "" */
};

#endif
