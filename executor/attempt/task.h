/* SPDX-License-Identifier: MIT */
/* The attempt of a task and its check, also the check that decides an unknown task; see
 * roles.h. */
#ifndef EXECUTOR_ATTEMPT_TASK_H
#define EXECUTOR_ATTEMPT_TASK_H

#include "executor/attempt/roles.h"

void task_started(struct engine *e, struct job *job);
int task_not_started(struct engine *e, const struct intent *intent,
                     const struct result *read, const char *why,
                     struct cairn_error *error);
int task_ended(struct engine *e, struct job *job, const struct process_end *end,
               const struct buf *text, struct cairn_error *error);
int task_answered(struct engine *e, struct job *job, const struct call_end *end,
                  struct cairn_error *error);
int task_looked(struct engine *e, struct job *job, struct ending *ending, int rc,
                struct cairn_error *why);

/* Starts the check of an attempt that ended well; the draft is kept until it ends. True
 * if it was started; else the draft says why it failed. */
int check_ended(struct engine *e, struct job *job, const struct process_end *end,
                const struct buf *text, struct cairn_error *error);
int check_looked(struct engine *e, struct job *job, struct ending *ending, int rc,
                 struct cairn_error *why);
/* Adds intents for unknown tasks that have a check. */
int decide_unknown(struct engine *e, struct cairn_error *error);
int decide_launch(struct engine *e, struct job *job, struct buf *why);
int decide_not_started(struct engine *e, const struct intent *intent,
                       const struct result *read, const char *why,
                       struct cairn_error *error);
int decide_ended(struct engine *e, struct job *job, const struct process_end *end,
                 const struct buf *text, struct cairn_error *error);
int decide_looked(struct engine *e, struct job *job, struct ending *ending, int rc,
                  struct cairn_error *why);

#endif
