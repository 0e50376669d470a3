/* SPDX-License-Identifier: MIT */
/* The table of commands. Help, parsing and dispatch are all made from it. */
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

/* The i-th command, NULL past the end. */
const struct command *command_at(size_t i);
/* Finds `words` ("run", "checkpoint list"); NULL if there is none. */
const struct command *command_find(const char *words);
/* Whether `word` is the first of several commands' two words. */
bool command_is_group(const char *word);
/* Whether the command takes an option, the global ones included. */
bool command_takes(const struct command *command, enum option_id id);

void help_all(FILE *to);
void help_group(FILE *to, const char *group);
void help_command(FILE *to, const struct command *command);
/* Reports that there is no such command, with the nearest; returns the status. */
int help_unknown(const char *words);

int command_run(struct settings *settings);
int command_resume(struct settings *settings);
int command_plan(struct settings *settings);
int command_explain(struct settings *settings);
int command_status(struct settings *settings);
int command_watch(struct settings *settings);
int command_runs(struct settings *settings);
int command_log(struct settings *settings);
int command_events(struct settings *settings);
int command_graph(struct settings *settings);
int command_init(struct settings *settings);
int command_validate(struct settings *settings);
int command_cancel(struct settings *settings);
int command_resolve(struct settings *settings);
int command_undo(struct settings *settings);
int command_next(struct settings *settings);
int command_claim(struct settings *settings);
int command_complete(struct settings *settings);
int command_fail(struct settings *settings);
int command_doctor(struct settings *settings);
int command_gc(struct settings *settings);
int command_checkpoint_list(struct settings *settings);
int command_checkpoint_show(struct settings *settings);
int command_checkpoint_timeline(struct settings *settings);
int command_checkpoint_verify(struct settings *settings);
int command_checkpoint_head(struct settings *settings);
int command_checkpoint_delete(struct settings *settings);
int command_checkpoint_prune(struct settings *settings);
int command_help(struct settings *settings);
int command_version(struct settings *settings);

#endif
