/* SPDX-License-Identifier: MIT */
/* One row of the table of commands (commands/table.c). Help, parsing and dispatch are
 * all made from the table. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/options.h"

struct command {
    const char *name;     /* one or two words: "run", "checkpoint list" */
    const char *operands; /* as shown in the usage line */
    const char *summary;  /* one line */
    const char *details;  /* a paragraph or two */
    const char *example;
    const char *exits;          /* exit statuses that can occur, separated by spaces */
    int least, most;            /* number of operands */
    enum option_id options[20]; /* ended by OPT_NONE, without the global ones */
    int (*function)(struct settings *settings); /* returns the exit status */
};

/* The table for all that follows; it must outlive it. */
void command_use(const struct command *table, size_t n);
/* The i-th command, NULL past the end. */
const struct command *command_at(size_t i);
/* Finds `words` ("run", "checkpoint list"); NULL if there is none. */
const struct command *command_find(const char *words);
/* Whether `word` is the first of several commands' two words. */
bool command_is_group(const char *word);
/* Whether the command takes an option, the global ones included. */
bool command_takes(const struct command *command, enum option_id id);

#endif
