/* SPDX-License-Identifier: MIT */
/* The declared files of an attempt whose end nobody has stored: are they still as they
 * were when it ended? What it read and made is recorded only when its end is taken
 * over. If that has changed since it began or ended, by another run or by hand, nobody
 * knows what it was. */
#ifndef PLAN_ENDED_FILES_H
#define PLAN_ENDED_FILES_H

#include "process/end_notes.h"
#include "process/keeper.h"
#include "runs/lookup.h"

/* What a keeper has recorded of an end, as a note of it. `task` is the asker's. */
struct end_note ended_note_of(const struct keeper *keeper, uint32_t task);
/* By the task's present definition: that is what will be recorded. Appends to `why`
 * what is not as it was, for people ("x has changed since", "x is gone"); nothing if
 * the end counts. The only error is want of memory. */
int ended_files_check(const struct asker *asker, const struct end_note *end,
                      struct buf *why, struct cairn_error *error);

#endif
