/* SPDX-License-Identifier: MIT */
/* From ready tasks to intents while there is room, and from the tasks to undoing,
 * `finally` and the final state. phases.c is the only writer of `phase`. */
#ifndef EXECUTOR_PHASES_H
#define EXECUTOR_PHASES_H

#include "executor/state/engine.h"

int engine_plan_intents(struct engine *e, struct cairn_error *error);

/* Ends what runs. Nothing is decided or written any more; the run stays unfinished and
 * can be resumed. Callbacks are asked to stop, and left behind after their grace. */
void engine_give_up(struct engine *e);
/* A call that only undoes has no other phase. */
void phases_begin_undo(struct engine *e);
/* True if there is nothing left to do in any phase. */
int phases_advance(struct engine *e, bool *over, struct cairn_error *error);
enum cairn_run_state phases_final_state(const struct engine *e);
void phases_fill_result(const struct engine *e, enum cairn_run_state state,
                        struct cairn_run_result *result);

#endif
