/* SPDX-License-Identifier: MIT */
/* Storing the artifacts of an attempt that has completed, before it is settled: what is
 * reported as done has them. */
#ifndef EXECUTOR_ATTEMPT_ARTIFACTS_H
#define EXECUTOR_ATTEMPT_ARTIFACTS_H

#include "executor/state/engine.h"

/* Does nothing for a draft that has not completed, or a task without artifacts. Their
 * content is in the pool afterwards, and the commit of the turn refers to it. If that
 * cannot be, the attempt has failed, and the draft says why. */
void artifacts_store(struct engine *e, struct ending *ending);

#endif
