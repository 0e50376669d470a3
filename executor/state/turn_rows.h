/* SPDX-License-Identifier: MIT */
/* The rows and records that a turn becomes, inside a transaction. */
#ifndef EXECUTOR_STATE_TURN_ROWS_H
#define EXECUTOR_STATE_TURN_ROWS_H

#include "executor/state/engine.h"

int put_attempt(struct engine *e, struct ending *ending, uint64_t turn,
                struct cairn_error *error);

#endif
