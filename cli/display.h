/* SPDX-License-Identifier: MIT */
/* What `run` and `resume` show while they work, made from the engine's events: a live
 * block at the bottom of a terminal, plain lines elsewhere, NDJSON with --json. Drawing
 * is pure: it is given the size of the terminal and the time. */
#ifndef CLI_DISPLAY_H
#define CLI_DISPLAY_H

#include "cairn.h"

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

#define LIVE_TEXT 256

enum live_state { LIVE_RUNS, LIVE_RETRIES, LIVE_WAITS };

struct live_task {
    uint32_t node;
    uint32_t attempt;
    enum live_state state;
    int64_t ms;           /* since when it runs; when it is tried again */
    char id[LIVE_TEXT];   /* its middle is cut out if it is longer */
    char text[LIVE_TEXT]; /* its last line; what somebody is to do; harmless */
};

struct live { /* zero-initialised */
    struct live_task *at;
    size_t n, capacity;
    size_t count[LIVE_WAITS + 1]; /* by state */
};

void live_release(struct live *live);
/* A task of that state, without text; one of its node that was there is replaced.
 * Without memory it is missing, and nothing else depends on it. */
void live_put(struct live *live, const struct live_task *task);
/* The last line of these bytes of its log, if it has one. */
void live_text(struct live *live, uint32_t node, const char *bytes, size_t n);

struct live_view {
    const struct live *live;
    int width, height; /* of the terminal */
    int64_t now_ms;
    uint64_t run;     /* 0: nothing is stored */
    const char *hint; /* " --store DIR" or "" */
    uint32_t done, total, running;
    double rate;
    bool stopping;      /* nothing new starts ... */
    uint32_t left;      /* ... but for these */
    const char *failed; /* because of this task; "": for another reason */
};

void live_draw(const struct live_view *view, struct block *block);

#define FAILED_NAMES 10

/* In the order of the words of --output. */
enum show_output { SHOW_FAILED, SHOW_GROUP, SHOW_STREAM, SHOW_NONE };

struct display {
    bool json, quiet, live, stored;
    bool starts; /* tell when a task starts */
    enum show_output output;
    const char *hint;  /* " --store DIR" or "" */
    const char *again; /* hint, with what was asked of this call for a resume, too */
    char *fresh;       /* heap: "cairn run FILE --fresh", for a result with `gone` */
    struct live tasks;
    struct block block;
    struct rate rate;
    int64_t started_ms, painted_ms, progress_ms, life_ms;
    int64_t heartbeat_ms; /* off a terminal what runs is told so often; 0: never */
    bool stopping;        /* nothing new starts, as a tick has told ... */
    bool undo;            /* what is carried out is `cairn undo` */
    bool told_how;        /* what to type where somebody is waited for */
    bool asked;           /* ... because somebody wanted it */
    char failed[FAILED_NAMES][LIVE_TEXT]; /* the first tasks that failed */
    char cause[LIVE_TEXT];                /* the last one before the run stopped */
    uint32_t n_failed;
    uint64_t sequence; /* of NDJSON lines */
    uint32_t checked;  /* of the result's unknown tasks, those that a check decides */
    char *undecided;   /* heap: the first of the others, as a shell reads it */
};

void display_init(struct display *display, const char *hint, bool stored);
void display_release(struct display *display);
/* The observer; context is the display. */
void display_event(void *context, const struct cairn_event *event);
/* Says how many lines the queue of ui.h has dropped, if any and if there is room again.
 */
void display_dropped(struct display *display);
/* NDJSON of one event, of lines that were dropped, and of the result. */
void event_print(uint64_t sequence, const struct cairn_event *event);
void dropped_print(uint64_t sequence, uint64_t lines);
void result_print(uint64_t sequence, const struct cairn_run_result *result);

#endif
