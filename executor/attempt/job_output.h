/* SPDX-License-Identifier: MIT */
/* What a process or a call leaves: its output, its end in words and in its row. */
#ifndef EXECUTOR_ATTEMPT_JOB_OUTPUT_H
#define EXECUTOR_ATTEMPT_JOB_OUTPUT_H

#include "executor/state/engine.h"

/* Takes what it wrote, and resets the slot's files for the next one. */
void job_capture(struct engine *e, struct job *job, struct ending *ending);
void job_describe_end(const struct engine *e, const struct job *job,
                      struct ending *ending);
void job_describe_signal(int signal, struct buf *text);

/* A draft: what every end of a job's process, or call, leaves in its row. `end` may be
 * NULL. NULL: out of memory. */
struct ending *ending_of_job(struct engine *e, struct job *job,
                             const struct process_end *end, struct cairn_error *error);
/* What the process used, and whether it ran out of time. */
void ending_add_usage(struct ending *ending, const struct job *job,
                      const struct process_end *end);

#endif
