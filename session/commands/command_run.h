/* SPDX-License-Identifier: MIT */
/* The end of what a command writes, as text that can be stored: secrets are taken out
 * of it, wherever it was cut into parts, and bytes that are not UTF-8 (and NUL) become
 * \xNN. */
#ifndef SESSION_COMMANDS_COMMAND_RUN_H
#define SESSION_COMMANDS_COMMAND_RUN_H

#include "cairn/board.h"
#include "secrets/redact.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>

enum { TAIL_BYTES = 4096 };

struct tail {
    struct redact_stream values;
    struct buf window; /* without secret values; those of a known form are in it */
};

/* `redactor`: of the values that are secret; NULL: none. */
void tail_begin(struct tail *tail, const struct redactor *redactor);
void tail_add(struct tail *tail, struct str bytes);
/* Appends the text, at most TAIL_BYTES. CAIRN_ENOMEM */
int tail_end(struct tail *tail, struct buf *text, struct cairn_error *error);
void tail_release(struct tail *tail);

/* A pseudoterminal between a command and one of our outputs that is a terminal: the
 * command sees a terminal, and what it writes passes through us. Only its output does;
 * the command reads the real terminal, which stays its controlling one, so keys such as
 * Ctrl-C and Ctrl-Z reach it without us.
 *
 * The pseudoterminal changes nothing of what is written (no OPOST), so the real one
 * does that, once. Programs that draw on the whole screen set the modes of the terminal
 * that they write to: what they change there is changed of the real one, too. */

struct terminal {
    int real;   /* ours */
    int master; /* where we read what is written */
    struct termios seen;
    struct winsize size;
};

/* One output of a command, on its way through us: from a pipe, or a pseudoterminal, to
 * where it goes, with its tail kept. Nothing blocks.
 *
 *   stream_open -> stream_started -> [stream_watch, poll, stream_move] -> stream_close
 */

struct stream {
    int in;      /* -1: it has ended */
    int command; /* the command's end; -1: it was given away */
    int out;     /* -1: nowhere, or nobody reads there any more */
    bool is_terminal;
    struct terminal terminal;
    char pending[4096]; /* poll promises that a pipe takes so many at once */
    size_t from, n;     /* of it, still to be written */
    int failed; /* errno of a write, 0: none; that nobody reads any more is none */
    struct tail tail;
};

/* One command, run to its end by the runner and guard of process/, while its output
 * passes through. If we die, the guard ends it. */

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
