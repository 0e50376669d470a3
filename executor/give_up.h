/* SPDX-License-Identifier: MIT */
/* Ending a run that cannot go on. */
#ifndef EXECUTOR_GIVE_UP_H
#define EXECUTOR_GIVE_UP_H

#include "executor/state/engine.h"

/* Ends what runs. Nothing is decided or written any more; the run stays unfinished and
 * can be resumed. Callbacks are asked to stop, and left behind after their grace. */
void engine_give_up(struct engine *e);

#endif
