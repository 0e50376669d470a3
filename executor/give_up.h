/* SPDX-License-Identifier: MIT */
/* Ending a run that cannot go on. */
#ifndef EXECUTOR_GIVE_UP_H
#define EXECUTOR_GIVE_UP_H

#include "executor/parts/engine.h"

/* Ends what runs. Nothing is decided or written any more; the run stays unfinished and
 * can be resumed. Calls that will finish later are waited for: they hold a handle into
 * the engine. */
void engine_give_up(struct engine *e);

#endif
