/* SPDX-License-Identifier: MIT */
/* The tasks that a live display shows: what runs and its last line, what is tried again
 * and when, what waits for somebody; and how that is drawn. The drawing is pure: the
 * size of the terminal and the time are given. */
#ifndef CLI_TERMINAL_LIVE_H
#define CLI_TERMINAL_LIVE_H

#include "cli/terminal/block.h"

#include <stdbool.h>

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
void live_remove(struct live *live, uint32_t node);

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
/* One running task as text: "test  3m05s  its last line". */
const char *live_line(char out[BLOCK_LINE], const struct live_task *task,
                      int64_t now_ms, int width);

#endif
