/* SPDX-License-Identifier: MIT */
/* The repainted block and its progress line. Only sequences of the plainest terminals
 * are used: cursor up, erase to the end of the screen. A line never reaches the last
 * column, so the terminal never wraps it and the count of lines stays true. */
#include "cli/terminal/block.h"

#include "cli/terminal/terminal_text.h"
#include "cli/ui.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void block_reset(struct block *block, int width)
{
    block->lines = 0;
    block->width = width;
}

void block_line(struct block *block, const char *format, ...)
{
    char text[BLOCK_LINE], safe[BLOCK_LINE * ESCAPE_FACTOR];
    va_list arguments;
    size_t n;
    if (block->lines == BLOCK_LINES)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    }
    n = escape_text(safe, text, strlen(text));
    n = text_fitting(safe, n < BLOCK_LINE ? n : BLOCK_LINE - 1, block->width - 1);
    while (n > 0 && safe[n - 1] == ' ')
        n--;
    memcpy(block->text[block->lines], safe, n);
    block->text[block->lines++][n] = '\0';
}

int block_rows(const struct block *block, int width, bool reflows)
{
    int rows = block->painted;
    if (!reflows || width < 1 || width >= block->painted_width)
        return rows;
    for (int i = 0; i < block->painted; i++)
        rows += block->columns[i] > width ? (block->columns[i] - 1) / width : 0;
    return rows;
}

static size_t rewind_cursor(const struct block *block, char *out, size_t size)
{
    if (block->painted == 0)
        return 0;
    return (size_t)snprintf(out, size, "\033[%dA\r\033[J",
                            block_rows(block, ui_width(), ui_reflows()));
}

void block_paint(struct block *block)
{
    char screen[BLOCK_LINES * (BLOCK_LINE + 1) + 32];
    size_t used = rewind_cursor(block, screen, 32);
    for (int i = 0; i < block->lines; i++) {
        size_t n = strlen(block->text[i]);
        block->columns[i] = text_columns(block->text[i], n);
        memcpy(screen + used, block->text[i], n);
        used += n;
        screen[used++] = '\n';
    }
    block->painted = block->lines;
    block->painted_width = block->width;
    ui_paint(screen, used);
}

void block_clear(struct block *block)
{
    char screen[32];
    size_t used = rewind_cursor(block, screen, sizeof screen);
    block->painted = 0;
    if (used > 0)
        ui_paint(screen, used);
}

void rate_add(struct rate *rate, int64_t ms, uint32_t done)
{
    rate->samples[rate->next].ms = ms;
    rate->samples[rate->next].done = done;
    rate->next = (rate->next + 1) % RATE_SAMPLES;
    if (rate->n < RATE_SAMPLES)
        rate->n++;
}

double rate_get(const struct rate *rate)
{
    size_t newest = (rate->next + RATE_SAMPLES - 1) % RATE_SAMPLES;
    size_t oldest = (rate->next + RATE_SAMPLES - rate->n) % RATE_SAMPLES;
    int64_t ms;
    if (rate->n < 2)
        return 0;
    ms = rate->samples[newest].ms - rate->samples[oldest].ms;
    if (ms <= 0 || rate->samples[newest].done < rate->samples[oldest].done)
        return 0;
    return 1000.0 * (rate->samples[newest].done - rate->samples[oldest].done) /
           (double)ms;
}

static int count_digits(uint32_t number)
{
    char text[16];
    return snprintf(text, sizeof text, "%u", number);
}

const char *progress_text(char text[PROGRESS_MAX], uint32_t done, uint32_t total,
                          uint32_t running, double rate)
{
    char eta[FORMAT_MAX];
    int n = snprintf(text, PROGRESS_MAX, "[%*u/%u] %u running", count_digits(total),
                     done, total, running);
    if (rate > 0 && done < total) {
        /* Whole seconds: it is only an estimate. */
        int64_t left_ms = (int64_t)((total - done) / rate) * 1000;
        if (left_ms < 60000)
            snprintf(eta, sizeof eta, "%ds", (int)(left_ms / 1000));
        else
            format_duration(eta, left_ms);
        snprintf(text + n, PROGRESS_MAX - (size_t)n, "  %.1f/s  eta %s", rate, eta);
    }
    return text;
}
