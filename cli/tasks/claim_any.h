/* SPDX-License-Identifier: MIT */
/* cairn claim --any: whichever external task can be done now. */
#ifndef CLI_TASKS_CLAIM_ANY_H
#define CLI_TASKS_CLAIM_ANY_H

#include "cli/options.h"

/* Waits for one if it is to, claims it, and has it done with --exec. Returns an exit
 * status. */
int claim_any(struct settings *settings);

#endif
