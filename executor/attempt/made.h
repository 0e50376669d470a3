/* SPDX-License-Identifier: MIT */
/* What finished tasks of this run have for outputs. Is an input what its maker left? A
 * file that somebody has written since is not used in its place. Files are known by
 * their paths; of two tasks with one output the later is the maker. */
#ifndef EXECUTOR_ATTEMPT_MADE_H
#define EXECUTOR_ATTEMPT_MADE_H

#include "executor/state/engine.h"

/* The outputs of an attempt that has ended well. */
void made_note(struct engine *e, const struct ending *ending,
               const struct result *result);
/* The inputs of an attempt that is to start, as they were looked at for it. 0, or
 * CAIRN_ECHANGED and why. Reads results that were stored before, no files. */
int made_check_inputs(struct engine *e, const struct job *job, struct buf *why);
/* There are more tasks: what nobody wanted before may be wanted now. */
void made_extend(struct engine *e);
/* NULL is allowed. */
void made_release(struct made_files *made);

#endif
