/* SPDX-License-Identifier: MIT */
/* The output of a process, and its end in words. */
#ifndef EXECUTOR_ATTEMPT_JOB_OUTPUT_H
#define EXECUTOR_ATTEMPT_JOB_OUTPUT_H

#include "executor/state/engine.h"

/* Takes what it wrote, and resets the slot's files for the next one. */
void job_capture(struct engine *e, struct job *job, struct ending *ending);
void job_describe_end(const struct engine *e, const struct job *job,
                      struct ending *ending);
void job_describe_signal(int signal, struct buf *text);

#endif
