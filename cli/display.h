/* SPDX-License-Identifier: MIT */
/* What `run` and `resume` show while they work, made from the engine's events: a live
 * block on a terminal, plain lines elsewhere, NDJSON with --json. */
#ifndef CLI_DISPLAY_H
#define CLI_DISPLAY_H

#include "cairn.h"
#include "cli/terminal/live.h"

#define FAILED_NAMES 10
/* In the order of the words of --output. */
enum show_output { SHOW_FAILED, SHOW_GROUP, SHOW_STREAM, SHOW_NONE };
struct display {
    bool json, quiet, live, stored;
    bool starts; /* tell when a task starts */
    enum show_output output;
    const char *hint; /* " --store DIR" or "" */
    char *fresh;      /* heap: "cairn run FILE --fresh", for a result with `gone` */
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
/* Prints the result, after removing the block. */
void display_result(struct display *display, const struct cairn_run_result *result);

/* NDJSON of one event, of lines that were dropped, and of the result. */
void event_print(uint64_t sequence, const struct cairn_event *event);
void dropped_print(uint64_t sequence, uint64_t lines);
void result_print(uint64_t sequence, const struct cairn_run_result *result);

#endif
