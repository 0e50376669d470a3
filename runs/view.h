/* SPDX-License-Identifier: MIT */
/* Looking at runs from outside; also used by the recorder and the doctor. */
#ifndef RUNS_VIEW_H
#define RUNS_VIEW_H

#include "checkpoint/stream.h"
#include "runs/stored.h"
#include "workflow/workflow.h"

/* A run, its states and its graph, as the store has them now. */
struct view {
    struct arena arena;
    struct run_row row;
    struct recovery recovery;
    struct definition definition;
    struct graph graph;
    bool recovered, loaded;
};
/* run 0: the newest. Without `graph`, only row and recovery are loaded. */
int view_open(struct view *view, struct cairn_store *store, uint64_t run, bool graph,
              struct cairn_error *error);
void view_release(struct view *view);

/* The row of a run (0: the newest), with its texts in the arena. CAIRN_ENOTFOUND. */
int run_row_get(struct run_row *row, struct cairn_store *store, uint64_t run,
                struct arena *arena, struct cairn_error *error);
/* The definition that is stored with a run, whatever its file says now. */
int workflow_stored(struct cairn_workflow **out, struct cairn_store *store,
                    const struct run_row *row, struct cairn_error *error);
/* [n + 1] which tasks have a process now: the slots of a live run tell. since_ns (may
 * be NULL, [n]): when it was started. NULL: out of memory. */
uint8_t *running_tasks(struct cairn_store *store, const struct run_row *row, uint32_t n,
                       int64_t *since_ns);

#endif
