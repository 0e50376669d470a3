/* SPDX-License-Identifier: MIT */
/* Commands that other processes stored for the run. */
#ifndef EXECUTOR_COMMAND_APPLY_H
#define EXECUTOR_COMMAND_APPLY_H

#include "executor/state/engine.h"

void commands_apply(struct engine *e);
/* TIMER_ADDITIONS is due: what was added and waits for others becomes a part of the run. */
void commands_take_waiting(struct engine *e);

#endif
