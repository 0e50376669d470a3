/* SPDX-License-Identifier: MIT */
/* Timers that are due.
 *
 * Waits, and takes what has happened. */
#ifndef EXECUTOR_COLLECT_H
#define EXECUTOR_COLLECT_H

#include "executor/state/engine.h"

int engine_collect(struct engine *e, struct cairn_error *error);

#endif
