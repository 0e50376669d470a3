/* SPDX-License-Identifier: MIT */
/* The tables of the commands of debugging sessions (cli/command.h), for the table of
 * all commands. */
#ifndef CLI_SESSIONS_TABLES_H
#define CLI_SESSIONS_TABLES_H

#include "cli/command.h"

extern const struct command_part context_commands; /* checkpoint create and resume */
extern const struct command_part session_commands; /* and branches */
extern const struct command_part board_commands;
extern const struct command_part run_commands; /* exec, command, check */

#endif
