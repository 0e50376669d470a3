/* SPDX-License-Identifier: MIT */
/* The table of commands, for main and the tests. */
#ifndef CLI_COMMANDS_TABLE_H
#define CLI_COMMANDS_TABLE_H

#include "cli/command.h"

extern const struct command command_table[];
extern const size_t command_table_size;

#endif
