/* SPDX-License-Identifier: MIT */
/* Tasks that are done without being run: an attempt of this run or an earlier one was
 * given the same, and what it made is there (plan/reuse.h). */
#ifndef EXECUTOR_ATTEMPT_SPARED_H
#define EXECUTOR_ATTEMPT_SPARED_H

#include "executor/state/engine.h"

/* Once the run has its row. Does nothing if no task can be reused or cut off. */
int spared_open(struct engine *e, struct cairn_error *error);
void spared_close(struct engine *e);
/* A ready task that is to run. 1: it does, or its outputs are put back instead once it
 * has a slot (task_is_put_back); 0: it is done, and settled; or an error. */
int spared_settle(struct engine *e, uint32_t task, struct cairn_error *error);
/* The slot of a task that is put back: LOOK_WAITS, and when that is done it is settled;
 * or 0: it cannot be, and is to be run. */
int spared_put_back(struct engine *e, struct job *job);

#endif
