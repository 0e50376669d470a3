/* SPDX-License-Identifier: MIT */
/* The result of an attempt. */
#ifndef EXECUTOR_ATTEMPT_ATTEMPT_RESULT_H
#define EXECUTOR_ATTEMPT_ATTEMPT_RESULT_H

#include "executor/state/engine.h"

/* An attempt that completed without what it declared has failed. */
void engine_check_result(struct engine *e, struct job *job, struct ending *ending);
/* The declared outputs as they are now, into `result`. Without one of them: an error
 * that names it. */
int read_outputs(const struct asker *asker, struct arena *arena, struct result *result,
                 struct cairn_error *error);
/* Of an attempt that did not complete after all. */
void ending_drop_result(struct ending *ending);
/* Encodes the result and its digest into the ending. */
int ending_keep_result(struct engine *e, struct ending *ending,
                       const struct result *result, struct cairn_error *error);

#endif
