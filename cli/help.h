/* SPDX-License-Identifier: MIT */
/* Help for people, made from the table of commands. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/command.h"

#include <stdio.h>

/* The daily commands under their headings and the names of the others, or `all`. */
void help_overview(FILE *to, bool all);
void help_group(FILE *to, const char *group);
void help_command(FILE *to, const struct command *command);
/* Reports that there is no such command, with the nearest; returns the exit status. */
int help_unknown(const char *words);

#endif
