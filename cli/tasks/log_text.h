/* SPDX-License-Identifier: MIT */
/* What an attempt wrote on its way to stdout: as it is, or line by line where it goes
 * to a terminal, or each line gets the time at which it was there. */
#ifndef CLI_TASKS_LOG_TEXT_H
#define CLI_TASKS_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line_time {
    uint64_t bytes;
    int64_t time_ns;
};
struct log_text {
    bool people;             /* a terminal: lines as terminal_line has them */
    bool color;              /* ... in their colors */
    bool painted;            /* ... of which one is set */
    bool stamped;            /* with times: */
    struct line_time *times; /* [n_times] heap; behind the last: now */
    size_t n_times, capacity;
    char *line; /* what has no end yet; heap */
    size_t n, room;
    uint64_t line_at; /* where it begins in what was written */
    bool shown;       /* it stands on the terminal as it was before */
};
void log_text_release(struct log_text *text);
/* For cairn_output_times; context is the text. Non-zero: out of memory. */
int log_text_add_time(void *context, uint64_t bytes, int64_t time_ns);
/* The next bytes of what was written, from `at` on. */
void log_text_add(struct log_text *text, const char *bytes, size_t n, uint64_t at);
/* More may come: a line without its end is shown on a terminal, as it is now. */
void log_text_show(struct log_text *text);
/* There is no more: what has no end is printed, too. */
void log_text_flush(struct log_text *text);

#endif
