/* SPDX-License-Identifier: MIT */
/* Timers that are due. */
#ifndef EXECUTOR_DUE_H
#define EXECUTOR_DUE_H

#include "executor/state/engine.h"

int engine_timers(struct engine *e, struct cairn_error *error);

#endif
