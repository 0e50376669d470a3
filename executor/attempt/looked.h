/* SPDX-License-Identifier: MIT */
/* Jobs whose declared files were looked at on a thread go on. */
#ifndef EXECUTOR_ATTEMPT_LOOKED_H
#define EXECUTOR_ATTEMPT_LOOKED_H

#include "executor/state/engine.h"

int looks_settle(struct engine *e, struct cairn_error *error);

#endif
