/* SPDX-License-Identifier: MIT */
#include "base/log_times.h"

#include "base/memory.h"
#include "base/str.h"

#include <stdlib.h>

enum { VERSION = 1, MS = 1000000 };

void log_times_init(struct log_times *times)
{
    *times = (struct log_times){0};
}

void log_times_release(struct log_times *times)
{
    free(times->at);
    log_times_init(times);
}

void log_times_clear(struct log_times *times)
{
    times->n = 0;
    times->apart_ns = 0;
}

/* Of two looks the later one stands for both. */
static void thin_out(struct log_times *times)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < times->n; i += 2)
        times->at[n++] = times->at[i];
    int64_t span = times->at[n - 1].time_ns - times->at[0].time_ns;
    times->n = n;
    times->apart_ns = span / n;
}

void log_times_add(struct log_times *times, uint64_t bytes, int64_t time_ns)
{
    const struct log_time *last = times->n ? &times->at[times->n - 1] : NULL;
    if (last ? bytes <= last->bytes || time_ns - last->time_ns < times->apart_ns
             : bytes == 0)
        return;
    if (times->n == LOG_TIMES)
        thin_out(times);
    struct log_time *room =
        array_room(times->at, times->n, &times->capacity, sizeof *times->at);
    if (!room)
        return;
    times->at = room;
    times->at[times->n++] = (struct log_time){bytes, time_ns};
}

/* A clock that was set back makes no negative number. */
static uint64_t ms_between(int64_t from_ns, int64_t to_ns)
{
    return to_ns > from_ns ? (uint64_t)((to_ns - from_ns) / MS) : 0;
}

void log_times_encode(const struct log_times *times, int64_t start_ns, struct buf *out)
{
    uint64_t bytes = 0;
    int64_t time_ns = start_ns;
    if (!times->n)
        return;
    buf_varint(out, VERSION);
    for (uint32_t i = 0; i < times->n; i++) {
        uint64_t ms = ms_between(time_ns, times->at[i].time_ns);
        buf_varint(out, times->at[i].bytes - bytes);
        buf_varint(out, ms);
        bytes = times->at[i].bytes;
        time_ns += (int64_t)ms * MS;
    }
}

bool log_times_decode(struct str bytes, int64_t start_ns,
                      int (*each)(void *, uint64_t bytes, int64_t time_ns),
                      void *context)
{
    struct reader in = reader_of(bytes.ptr, bytes.len);
    uint64_t seen = 0, ms = 0;
    if (read_varint(&in) != VERSION)
        return false;
    while (!in.failed && reader_left(&in)) {
        uint64_t more = read_varint(&in), later = read_varint(&in);
        if (in.failed || !more || more > INT64_MAX - seen ||
            later > (uint64_t)INT64_MAX / MS - ms)
            return false;
        seen += more;
        ms += later;
        if ((int64_t)ms * MS > INT64_MAX - (start_ns > 0 ? start_ns : 0))
            return false;
        if (each(context, seen, start_ns + (int64_t)ms * MS))
            return true;
    }
    return !in.failed;
}
