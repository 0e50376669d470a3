/* SPDX-License-Identifier: MIT */
/* The end of an attempt of a task, which may be a round. */
#ifndef EXECUTOR_ATTEMPT_ROUND_H
#define EXECUTOR_ATTEMPT_ROUND_H

#include "executor/state/engine.h"

/* Settles the ending of the job, whose result is complete, and frees the job. */
void end_or_repeat(struct engine *e, struct job *job, struct ending *ending);

#endif
