/* SPDX-License-Identifier: MIT */
/* The attempt of a task; see roles.h. */
#ifndef EXECUTOR_ATTEMPT_TASK_H
#define EXECUTOR_ATTEMPT_TASK_H

#include "executor/state/engine.h"

void task_started(struct engine *e, const struct job *job);
int task_not_started(struct engine *e, const struct intent *intent,
                     const struct result *read, const char *why,
                     struct cairn_error *error);
int task_ended(struct engine *e, struct job *job, const struct process_end *end,
               const struct buf *text, struct cairn_error *error);
int task_looked(struct engine *e, struct job *job, struct ending *ending, int rc,
                struct cairn_error *why);

#endif
