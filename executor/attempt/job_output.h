/* SPDX-License-Identifier: MIT */
/* What a process leaves: its output, and its end in words. */
#ifndef EXECUTOR_ATTEMPT_JOB_OUTPUT_H
#define EXECUTOR_ATTEMPT_JOB_OUTPUT_H

#include "executor/parts/engine.h"

/* Takes what it wrote; the slot's files are ready for the next one then. */
void job_capture(struct engine *e, struct job *job, struct ending *ending);
void job_describe_end(const struct engine *e, const struct job *job,
                      struct ending *ending);
void job_describe_signal(int signal, struct buf *text);

#endif
