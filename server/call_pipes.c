/* SPDX-License-Identifier: MIT */
/* What the command of a call is given and prints. What it prints beyond the limit is
 * read and dropped: it must not stop in the middle of its work because nobody reads. Of
 * stderr the last is kept: how it ended is said there. */
#include "server/call_int.h"

#include <errno.h>
#include <unistd.h>

/* What is too much is dropped at the end, and said; without `too_large` it is the
 * oldest that is dropped. */
static void read_pipe(int *fd, struct text *text, size_t limit, bool *too_large)
{
    char bytes[16384];
    ssize_t n;
    /* Not for ever: others are to be served, too. */
    for (int round = 0; round < 64 && *fd >= 0; round++) {
        n = read(*fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close(*fd);
            *fd = -1;
            return;
        }
        if (too_large && (size_t)n > limit - text->n) {
            *too_large = true;
            continue;
        }
        text_add(text, bytes, (size_t)n);
        if (text->n > limit)
            text_cut(text, text->n - limit);
    }
}

static void write_input(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    while (call->child.in >= 0) {
        size_t left = arguments->input_bytes - call->input_done;
        ssize_t n =
            left > 0 ? write(call->child.in, arguments->input + call->input_done, left)
                     : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) { /* all of it, or it does not want the rest */
            close(call->child.in);
            call->child.in = -1;
            return;
        }
        call->input_done += (size_t)n;
    }
}

void call_move_bytes(struct call *call)
{
    write_input(call);
    read_pipe(&call->child.out, &call->out, CALL_OUTPUT_BYTES, &call->too_large);
    read_pipe(&call->child.err, &call->err, CALL_ERRORS_BYTES, NULL);
}
