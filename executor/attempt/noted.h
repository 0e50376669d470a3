/* SPDX-License-Identifier: MIT */
/* Attempts of the last owner that had ended, and whose outcome it did not live to
 * store: their ends were noted (process/end_notes.h). They are taken over like those
 * that a keeper has the record of (adopt.h). */
#ifndef EXECUTOR_ATTEMPT_NOTED_H
#define EXECUTOR_ATTEMPT_NOTED_H

#include "executor/state/engine.h"

/* Moves their output and values from the files of slots, which our own attempts will
 * use, to files of their own. While the slot file is still the last owner's. */
void noted_move_files(struct engine *e);
/* As if a keeper had recorded it. */
struct keeper noted_keeper(const struct attempt_id *id, const struct end_note *note);
/* That some of their output may be lost. */
void noted_report_losses(struct engine *e);

#endif
