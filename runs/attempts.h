/* SPDX-License-Identifier: MIT */
/* What attempts.c and output.c share. */
#ifndef RUNS_ATTEMPTS_H
#define RUNS_ATTEMPTS_H

#include "runs/stored.h"

struct task_place {
    uint32_t gen, task;
};
/* Calls `each` for every generation of the run that has the task, oldest first. */
int attempts_each_generation(struct cairn_store *store, const struct stored_run *v,
                             const char *task,
                             int (*each)(void *, const struct task_place *),
                             void *context, struct cairn_error *error);

#endif
