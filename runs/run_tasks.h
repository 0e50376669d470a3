/* SPDX-License-Identifier: MIT */
/* Which notes of ends count (process/end_notes.h), for all who look at a run that has
 * no owner: what runs next, and what people are shown, must not differ.
 *
 * Attempts of a task, in every definition that its run has had.
 *
 * The tasks of a run as they stand: recorded outcome, newest attempt, and, of a run
 * that is live, which of them have a process. */
#ifndef RUNS_RUN_TASKS_H
#define RUNS_RUN_TASKS_H

#include "cairn/store.h"
#include "process/end_notes.h"
#include "runs/stored.h"
#include "storage/rows_attempt.h"
#include "storage/rows_run.h"

#include <stdbool.h>

/* It was not ended by us because the run was to stop, and what it passed on to others
 * is still there. */
bool noted_end_counts(struct cairn_store *store, uint64_t run,
                      const struct end_note *note);

struct task_place {
    uint32_t gen, task;
};

/* Calls `each` for every generation of the run that has the task, oldest first. */
int attempts_each_generation(struct cairn_store *store, const struct stored_run *v,
                             const char *task,
                             int (*each)(void *, const struct task_place *),
                             void *context, struct cairn_error *error);

/* How long the attempts of a task took that have ended, without those at its undo. */
struct attempt_times {
    uint32_t rows; /* with those at its undo */
    uint32_t started, ended;
    int64_t all_ns; /* of all that have ended */
    /* Of the newest, and those that failed right before it: when the first began. */
    uint32_t latest;
    int64_t latest_ns, latest_started_ns;
    bool over;   /* the next attempt has nothing to do with these */
    bool parted; /* nor have the latest with what came before all of these */
};

/* The next attempt of the task, by its number. */
void attempt_times_add(struct attempt_times *times, const struct attempt_row *row);
/* `before`: those of an earlier generation. */
void attempt_times_prepend(struct attempt_times *times,
                           const struct attempt_times *before);

/* [n + 1] which tasks have a process now: as the slots of a live run say. since_ns (may
 * be NULL, [n]): when it was started. NULL: out of memory. The caller frees it. */
uint8_t *running_tasks(struct cairn_store *store, const struct run_row *row, uint32_t n,
                       int64_t *since_ns);

#endif
