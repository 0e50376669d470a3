/* SPDX-License-Identifier: MIT */
/* What running tasks write, looked at while they write it: told
 * (options->stream_output, options->last_lines), and when it grew. */
#ifndef EXECUTOR_ATTEMPT_STREAM_H
#define EXECUTOR_ATTEMPT_STREAM_H

#include "executor/state/engine.h"

/* At each tick: new whole lines of every running task. */
void stream_outputs(struct engine *e);
/* At each tick: which logs have grown, and how they end now. */
void look_at_logs(struct engine *e);

#endif
