/* SPDX-License-Identifier: MIT */
/* The attempt of a task that is a callback, from its start to its ending. */
#ifndef EXECUTOR_ATTEMPT_CALL_H
#define EXECUTOR_ATTEMPT_CALL_H

#include "executor/state/engine.h"

/* Is the intent's task a callback? */
bool intent_is_call(const struct engine *e, const struct intent *intent);
/* Runs the callback on another thread. */
int call_launch(struct engine *e, const struct intent *intent,
                struct cairn_error *error);
/* Settles the attempts of callbacks that have finished. */
int calls_settle(struct engine *e, struct cairn_error *error);
/* TIMER_TIMEOUT and TIMER_KILL of a job that is a callback. After its time limit and
 * its grace, or the grace after a second stop, it is left behind. */
void call_timed_out(struct engine *e, struct job *job);
int call_grace_over(struct engine *e, struct job *job, struct cairn_error *error);

#endif
