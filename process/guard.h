/* SPDX-License-Identifier: MIT */
/* The guard of a run: a small process (helper/guard.c) that outlives the engine by a
 * moment, to end all that the slots name. One for each run, started before the first
 * task, and again if it dies. */
#ifndef PROCESS_GUARD_H
#define PROCESS_GUARD_H

#include "process/slot_map.h"

#include <sys/types.h>

struct guard {
    pid_t pid;
    int pidfd;   /* readable when the guard has died: start another one */
    int life_fd; /* write end; its closing, by death or guard_stop, wakes the guard */
};
int guard_start(struct guard *guard, const struct slot_map *map,
                struct cairn_error *error);
/* Ends the guard after all slots are empty; reaps it. */
void guard_stop(struct guard *guard);

#endif
