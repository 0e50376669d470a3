/* SPDX-License-Identifier: MIT */
/* A few lines at the bottom of the terminal that are repainted in place. */
#ifndef CLI_BLOCK_H
#define CLI_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#define BLOCK_LINES 5
#define BLOCK_LINE 512
struct block {
    char text[BLOCK_LINES][BLOCK_LINE];
    int lines;   /* written since block_reset */
    int painted; /* on the screen now */
};

void block_reset(struct block *block);
/* Adds a line, cut to the terminal's width; lines beyond BLOCK_LINES are dropped. */
void block_line(struct block *block, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void block_paint(struct block *block);
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
