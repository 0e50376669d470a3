/* SPDX-License-Identifier: MIT */
/* Starting what has a durable intent.
 *
 * Jobs whose declared files were looked at on a thread go on. */
#ifndef EXECUTOR_ATTEMPT_START_H
#define EXECUTOR_ATTEMPT_START_H

#include "executor/state/engine.h"

int engine_start_ready(struct engine *e, struct cairn_error *error);
/* Would that start something now? */
bool launch_possible(struct engine *e);

int looks_settle(struct engine *e, struct cairn_error *error);

#endif
