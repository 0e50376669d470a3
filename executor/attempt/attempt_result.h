/* SPDX-License-Identifier: MIT */
/* The result of an attempt. */
#ifndef EXECUTOR_ATTEMPT_ATTEMPT_RESULT_H
#define EXECUTOR_ATTEMPT_ATTEMPT_RESULT_H

#include "executor/parts/engine.h"

/* An attempt that completed without what it declared has failed. */
void engine_check_result(struct engine *e, struct job *job, struct ending *ending);
/* Encodes the result and its digest into the ending. */
int ending_keep_result(struct engine *e, struct ending *ending,
                       const struct result *result, struct cairn_error *error);

#endif
