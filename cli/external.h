/* SPDX-License-Identifier: MIT
 *
 * What the commands that name a task of a run have in common. */
#ifndef CLI_EXTERNAL_H
#define CLI_EXTERNAL_H

#include "options.h"

/* Opens the store for writing and reads the first operand as a run's number. */
int run_and_store(struct settings *settings, struct cairn_store **store, uint64_t *run);
/* Tells how a step ended: `what` is done, failed, ... */
int step_report(uint64_t run, const char *task, const char *what);

#endif
