/* SPDX-License-Identifier: MIT */
/* The commands about the store and its checkpoints, and about cairn itself. Each
 * returns the exit status. */
#ifndef CLI_COMMANDS_STORE_COMMANDS_H
#define CLI_COMMANDS_STORE_COMMANDS_H

#include "cli/command.h"
#include "cli/options.h"

extern const struct command_part store_commands;

int command_doctor(struct settings *settings);
int command_gc(struct settings *settings);
int command_stats(struct settings *settings);
int command_search(struct settings *settings);
int command_checkpoint_list(struct settings *settings);
int command_checkpoint_show(struct settings *settings);
int command_checkpoint_timeline(struct settings *settings);
int command_checkpoint_verify(struct settings *settings);
int command_checkpoint_head(struct settings *settings);
int command_checkpoint_delete(struct settings *settings);
int command_checkpoint_prune(struct settings *settings);
int command_mcp(struct settings *settings);
int command_help(struct settings *settings);
int command_version(struct settings *settings);

#endif
