/* SPDX-License-Identifier: MIT */
/* One output of a command, on its way through us: from a pipe, or a pseudoterminal, to
 * where it goes, with its tail kept. Nothing blocks.
 *
 *   stream_open -> stream_started -> [stream_watch, poll, stream_move] -> stream_close
 */
#ifndef SESSION_COMMANDS_STREAM_H
#define SESSION_COMMANDS_STREAM_H

#include "session/commands/tail.h"
#include "session/commands/terminal.h"

#include <poll.h>

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

/* `as_terminal`: the command is to see a terminal where `out` is one. */
int stream_open(struct stream *stream, int out, bool as_terminal,
                const struct redactor *redactor, struct cairn_error *error);
/* The command has its end: ours of that is closed. */
void stream_started(struct stream *stream);
struct pollfd stream_watch(const struct stream *stream);
/* `ready`: what poll said. True if anything was read or written. */
bool stream_move(struct stream *stream, short ready);
/* Nothing is to be passed on any more. */
void stream_give_up(struct stream *stream);
/* Also of one that was not opened (all zero). The tail stays. */
void stream_close(struct stream *stream);

#endif
