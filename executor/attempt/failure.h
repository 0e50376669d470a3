/* SPDX-License-Identifier: MIT */
/* Whether failures stop the run. */
#ifndef EXECUTOR_ATTEMPT_FAILURE_H
#define EXECUTOR_ATTEMPT_FAILURE_H

#include "executor/state/engine.h"

bool failure_unhandled(const struct engine *e, uint32_t task, bool still_open);
/* Stops the run for settled endings that were not read before. */
void failure_check_settled(struct engine *e);
/* Stops the run for failures that were recorded while no owner ran it. */
void failure_check_recorded(struct engine *e);

#endif
