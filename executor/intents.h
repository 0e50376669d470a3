/* SPDX-License-Identifier: MIT */
/* From ready tasks to intents, while there is room. */
#ifndef EXECUTOR_INTENTS_H
#define EXECUTOR_INTENTS_H

#include "executor/state/engine.h"

int engine_plan_intents(struct engine *e, struct cairn_error *error);

#endif
