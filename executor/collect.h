/* SPDX-License-Identifier: MIT */
/* Waits, and takes what has happened, timers included. */
#ifndef EXECUTOR_COLLECT_H
#define EXECUTOR_COLLECT_H

#include "executor/state/engine.h"

int engine_collect(struct engine *e, struct cairn_error *error);

#endif
