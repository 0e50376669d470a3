/* SPDX-License-Identifier: MIT */
/* The commands about the files of checkpoints. Each returns the exit status. */
#ifndef CLI_FILES_COMMANDS_H
#define CLI_FILES_COMMANDS_H

#include "cli/command.h"

extern const struct command_part file_commands;

int command_checkpoint_files(struct settings *settings);
int command_checkpoint_cat(struct settings *settings);
int command_checkpoint_log(struct settings *settings);
int command_checkpoint_export(struct settings *settings);
int command_checkpoint_grep(struct settings *settings);
int command_checkpoint_blame(struct settings *settings);

#endif
