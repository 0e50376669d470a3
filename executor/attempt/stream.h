/* SPDX-License-Identifier: MIT */
/* What running tasks write, told while they write it (options->stream_output). */
#ifndef EXECUTOR_ATTEMPT_STREAM_H
#define EXECUTOR_ATTEMPT_STREAM_H

#include "executor/state/engine.h"

/* At each tick: new whole lines of every running task. */
void stream_outputs(struct engine *e);

#endif
