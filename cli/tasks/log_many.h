/* SPDX-License-Identifier: MIT */
/* cairn log of several tasks: groups, patterns, --all, --failed. */
#ifndef CLI_TASKS_LOG_MANY_H
#define CLI_TASKS_LOG_MANY_H

#include "cli/tasks/log_one.h"

/* Whether more than one task may be meant: it is not the name of one. */
bool log_is_many(const struct log *log);
/* Prints each, below a line with its name; with --follow whole lines of all of them as
 * they come, with the name in front, until no process owns the run. Returns an exit
 * status. */
int log_many(struct log *log);

#endif
