/* SPDX-License-Identifier: MIT */
/* Starts what has a durable intent, and goes on with jobs whose declared files were
 * read on a thread. */
#ifndef EXECUTOR_ATTEMPT_START_H
#define EXECUTOR_ATTEMPT_START_H

#include "executor/state/engine.h"

int engine_start_ready(struct engine *e, struct cairn_error *error);
/* Would that start something now? */
bool launch_possible(struct engine *e);

int looks_settle(struct engine *e, struct cairn_error *error);

#endif
