/* SPDX-License-Identifier: MIT */
/* The end of a process, by the role of its attempt; and whether a failure stops the
 * run. */
#ifndef EXECUTOR_ATTEMPT_ENDING_H
#define EXECUTOR_ATTEMPT_ENDING_H

#include "executor/state/engine.h"

bool failure_unhandled(const struct engine *e, uint32_t task, bool still_open);
/* Stops the run for settled endings that were not read before. */
void failure_check_settled(struct engine *e);
/* Stops the run for failures that were recorded while no owner ran it. */
void failure_check_recorded(struct engine *e);

int engine_spawned(struct engine *e, struct spawn_request *request,
                   struct cairn_error *error);
/* The runner may start another task in the place of this one. */
void let_next_start(struct engine *e, uint64_t ticket);
int engine_exited(struct engine *e, struct job *job, struct cairn_error *error);
int engine_not_started(struct engine *e, const struct intent *intent,
                       const struct result *read, const char *why,
                       struct cairn_error *error);

#endif
