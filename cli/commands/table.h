/* SPDX-License-Identifier: MIT */
/* The tables of commands, for main. */
#ifndef CLI_COMMANDS_TABLE_H
#define CLI_COMMANDS_TABLE_H

#include "cli/command.h"

extern const struct command_tables command_tables;

#endif
