/* SPDX-License-Identifier: MIT */
/* Attempts that a dead owner left to their keepers. */
#ifndef EXECUTOR_ATTEMPT_ADOPT_H
#define EXECUTOR_ATTEMPT_ADOPT_H

#include "executor/parts/engine.h"

int adopt_all(struct engine *e, struct cairn_error *error);

#endif
