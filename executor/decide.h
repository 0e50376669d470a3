/* The decision what runs: one function for plan, explain, run and resume, so that they
 * cannot disagree. Pure: what the disk says comes in as arguments. */
#ifndef EXECUTOR_DECIDE_H
#define EXECUTOR_DECIDE_H

#include "checkpoint/states.h"
#include "executor/graph.h"

/* RESET: it has run before, and its outcome was dropped so that it runs again. */
enum mark { MARK_INTERRUPTED = 1, MARK_DAMAGED = 2, MARK_RESET = 4 };
enum output_state { OUTPUT_GOOD, OUTPUT_MISSING, OUTPUT_DIFFERS };

/* Where each task of `graph` stood in `old` (NODE_NONE: new there). Same graph: itself.
 */
void map_tasks(const struct graph *graph, const struct graph *old, uint32_t *old_task);

struct decide_input {
    const struct graph *graph;
    const struct graph *old;        /* of the recorded states; NULL: nothing recorded */
    const uint32_t *old_task;       /* from map_tasks */
    const struct states *states;    /* in old's numbers */
    const uint8_t *marks;           /* in old's numbers, or NULL */
    const uint8_t *outputs;         /* [graph->n_tasks] enum output_state, or NULL */
    enum cairn_on_change on_change; /* KEEP: changed tasks that are done stay done */
};
struct decisions {
    uint32_t n, will;
    uint8_t *runs;                    /* [n_nodes] */
    uint8_t *reason;                  /* [n_tasks] enum cairn_reason */
    uint32_t *cause;                  /* [n_tasks] node that runs again, for UPSTREAM */
    uint32_t changed, added, removed; /* against `old`: tasks */
    uint32_t kept;                    /* changed, but stay done (CAIRN_KEEP) */
};
int decide(const struct decide_input *input, struct decisions *out,
           struct cairn_error *error);
void decisions_release(struct decisions *decisions);

#endif
