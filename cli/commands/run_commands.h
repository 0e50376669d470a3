/* SPDX-License-Identifier: MIT */
/* The commands about workflows, runs and their tasks. Each returns the exit status. */
#ifndef CLI_COMMANDS_RUN_COMMANDS_H
#define CLI_COMMANDS_RUN_COMMANDS_H

#include "cli/options.h"

int command_run(struct settings *settings);
int command_resume(struct settings *settings);
int command_rerun(struct settings *settings);
int command_clean(struct settings *settings);
int command_plan(struct settings *settings);
int command_explain(struct settings *settings);
int command_status(struct settings *settings);
int command_watch(struct settings *settings);
int command_runs(struct settings *settings);
int command_log(struct settings *settings);
int command_shell(struct settings *settings);
int command_values(struct settings *settings);
int command_events(struct settings *settings);
int command_graph(struct settings *settings);
int command_init(struct settings *settings);
int command_validate(struct settings *settings);
int command_cancel(struct settings *settings);
int command_resolve(struct settings *settings);
int command_undo(struct settings *settings);
int command_next(struct settings *settings);
int command_renew(struct settings *settings);
int command_claim(struct settings *settings);
int command_complete(struct settings *settings);
int command_fail(struct settings *settings);

#endif
