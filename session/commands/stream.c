/* SPDX-License-Identifier: MIT */
#include "session/commands/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int open_pipe(struct stream *stream, struct cairn_error *error)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC))
        return error_sys(error, errno, "a pipe for the output of the command");
    stream->in = fds[0];
    stream->command = fds[1];
    return 0;
}

int stream_open(struct stream *stream, int out, bool as_terminal,
                const struct redactor *redactor, struct cairn_error *error)
{
    *stream = (struct stream){.in = -1, .command = -1, .out = out};
    tail_begin(&stream->tail, redactor);
    stream->is_terminal = as_terminal && out >= 0 && isatty(out) &&
                          terminal_open(&stream->terminal, out, &stream->command);
    int rc = 0;
    if (stream->is_terminal)
        stream->in = stream->terminal.master;
    else
        rc = open_pipe(stream, error);
    if (!rc && fcntl(stream->in, F_SETFL, O_NONBLOCK))
        rc = error_sys(error, errno, "a pipe for the output of the command");
    return rc;
}

void stream_started(struct stream *stream)
{
    close_fd(&stream->command);
}

struct pollfd stream_watch(const struct stream *stream)
{
    if (stream->n)
        return (struct pollfd){.fd = stream->out, .events = POLLOUT};
    return (struct pollfd){.fd = stream->in, .events = POLLIN};
}

/* Nobody reads there, or it cannot be written: the command is told in the way in which
 * it would be without us, by a broken pipe. */
static void lose_reader(struct stream *stream)
{
    stream->out = -1;
    stream->n = 0;
    close_fd(&stream->in);
}

static bool pass_on(struct stream *stream)
{
    ssize_t n = write(stream->out, stream->pending + stream->from, stream->n);
    if (n < 0 && errno != EINTR && errno != EAGAIN) {
        bool hung_up = stream->is_terminal && errno == EIO;
        stream->failed = errno == EPIPE || hung_up ? 0 : errno;
        lose_reader(stream);
        return true;
    }
    if (n > 0) {
        stream->from += (size_t)n;
        stream->n -= (size_t)n;
    }
    return n > 0;
}

static bool take_in(struct stream *stream)
{
    ssize_t n = read(stream->in, stream->pending, sizeof stream->pending);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (stream->is_terminal)
        terminal_follow_modes(&stream->terminal);
    if (n <= 0) { /* EIO: the other end of a pseudoterminal is closed */
        close_fd(&stream->in);
        return true;
    }
    tail_add(&stream->tail, (struct str){stream->pending, (size_t)n});
    stream->from = 0;
    stream->n = stream->out >= 0 ? (size_t)n : 0;
    return true;
}

bool stream_move(struct stream *stream, short ready)
{
    if (!ready)
        return false;
    return stream->n ? pass_on(stream) : take_in(stream);
}

void stream_give_up(struct stream *stream)
{
    stream->n = 0;
    close_fd(&stream->in);
}

void stream_close(struct stream *stream)
{
    close_fd(&stream->command);
    close_fd(&stream->in);
}
