/* SPDX-License-Identifier: MIT */
/* Why a task that can be reused is not: how what the newest run was given and made
 * differs from what there is now. For people only. */
#ifndef PLAN_NEAREST_H
#define PLAN_NEAREST_H

#include "plan/reuse.h"
#include "runs/stored.h"

struct nearest {
    uint64_t run; /* the newest run of the workflow; 0: there is none */
    bool tried, loaded;
    struct stored_run then;
    struct lookup lookup; /* of that run */
    struct digest *fingerprints;
};

/* Appends a sentence, or nothing if that run says nothing of the task. The task is
 * pending, and what it needs has ended; reuse_find has not found it good: `found`. Only
 * memory and a stop fail. */
int nearest_describe(struct nearest *nearest, struct reuse *reuse, uint32_t task,
                     const struct reused *found, struct buf *out,
                     struct cairn_error *error);
void nearest_release(struct nearest *nearest);

#endif
