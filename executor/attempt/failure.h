/* SPDX-License-Identifier: MIT */
/* What follows from settled endings: whether the run stops. */
#ifndef EXECUTOR_ATTEMPT_FAILURE_H
#define EXECUTOR_ATTEMPT_FAILURE_H

#include "executor/parts/engine.h"

bool failure_unhandled(const struct engine *e, uint32_t task, bool still_open);
/* Of those endings that were not looked at before. */
void failure_follow(struct engine *e);
/* What failed while nobody ran the workflow stops it now. */
void failure_recall(struct engine *e);

#endif
