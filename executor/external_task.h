/* SPDX-License-Identifier: MIT */
/* An external task that somebody wants to claim or to end. For executor/ only. What a
 * claim or a report depends on is read in the transaction that stores it, so exactly
 * one of many callers gets the task. */
#ifndef EXECUTOR_EXTERNAL_TASK_H
#define EXECUTOR_EXTERNAL_TASK_H

#include "cairn/external.h"
#include "plan/claims.h"

struct external_task {
    struct run_view view;
    struct claims claims;
    uint32_t task;
    struct claim *claim; /* in `claims` */
};
/* Inside a write transaction. CAIRN_ENOTFOUND; CAIRN_EUSAGE for a task that is not
 * external. */
int external_task_open(struct external_task *t, struct cairn_store *store, uint64_t run,
                       const char *task, struct cairn_error *error);
void external_task_release(struct external_task *t);
/* CAIRN_EUSAGE if it cannot be done now; CAIRN_EOWNED if somebody has just ended it. */
int external_task_check_open(struct external_task *t, struct cairn_error *error);
/* Has the run ended, by something else, while somebody did the task? That it
 * is done, with the token, is kept then, and counts when the run goes on. (A failure is
 * not: it would end the run again at once.) */
bool external_task_is_late(const struct external_task *t);
/* Returns CAIRN_EOWNED, with the holder's name in the error. */
int external_task_refuse_taken(const struct external_task *t,
                               struct cairn_error *error);
/* CAIRN_EOWNED: it is not, or no longer, that of a claim of the task; CAIRN_EUSAGE: the
 * task was ended with it. */
int external_task_check_token(const struct external_task *t, const char *token,
                              struct cairn_error *error);
/* Stored by external_task_put_claim as the newest claim of the task. */
struct new_claim {
    struct str token, holder;
    int64_t lease_ms; /* 0: given back */
    bool spent;
    int64_t time_ns; /* of the claim; 0: it is made now */
};
int external_task_put_claim(const struct external_task *t,
                            const struct new_claim *claim, struct cairn_error *error);
/* Reports one as failed whose leases were lost too often, if that is still so. */
int external_task_fail_lost(struct cairn_store *store, uint64_t run, const char *task,
                            const char *message, struct cairn_error *error);
int make_claim_token(char token[CAIRN_CLAIM_MAX], struct cairn_error *error);

#endif
