/* SPDX-License-Identifier: MIT */
/* Whose run this is, and where it lives: the lock of its workflow, its row, its live
 * directory, and where it stood when we came. tenure.c is the only writer of `tenure`.
 */
#ifndef EXECUTOR_PARTS_TENURE_H
#define EXECUTOR_PARTS_TENURE_H

#include "plan/situation.h"
#include "storage/rows_run.h"

struct engine;

struct tenure {
    struct situation situation;
    struct run_row row;
    int64_t lock_offset; /* of the workflow, 0: not held */
    const char *live_dir;
    char *temporary; /* live directory of a run without a store */
    char identity[64];
    bool orderly; /* ended, and all stored: nothing in the live directory counts */
    struct arena arena;
};

/* Ownership of the workflow, before the situation is looked at. */
int tenure_own(struct engine *e, struct cairn_error *error);
int tenure_load(struct engine *e, struct cairn_error *error);
/* A run without a store still needs a place for output. */
int tenure_make_temporary(struct engine *e, struct cairn_error *error);
/* The row of the run that goes on, or of a new one. */
int tenure_take_row(struct engine *e, struct cairn_error *error);
/* Nothing is to be done: the row as it is recorded. */
void tenure_keep_recorded_row(struct engine *e);
/* Stores the row and the definition; inside a transaction. */
int tenure_put_row(struct engine *e, struct cairn_error *error);
/* An attempt of the last owner was found to be still alive. */
void tenure_note_outlived(struct engine *e, uint32_t old_task);
/* How the run has ended; stored by tenure_put_end, inside a transaction. */
void tenure_end(struct engine *e, enum cairn_run_state state);
int tenure_put_end(struct engine *e, struct cairn_error *error);
void tenure_note_orderly(struct engine *e, bool orderly);
void tenure_release(struct engine *e);

#endif
