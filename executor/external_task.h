/* SPDX-License-Identifier: MIT */
/* An external task that somebody wants to take or to end. For executor/ only. All that
 * a claim or a completion rests on is looked at in the transaction that stores it, so
 * that of many who want a task one gets it. */
#ifndef EXECUTOR_EXTERNAL_TASK_H
#define EXECUTOR_EXTERNAL_TASK_H

#include "cairn/external.h"
#include "plan/claims.h"

struct step {
    struct run_view view;
    struct claims claims;
    uint32_t task;
    struct claim *claim; /* in `claims` */
};
/* Inside a write transaction. CAIRN_ENOTFOUND; CAIRN_EUSAGE for a task that is not
 * external. */
int step_open(struct step *step, struct cairn_store *store, uint64_t run,
              const char *task, struct cairn_error *error);
void step_release(struct step *step);
/* CAIRN_EUSAGE if it cannot be done now; CAIRN_EOWNED if somebody has just ended it. */
int step_check_open(struct step *step, struct cairn_error *error);
/* CAIRN_EOWNED, naming the holder. */
int step_is_taken(const struct step *step, struct cairn_error *error);
/* The newest claim of the task from now on. */
struct new_claim {
    struct str token, holder;
    int64_t lease_ms;
    bool spent;
};
int step_put_claim(const struct step *step, const struct new_claim *claim,
                   struct cairn_error *error);
void step_token(char token[CAIRN_CLAIM_MAX]);

#endif
