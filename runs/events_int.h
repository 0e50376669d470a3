/* SPDX-License-Identifier: MIT */
/* The audit log's inside. */
#ifndef RUNS_EVENTS_INT_H
#define RUNS_EVENTS_INT_H

#include "cairn/events.h"
#include "graph/graph.h"
#include "storage/rows_attempt.h"
#include "storage/rows_event.h"

/* Names of tasks, which have other numbers in every generation of a run's graph. Few
 * generations meet in one turn, so the last two are kept. */
struct task_names {
    struct cairn_store *store;
    uint64_t run;
    uint32_t gen;        /* the newest, */
    struct digest graph; /* and its graph */
    struct named_graph {
        uint32_t gen; /* 0: empty */
        bool known;   /* the generation is there */
        struct definition definition;
        struct graph graph;
    } graphs[2]; /* the one that was used last comes first */
};

/* What showing events needs. `stopped`: the caller wants no more; `cut`: and that was
 * in the middle of a list of tasks. */
struct event_display {
    struct cairn_store *store;
    struct task_names names;
    struct cairn_log_event event;
    struct buf text;
    int (*each)(void *, const struct cairn_log_event *);
    void *context;
    const char *only; /* the task whose events are shown; NULL: those of all */
    bool stopped, cut;
    struct cairn_error *error;
};

/* cairn_events with the number of keys that are held at a time; event.turn becomes the
 * last turn that was wholly shown. Releases what the display holds. */
int events_in_windows(struct cairn_store *store, uint64_t run, uint64_t after,
                      struct event_display *display, size_t window);

#endif
