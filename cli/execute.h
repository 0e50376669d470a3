/* SPDX-License-Identifier: MIT */
/* Carries out a run in the foreground, for `run`, `resume` and `undo`, with a
 * checkpoint of the current session for every task that fails. */
#ifndef CLI_EXECUTE_H
#define CLI_EXECUTE_H

#include "cairn.h"
#include "cli/options.h"

/* Fills the options that tune a run from the command line. */
void tuning_options(const struct settings *settings, struct cairn_run_options *options);
/* It is not started: its process was. */
bool is_taken_over(const struct cairn_decision *decision);
/* Says what will run, with the reasons. */
void announce_plan(struct settings *settings, struct cairn_workflow *workflow,
                   struct cairn_store *store, const struct cairn_run_options *options);
/* Says where a run goes on that is of another project: one that was copied with a link
 * to its store in it has the runs of the other, and so has one with a key that was
 * copied. */
void say_elsewhere(const struct cairn_store *store, const struct cairn_run_info *run);
/* If the file of the run to resume or to fork from was changed since that run started,
 * prints what will run and why. */
void announce_changes(struct settings *settings, struct cairn_workflow *workflow,
                      struct cairn_store *store,
                      const struct cairn_run_options *options,
                      const struct cairn_run_info *run);
/* Runs with display and signals. `store` may be NULL. Returns the exit status. */
int execute(struct settings *settings, struct cairn_workflow *workflow,
            struct cairn_store *store, const struct cairn_run_options *options);
/* The same for an undo: of the tasks that are the operands from the second on, or
 * of all. */
int execute_undo(struct settings *settings, struct cairn_store *store, uint64_t run,
                 const struct cairn_run_options *options);

#endif
