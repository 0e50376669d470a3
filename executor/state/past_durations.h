/* SPDX-License-Identifier: MIT */
/* Durations of tasks in an earlier run, for the critical path. */
#ifndef EXECUTOR_STATE_PAST_DURATIONS_H
#define EXECUTOR_STATE_PAST_DURATIONS_H

#include "executor/state/engine.h"

/* Those of the newest earlier run, if it has the same definition. */
int use_past_durations(struct engine *e, struct cairn_error *error);

#endif
