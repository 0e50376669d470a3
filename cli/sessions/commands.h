/* SPDX-License-Identifier: MIT */
/* The commands of debugging sessions. Each returns the exit status. */
#ifndef CLI_SESSIONS_COMMANDS_H
#define CLI_SESSIONS_COMMANDS_H

#include "cli/options.h"

int command_session_start(struct settings *settings);
int command_session_list(struct settings *settings);
int command_session_show(struct settings *settings);
int command_session_switch(struct settings *settings);
int command_session_end(struct settings *settings);
int command_session_delete(struct settings *settings);
int command_session_size(struct settings *settings);
int command_session_config(struct settings *settings);
int command_session_undo(struct settings *settings);
int command_session_log(struct settings *settings);
int command_message_add(struct settings *settings);
int command_message_import(struct settings *settings);
int command_message_list(struct settings *settings);
int command_message_show(struct settings *settings);
int command_session_watch(struct settings *settings);
int command_session_export(struct settings *settings);
int command_session_import(struct settings *settings);
int command_branch_start(struct settings *settings);
int command_branch_list(struct settings *settings);
int command_branch_switch(struct settings *settings);
int command_branch_abandon(struct settings *settings);
int command_branch_merge(struct settings *settings);
int command_belief_cascade(struct settings *settings);
/* All of `cairn hypothesis`, `evidence`, `belief`, `gap`, `note`, and what `command`
 * and `check` have in common with them. */
int command_item(struct settings *settings);
int command_exec(struct settings *settings);
int command_check_run(struct settings *settings);
int command_checkpoint_create(struct settings *settings);
int command_checkpoint_resume(struct settings *settings);
int command_checkpoint_at(struct settings *settings);
int command_checkpoint_diff(struct settings *settings);
int command_checkpoint_restore(struct settings *settings);
int command_checkpoint_label(struct settings *settings);
int command_checkpoint_note(struct settings *settings);
int command_checkpoint_undo_restore(struct settings *settings);
int command_checkpoint_redo_restore(struct settings *settings);
int command_checkpoint_fork(struct settings *settings);
int command_checkpoint_bisect(struct settings *settings);
int command_checkpoint_recover(struct settings *settings);
int command_report(struct settings *settings);

#endif
