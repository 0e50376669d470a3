/* SPDX-License-Identifier: MIT */
#include "cli/tasks/log_text.h"

#include "cli/format.h"
#include "cli/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST (256 << 10) /* a longer line is shown in parts */

void log_text_release(struct log_text *text)
{
    free(text->times);
    free(text->line);
    text->times = NULL;
    text->line = NULL;
    text->n_times = text->capacity = text->n = text->room = 0;
}

int log_text_add_time(void *context, uint64_t bytes, int64_t time_ns)
{
    struct log_text *text = context;
    if (text->n_times == text->capacity) {
        size_t capacity = text->capacity ? 2 * text->capacity : 64;
        struct line_time *times = realloc(text->times, capacity * sizeof *times);
        if (!times)
            return 1;
        text->times = times;
        text->capacity = capacity;
    }
    text->times[text->n_times++] = (struct line_time){bytes, time_ns};
    return 0;
}

/* The first look that had seen this byte. */
static int64_t time_of(const struct log_text *text, uint64_t at)
{
    size_t low = 0, high = text->n_times;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (text->times[middle].bytes > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low < text->n_times ? text->times[low].time_ns : wall_ns();
}

static void put_stamp(const struct log_text *text)
{
    char local[FORMAT_MAX];
    int64_t ns = time_of(text, text->line_at);
    int tenths = (int)(ns / 100000000 % 10);
    if (text->stamped)
        out("%s.%d  ", format_local(local, ns), tenths < 0 ? 0 : tenths);
}

static void put_line(struct log_text *text, const char *line, size_t n, bool ended)
{
    if (text->shown)
        out_raw("\r\033[K", 4);
    text->shown = false;
    put_stamp(text);
    if (text->people) {
        char *safe = malloc(TERMINAL_TEXT_ROOM(n));
        if (safe)
            out_raw(safe, terminal_line(safe, line, n, text->color, &text->painted));
        else
            out_incomplete();
        free(safe);
    } else {
        out_raw(line, n);
    }
    if (ended)
        out_raw("\n", 1);
}

static void keep(struct log_text *text, const char *bytes, size_t n)
{
    if (text->n + n > text->room) {
        size_t room = 2 * (text->n + n);
        char *line = realloc(text->line, room);
        if (!line) {
            out_incomplete();
            return;
        }
        text->line = line;
        text->room = room;
    }
    memcpy(text->line + text->n, bytes, n);
    text->n += n;
}

void log_text_add(struct log_text *text, const char *bytes, size_t n, uint64_t at)
{
    if (!text->people && !text->stamped) {
        out_raw(bytes, n);
        return;
    }
    while (n > 0) {
        const char *newline = memchr(bytes, '\n', n);
        size_t length = newline ? (size_t)(newline - bytes) : n;
        if (text->n == 0)
            text->line_at = at;
        if (text->n > 0 || !newline)
            keep(text, bytes, length);
        if (newline && text->n > 0)
            put_line(text, text->line, text->n, true);
        else if (newline)
            put_line(text, bytes, length, true);
        else if (text->n > LONGEST)
            log_text_flush(text);
        if (newline)
            text->n = 0;
        length += newline != NULL;
        bytes += length;
        at += length;
        n -= length;
    }
}

void log_text_show(struct log_text *text)
{
    if (!text->people || text->n == 0)
        return;
    put_line(text, text->line, text->n, false);
    text->shown = true;
}

void log_text_flush(struct log_text *text)
{
    if (text->n > 0)
        put_line(text, text->line, text->n, false);
    text->n = 0;
    if (text->painted)
        out_raw("\033[0m", 4);
    text->painted = false;
}
