/* SPDX-License-Identifier: MIT */
/* Starting what has a durable intent. */
#ifndef EXECUTOR_ATTEMPT_START_H
#define EXECUTOR_ATTEMPT_START_H

#include "executor/state/engine.h"

/* The look at its inputs has come to `rc`: then it is ready, or cannot start. */
int start_after_look(struct engine *e, struct job *job, int rc, const char *why,
                     struct cairn_error *error);
int engine_start_ready(struct engine *e, struct cairn_error *error);
/* Would that start something now? */
bool launch_possible(struct engine *e);

#endif
