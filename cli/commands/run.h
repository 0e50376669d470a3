/* SPDX-License-Identifier: MIT */
/* Tasks that are named on the command line of run, resume, rerun and plan. */
#ifndef CLI_COMMANDS_RUN_H
#define CLI_COMMANDS_RUN_H

#include "cli/options.h"

/* Of the operands [FILE] TASK...: the tasks go into the options, FILE stays an operand.
 * A word is a FILE if it ends as one (.yaml, .yml, .json), has a slash, or is a file
 * that exists; and if one is `needed` and there is no cairn.yaml here. */
void choose_after_file(struct settings *settings, bool needed,
                       struct cairn_run_options *options);
/* Refuses options of run, resume and rerun that exclude each other. Returns an exit
 * status. */
int choose_check_options(const struct settings *settings);
/* Whether a word has * or ? in it. */
bool choose_is_pattern(const char *word);
/* Whether it is a task, or the group of some, or a part of one. */
bool choose_has_tasks(const struct cairn_workflow *workflow, const char *name);
/* Whether the workflow has such tasks or groups. Returns an exit status. */
int choose_check(struct cairn_workflow *workflow,
                 const struct cairn_run_options *options);

#endif
