/* SPDX-License-Identifier: MIT */
/* The rows and records that a turn becomes, inside a transaction. */
#ifndef EXECUTOR_STATE_TURN_ROWS_H
#define EXECUTOR_STATE_TURN_ROWS_H

#include "executor/state/engine.h"

int put_attempt(struct engine *e, struct ending *ending, uint64_t turn,
                struct cairn_error *error);
/* The checkpoint first: the attempt's row names it. Then what was skipped. */
int put_ending(struct engine *e, struct ending *ending, uint64_t turn,
               struct cairn_error *error);
/* Gives up what attempts wrote, where it is more than so many bytes and waits to be
 * stored, and says so with the reason; false: there was nothing. */
bool endings_lose_output(struct engine *e, size_t bytes, const char *why);
int put_intent(struct engine *e, struct intent *intent, uint64_t turn,
               struct cairn_error *error);
/* Intents whose attempt never started are closed, so that nobody takes them for
 * interrupted ones. */
int close_intents(struct engine *e, struct cairn_error *error);

#endif
