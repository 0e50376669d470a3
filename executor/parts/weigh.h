/* SPDX-License-Identifier: MIT */
/* How long the tasks took before, for the critical path. */
#ifndef EXECUTOR_PARTS_WEIGH_H
#define EXECUTOR_PARTS_WEIGH_H

#include "executor/parts/engine.h"

/* From the newest run of this very definition, if there is another one. */
int weigh_tasks(struct engine *e, struct cairn_error *error);

#endif
