/* SPDX-License-Identifier: MIT */
/* The rows and records that a turn becomes, inside a transaction. */
#ifndef EXECUTOR_STATE_TURN_ROWS_H
#define EXECUTOR_STATE_TURN_ROWS_H

#include "executor/state/engine.h"

int put_attempt(struct engine *e, struct ending *ending, uint64_t turn,
                struct cairn_error *error);
/* The files that an attempt of an earlier owner, which nobody saw end, has written of
 * its outputs, if it is of a task that is gone. */
int put_left_by_gone(struct engine *e, const struct attempt_row *row,
                     struct cairn_error *error);

#endif
