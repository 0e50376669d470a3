/* Looking at runs from outside; also used by the recorder and the doctor. */
#ifndef EXECUTOR_QUERY_H
#define EXECUTOR_QUERY_H

#include "executor/situation.h"

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

#endif
