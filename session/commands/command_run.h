/* SPDX-License-Identifier: MIT */
/* One command, run to its end by the runner and guard of process/, while its output
 * passes through. If we die, the guard ends it. */
#ifndef SESSION_COMMANDS_COMMAND_RUN_H
#define SESSION_COMMANDS_COMMAND_RUN_H

#include "cairn/board.h"
#include "secrets/redact.h"

struct command_job {
    const char *const *argv; /* ends with NULL */
    /* Where its outputs go; -1: nowhere. */
    int out, err;
    bool attached;    /* a part of our job: our group, terminal and stdin */
    bool joined;      /* both outputs are one, which goes to `out` */
    int64_t limit_ms; /* 0: none */
    const struct cairn_command_host *host;
    const struct redactor *redactor; /* NULL: no values are secret */
    int in;                          /* stdin, if not 0 */
    const char *const *variables;    /* NAME=value, ends with NULL; or NULL: none */
};
struct command_end {
    bool started;
    int exit_code;      /* as a shell has it: 128 + n for a signal, 127 and 126 where it
                           could not be executed */
    bool timed_out;     /* its limit ended it */
    bool stopped;       /* a signal to us did */
    int64_t started_ns; /* UTC */
    int64_t duration_ms;
    struct buf tails[2]; /* of stdout and stderr; joined: the first */
    int output_error;    /* errno of passing its output on, 0: none */
    struct buf failure;  /* why it was not started, for people */
};
/* The caller calls command_end_release in any case. Errors are those of the system;
 * that the command cannot be executed is none. */
int run_one_command(struct cairn_store *store, const struct command_job *job,
                    struct command_end *end, struct cairn_error *error);
void command_end_release(struct command_end *end);

#endif
