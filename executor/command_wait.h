/* SPDX-License-Identifier: MIT */
#ifndef EXECUTOR_COMMAND_WAIT_H
#define EXECUTOR_COMMAND_WAIT_H

#include "plan/run_view.h"

/* After the commit that stored the command: waits until it is taken, and reports what
 * it led to. CAIRN_EBUSY: the owner has not taken it in time; it stays stored.
 * CAIRN_EUSAGE: it was refused, or did not end as it was meant to. */
int command_wait(struct cairn_store *store, const struct queued_command *command,
                 struct cairn_error *error);
/* The same for a command that counts whether or not it is taken, so nothing is settled
 * here: the run's owner is woken, and waited for. *live: it has one; *taken: which has
 * taken the command. */
int command_offer(struct cairn_store *store, const struct command_row *command,
                  bool *live, bool *taken, struct cairn_error *error);

#endif
