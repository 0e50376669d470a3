/* SPDX-License-Identifier: MIT */
/* What the roles of attempts do differently. */
#ifndef EXECUTOR_ATTEMPT_ROLES_H
#define EXECUTOR_ATTEMPT_ROLES_H

#include "executor/state/engine.h"

struct call_end {
    enum cairn_outcome outcome;
    const char *text;                 /* its message; NULL: none */
    const struct cairn_attempt *call; /* its values; NULL: it has set none */
    bool left;                        /* it has not ended, and was left behind */
};

struct role_ops {
    /* Starts the process of a taken slot, or LOOK_WAITS: its inputs are looked at
     * first. On failure the reason is in `why`. NULL: it is started behind another one
     * in its slot. */
    int (*launch)(struct engine *e, struct job *job, struct buf *why);
    /* It was not launched, and its slot is free again. `read`: its inputs and secrets,
     * as far as they were looked at; NULL: not at all. */
    int (*not_started)(struct engine *e, const struct intent *intent,
                       const struct result *read, const char *why,
                       struct cairn_error *error);
    /* Its process is there. NULL: nothing to do. */
    void (*started)(struct engine *e, struct job *job);
    /* Its process has ended, or was not made after all. `text`: the reason, or empty.
     * Frees the slot, unless another process follows in it. */
    int (*ended)(struct engine *e, struct job *job, const struct process_end *end,
                 const struct buf *text, struct cairn_error *error);
    /* Its callback has ended: jobs_end_call was called. NULL: that is as if a process had
     * ended, well or with exit code 1, with the message as its text. */
    int (*answered)(struct engine *e, struct job *job, const struct call_end *end,
                    struct cairn_error *error);
    /* The look at its outputs, for which it held the draft of its ending, has come to
     * `rc`. Returns an error, which `why` tells, for which the run is given up. NULL:
     * it never looks. */
    int (*looked)(struct engine *e, struct job *job, struct ending *ending, int rc,
                  struct cairn_error *why);
};

extern const struct role_ops role_ops[ROLE_READY + 1];

#endif
