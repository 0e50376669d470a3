/* SPDX-License-Identifier: MIT */
/* What finished tasks of this run have for outputs. Is an input what its maker left? A
 * file that somebody has written since is not used in its place. And what an
 * interrupted attempt has left is not another task's. Files are known by their paths;
 * of two tasks with one output the later is the maker. */
#ifndef EXECUTOR_ATTEMPT_MADE_H
#define EXECUTOR_ATTEMPT_MADE_H

#include "executor/state/engine.h"

/* The outputs of an attempt that has ended well. */
void made_note(struct engine *e, const struct ending *ending,
               const struct result *result);
/* The inputs of an attempt that is to start, as they were looked at for it. 0, or
 * CAIRN_ECHANGED and why. Reads results that were stored before, no files. */
int made_check_inputs(struct engine *e, const struct job *job, struct buf *why);
/* What interrupted attempts have left of a task, before it is repeated: as
 * outputs_remove. */
int made_remove_outputs(struct engine *e, const struct job *job,
                        struct cairn_error *error);
/* The same of all tasks that are to run again (not those whose attempt lives, or has
 * ended and counts), while it is known what they have made:
 * from the beginning of a run on that is only in memory. What fails now is reported
 * when the task comes to it. */
void made_remove_all_left(struct engine *e);
/* NULL is allowed. */
void made_release(struct made_files *made);

#endif
