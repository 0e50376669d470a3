/* SPDX-License-Identifier: MIT */
/* Errors about a task that does not exist. Both functions return an exit status. */
#ifndef CLI_UNKNOWN_TASK_H
#define CLI_UNKNOWN_TASK_H

#include "cairn.h"

/* Reports that the workflow has no such task: it is a group, or names the nearest. */
int unknown_task(const struct cairn_workflow *workflow, const char *task);
/* Reports an error about a task of a run; if the task was not found, as unknown_task
 * does, from the run's graph. */
int missing_task(struct cairn_store *store, uint64_t run, const char *task,
                 const struct cairn_error *error);

#endif
