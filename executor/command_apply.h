/* SPDX-License-Identifier: MIT */
/* Commands that other processes stored for the run. */
#ifndef EXECUTOR_COMMAND_APPLY_H
#define EXECUTOR_COMMAND_APPLY_H

#include "executor/state/engine.h"

void commands_apply(struct engine *e);

#endif
