/* SPDX-License-Identifier: MIT */
/* What the files of decide.c share. */
#ifndef PLAN_DECIDE_INT_H
#define PLAN_DECIDE_INT_H

#include "plan/decide.h"

struct judge {
    const struct decide_input *in;
    struct decisions *out;
    struct digest *now, *then; /* fingerprints; NULL when the graphs are the same */
    bool any_open;
    uint32_t first_will, first_may, first_turned; /* for `finally` */
};

/* Where the run stops at failures: after the tasks are judged, takes back what an
 * expected failure may keep from running. CAIRN_ENOMEM. */
int apply_stop_on_failure(struct judge *judge);

#endif
