/* SPDX-License-Identifier: MIT */
/* When the log of an attempt grew, as far as cairn has looked: in time order, that it
 * had so many bytes at that moment. What was written between two looks has the time of
 * the later one. Pure.
 *
 *   varint 1; then for each look varint bytes more than before, varint milliseconds
 *   after the one before (the first: after the start)
 *
 * At most LOG_TIMES of them: where there would be more, each second one goes, and from
 * then on they lie twice as far apart. So the file stays small, and a time is later
 * than it was by no more than a look, or a thousandth of the duration. */
#ifndef BASE_LOG_TIMES_H
#define BASE_LOG_TIMES_H

#include "base/str.h"

enum { LOG_TIMES = 2048 };

struct log_time {
    uint64_t bytes;
    int64_t time_ns;
};
struct log_times {
    struct log_time *at; /* [n] heap */
    uint32_t n;
    size_t capacity;
    int64_t apart_ns; /* the next one comes no earlier after the last */
};
void log_times_init(struct log_times *times); /* as zeros */
void log_times_release(struct log_times *times);
void log_times_clear(struct log_times *times);
/* The log had so many bytes then. Nothing where it has not grown, or too soon after the
 * last; without memory what is seen later stands for it. */
void log_times_add(struct log_times *times, uint64_t bytes, int64_t time_ns);
/* Appends the bytes; nothing without any look. */
void log_times_encode(const struct log_times *times, int64_t start_ns, struct buf *out);
/* Calls `each` for every look until it returns non-zero. False: damaged. */
bool log_times_decode(struct str bytes, int64_t start_ns,
                      int (*each)(void *, uint64_t bytes, int64_t time_ns),
                      void *context);

#endif
