/* SPDX-License-Identifier: MIT */
/* A row of the table of commands (commands/table.c), from which help, parsing and
 * dispatch are made; the valid word that is nearest to a mistyped one, and what words
 * of other programs mean here. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/options.h"

/* `best` is the nearest candidate so far, or NULL. `word` may be a long id. */
struct nearest {
    const char *word, *best;
    unsigned distance;
};

void nearest_init(struct nearest *nearest, const char *word);
void nearest_try(struct nearest *nearest, const char *candidate);
/* For a word that is not a command: what does it, as a phrase with commands in
 * backquotes; NULL if nobody else has such a command. */
const char *command_meant(const char *word);
/* For a word behind that of a group ("session stop"): the command of the group that is
 * meant ("session end"), or NULL. */
const char *verb_meant(const char *words);
/* The same as command_meant for an option that the command (NULL: none yet) does not
 * take. */
const char *option_meant(const char *command, const char *option);

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

/* Commands of two words of which the overview shows the first word alone. */
struct command_group {
    const char *name; /* "session" */
    const char *summary;
};

struct command_part {
    const struct command *table;
    size_t n;
};

struct command_tables {
    const struct command_part *parts[10]; /* ended by NULL, or full */
    const struct command_group *groups;   /* [n_groups] */
    size_t n_groups;
};

/* The tables for all that follows; they must outlive it. */
void command_use(const struct command_tables *tables);
/* The i-th command, NULL past the end. */
const struct command *command_at(size_t i);
/* The i-th group, NULL past the end. */
const struct command_group *command_group_at(size_t i);
/* The group whose name is the first word of `words`, or NULL. */
const struct command_group *command_group_of(const char *words);
/* Finds `words` ("run", "checkpoint list"); NULL if there is none. */
const struct command *command_find(const char *words);
/* Whether `word` is the first of several commands' two words. */
bool command_is_group(const char *word);
/* Whether what stands behind `--` is another command's: its usage line shows that. */
bool command_takes_rest(const struct command *command);
/* Whether the command takes an option, the global ones included. */
bool command_takes(const struct command *command, enum option_id id);

#endif
