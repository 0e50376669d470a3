/* SPDX-License-Identifier: MIT */
/* What other processes want of the run. */
#ifndef EXECUTOR_COMMAND_APPLY_H
#define EXECUTOR_COMMAND_APPLY_H

#include "executor/parts/engine.h"

void commands_apply(struct engine *e);

#endif
