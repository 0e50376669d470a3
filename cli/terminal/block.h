/* SPDX-License-Identifier: MIT */
/* A few lines at the bottom of the terminal that are repainted in place. */
#ifndef CLI_TERMINAL_BLOCK_H
#define CLI_TERMINAL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_LINES 48
#define BLOCK_LINE 512
struct block {
    char text[BLOCK_LINES][BLOCK_LINE];
    int lines;                /* written since block_reset */
    int width;                /* of the terminal, for them */
    int columns[BLOCK_LINES]; /* that the lines on the screen take */
    int painted;              /* so many */
    int painted_width;        /* of the terminal then */
};

/* The next lines are for a terminal so wide. */
void block_reset(struct block *block, int width);
/* Adds a line, cut to the terminal's width; lines beyond BLOCK_LINES are dropped. */
void block_line(struct block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void block_paint(struct block *block);
/* How many rows what is painted takes after the terminal has become so wide. Where it
 * wraps long lines anew (`reflows`), they take more in a narrower one. */
int block_rows(const struct block *block, int width, bool reflows);
/* Takes the block off the screen, so that other lines can be printed. */
void block_clear(struct block *block);

/* Tasks per second over the last ten seconds. Zero-initialised. */
#define RATE_SAMPLES 51
struct rate {
    struct {
        int64_t ms;
        uint32_t done;
    } samples[RATE_SAMPLES];
    size_t n, next;
};
void rate_add(struct rate *rate, int64_t ms, uint32_t done);
double rate_get(const struct rate *rate);

/* "[ 128/400] 2 running  35.2/s  eta 8s". */
#define PROGRESS_MAX 160
const char *progress_text(char out[PROGRESS_MAX], uint32_t done, uint32_t total,
                          uint32_t running, double rate);

#endif
