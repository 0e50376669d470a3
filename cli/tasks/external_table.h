/* SPDX-License-Identifier: MIT */
/* The table of the commands about external tasks, for the table of all commands. */
#ifndef CLI_TASKS_EXTERNAL_TABLE_H
#define CLI_TASKS_EXTERNAL_TABLE_H

#include "cli/command.h"

extern const struct command_part external_commands;

#endif
