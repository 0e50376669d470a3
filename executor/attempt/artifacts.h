/* SPDX-License-Identifier: MIT */
/* Storing the artifacts of an attempt that has ended, before it is settled: what is
 * reported as done has them. What is little is stored at once, the rest on a thread
 * while the job waits (looks.h). */
#ifndef EXECUTOR_ATTEMPT_ARTIFACTS_H
#define EXECUTOR_ATTEMPT_ARTIFACTS_H

#include "executor/state/engine.h"

/* Their content is in the pool afterwards, and the commit of the turn refers to it. If
 * that cannot be, an attempt that had completed has failed, and the draft says why. Does
 * nothing where the end of the draft leaves none. */
void artifacts_store(struct engine *e, struct ending *ending);
/* The same for the job of the attempt, which is over; then calls `after` with the draft,
 * now or in a later turn. */
typedef void after_artifacts_fn(struct engine *e, struct job *job,
                                struct ending *ending);
void artifacts_then(struct engine *e, struct job *job, struct ending *ending,
                    after_artifacts_fn *after);

#endif
