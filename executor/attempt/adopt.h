/* SPDX-License-Identifier: MIT */
/* Attempts of a dead owner that were not interrupted: those under a keeper, and those
 * that had ended without being stored, whose ends were noted (process/end_notes.h). */
#ifndef EXECUTOR_ATTEMPT_ADOPT_H
#define EXECUTOR_ATTEMPT_ADOPT_H

#include "executor/state/engine.h"

/* Moves their output and values from the files of slots, which our own attempts will
 * use, to files of their own. While the slot file is still the last owner's. */
void noted_move_files(struct engine *e);

/* All but those of `finally`: when the processes can be asked. */
int adopt_all(struct engine *e, struct cairn_error *error);
/* Those of `finally`, once its tasks may run. */
int adopt_finally(struct engine *e, struct cairn_error *error);

#endif
