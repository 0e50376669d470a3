/* SPDX-License-Identifier: MIT */
/* Everything that must exist before the loop and go away after it. */
#ifndef EXECUTOR_SETUP_H
#define EXECUTOR_SETUP_H

#include "executor/state/engine.h"

int engine_open(struct engine *e, struct cairn_error *error);
void engine_close(struct engine *e);

#endif
