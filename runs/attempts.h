/* SPDX-License-Identifier: MIT */
/* Attempts of a task, in every definition that its run has had. */
#ifndef RUNS_ATTEMPTS_H
#define RUNS_ATTEMPTS_H

#include "runs/stored.h"
#include "storage/rows_attempt.h"

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
    uint32_t rows, ended;
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

#endif
