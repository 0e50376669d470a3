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
    VIEW_ROWS = 2000,  /* tasks in the table; else groups are one row each */
    VIEW_NODES = 1500, /* of the graph, ... */
    VIEW_EDGES = 6000,
    VIEW_NODES_ASKED = 5000, /* ... and if somebody asks for all of them */
    VIEW_EDGES_ASKED = 20000,
    VIEW_MEMBERS = 21,         /* a group with so many is one node of the graph */
    VIEW_NODES_UNFOLDED = 200, /* with more nodes every group is one */
    VIEW_BARS = 4000,          /* attempts in the chart, ... */
    VIEW_LANES = 100,          /* ... side by side */
    VIEW_RATE_ENDS = 50,       /* the last ones tell how much time is left */
    VIEW_WAITING = 50,
    VIEW_VALUES_BYTES = 256 << 10,
};

/* What somebody wants to see of the graph; all of it may be left out. */
struct graph_wanted {
    const char *open; /* groups whose members are shown, with a blank between them; ALL,
                         NONE, or NULL: small ones */
    const char *find; /* what tasks have in their names */
    unsigned zoom;    /* percent; 0: 100 */
};
#define GRAPH_ALL "*"
#define GRAPH_NONE "-"

struct view_task {
    struct cairn_task_info info; /* its texts are the view's */
    uint32_t node;               /* of the workflow as it is now, or UINT32_MAX, ... */
    const char *group;           /* ... and NULL */
    uint32_t first_value, n_values; /* in the view's values */
    uint8_t state;                  /* of enum picture_state */
};

struct view_bar {
    int64_t start_ns, end_ns;
    int64_t ready_ns; /* when what it needs, or its last attempt, had ended; or 0 */
    int64_t free_ns; /* since when nothing else was in its lane; 0: from the start on */
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
    int64_t left_ms; /* of a live run, by the rate of the last tasks; -1: unknown */
    uint32_t counts[PICTURE_STATES];
    struct view_task *tasks; /* [n], in file order */
    size_t n, capacity;
    struct map by_id;

    struct cairn_workflow *workflow; /* NULL: `no_graph` says why */
    struct picture picture;
    struct layout layout; /* n 0: not drawn */
    char no_graph[300];   /* "" */
    bool too_large;       /* that is why: it can be asked for */
    struct task_ends ends;
    uint32_t *task_of; /* [nodes of the workflow] in tasks, or UINT32_MAX */
    uint32_t *path;    /* [n_path] nodes: the critical path, the last one first */
    uint32_t n_path;
    /* [picture.n] of tasks on it 2, 4, ..., between them 3, ...; or 0 */
    uint32_t *step;
    bool *found;        /* [picture.n] a name has what was looked for */
    uint32_t n_found;   /* tasks */
    uint32_t strangers; /* tasks of the run that the file does not have any more */

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
                   const struct graph_wanted *wanted, struct cairn_error *error);
void page_view_release(struct page_view *view);
/* task_spent_ms, -1 if these are not times of its state. */
int64_t view_task_ms(const struct page_view *view, const struct view_task *task);

#endif
