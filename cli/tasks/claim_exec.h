/* SPDX-License-Identifier: MIT */
/* cairn claim --any --exec CMD: a command does the task that was claimed. */
#ifndef CLI_TASKS_CLAIM_EXEC_H
#define CLI_TASKS_CLAIM_EXEC_H

#include "cli/options.h"

/* Runs the shell command while the lease is renewed, then completes or fails the task.
 * Returns 0 (completed), 1 (failed), 6 (the claim was lost, and the command ended), 7
 * (a signal: the command was ended and the task given back), or what an error gives. */
int claim_exec(struct settings *settings, struct cairn_store *store,
               const struct cairn_claimed *claimed);

#endif
