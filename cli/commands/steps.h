/* SPDX-License-Identifier: MIT */
/* What the commands that name a task of a run have in common. */
#ifndef CLI_COMMANDS_STEPS_H
#define CLI_COMMANDS_STEPS_H

#include "cli/options.h"

/* Opens the store for writing and reads the first operand as a run's number. */
int run_and_store(struct settings *settings, struct cairn_store **store, uint64_t *run);
/* What continues a run for one who then waits for its external tasks (cli/describe.h,
 * resume_words). */
const char *steps_resume_words(const struct settings *settings,
                               struct cairn_store *store,
                               const struct cairn_run_info *run);
/* *needed: no process owns the run, and only `cairn resume` can continue it. */
int resume_needed(struct cairn_store *store, const struct cairn_run_info *run,
                  bool *needed);

#endif
