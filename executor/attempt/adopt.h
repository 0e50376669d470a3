/* SPDX-License-Identifier: MIT */
/* Attempts of a dead owner that were not interrupted. */
#ifndef EXECUTOR_ATTEMPT_ADOPT_H
#define EXECUTOR_ATTEMPT_ADOPT_H

#include "executor/state/engine.h"

/* All but those of `finally`: when the processes can be asked. */
int adopt_all(struct engine *e, struct cairn_error *error);
/* Those of `finally`, once its tasks may run. */
int adopt_finally(struct engine *e, struct cairn_error *error);

#endif
