/* SPDX-License-Identifier: MIT */
/* What a page shows of a run, read once by include/ alone, with a bound for each part:
 * what is left out is counted, so that the page can say it. */
#ifndef WEB_PAGE_VIEW_H
#define WEB_PAGE_VIEW_H

#include "base/memory.h"
#include "cairn.h"
#include "cli/picture.h"
#include "web/layout.h"

enum {
    VIEW_ROWS = 2000,          /* tasks in the table; else groups are one row each */
    VIEW_NODES = 1500,         /* of the graph */
    VIEW_EDGES = 6000,         /* of the graph */
    VIEW_MEMBERS = 21,         /* a group with so many is one node of the graph */
    VIEW_NODES_UNFOLDED = 200, /* with more nodes every group is one */
    VIEW_BARS = 4000,          /* attempts in the chart, ... */
    VIEW_LANES = 100,          /* ... side by side */
    VIEW_WAITING = 50,
    VIEW_VALUES_BYTES = 256 << 10,
};

struct view_task {
    struct cairn_task_info info; /* its texts are the view's */
    uint32_t node;               /* of the workflow as it is now, or UINT32_MAX, ... */
    const char *group;           /* ... and NULL */
    uint32_t first_value, n_values; /* in the view's values */
    uint8_t state;                  /* of enum picture_state */
};

struct view_bar {
    int64_t start_ns, end_ns;
    uint32_t task, attempt, lane;
    uint8_t state;
    bool undo;
};

struct view_value {
    const char *name, *value;
};

struct page_view {
    struct arena arena;
    struct cairn_run_info run;
    int64_t now_ns;
    uint32_t counts[PICTURE_STATES];
    struct view_task *tasks; /* [n], in file order */
    size_t n, capacity;
    struct map by_id;

    struct cairn_workflow *workflow; /* NULL: `no_graph` says why */
    struct picture picture;
    struct layout layout; /* n 0: not drawn */
    char no_graph[300];   /* "" */
    uint32_t strangers;   /* tasks of the run that the file does not have any more */

    struct view_bar *bars; /* [n_bars], by their start */
    size_t n_bars, bars_capacity;
    uint32_t lanes; /* 0: only how many ran at once can be shown */

    struct view_value *values; /* [n_values], by task */
    size_t n_values, values_capacity, value_bytes, more_values;
    char no_values[300]; /* some cannot be read: why */

    struct cairn_waiting_info waiting[VIEW_WAITING]; /* its texts are the view's */
    size_t n_waiting, more_waiting;
};

/* Released by page_view_release in any case. Returns a code of the library. */
int page_view_read(struct page_view *view, struct cairn_store *store, uint64_t run,
                   struct cairn_error *error);
void page_view_release(struct page_view *view);
/* task_spent_ms, -1 if these are not times of its state. */
int64_t view_task_ms(const struct page_view *view, const struct view_task *task);

#endif
