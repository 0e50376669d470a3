/* SPDX-License-Identifier: MIT */
/* cairn status --timing: where the time of a run went. */
#ifndef CLI_TASKS_TIMING_H
#define CLI_TASKS_TIMING_H

#include "cli/options.h"

/* The slowest tasks, and the chain of tasks that each waited for the one before it.
 * Returns an exit status. */
int show_timing(const struct settings *settings, struct cairn_store *store,
                const struct cairn_run_info *run);

#endif
