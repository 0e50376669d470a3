/* The scheduler: which task may start next. Pure: no clock, no I/O, no allocation after
 * sched_init.
 *
 *   WAITING --last need met--> READY --sched_take--> TAKEN --sched_end--> ENDED
 *      |                         ^ |  pool full: PARKED, back when the pool has room
 *      |                         | +--------------------------------------------+
 *      |                         +-- sched_again (retry) <-- HELD <-- sched_hold
 * (TAKEN)
 *      +--a need failed--> ENDED (skipped)
 *
 * A node's readiness is a counter of unmet needs reaching zero. Ready tasks are ordered
 * by priority, then critical path, then file order. A taken task holds its place in its
 * pool until it is held or ends. */
#ifndef EXECUTOR_SCHED_H
#define EXECUTOR_SCHED_H

#include "checkpoint/states.h"
#include "executor/graph.h"

enum sched_state { WAITING, READY, PARKED, TAKEN, HELD, ENDED };

struct heap {
    uint32_t *at;
    uint32_t n;
};

struct sched {
    const struct graph *graph;
    uint8_t *state;    /* [n_nodes] */
    uint32_t *waiting; /* [n_nodes] unmet needs */
    struct heap ready;
    struct heap *parked; /* [n_pools] */
    uint32_t *pool_used; /* [n_pools] */
    uint32_t *work;      /* [n_nodes] worklist of skips */
    uint32_t open;       /* tasks not ENDED */
    uint32_t taken, held;
};

/* `outcome` [n_tasks]: tasks that have one are ENDED from the start; those completed
 * meet the needs of their users. */
int sched_init(struct sched *sched, const struct graph *graph, const uint8_t *outcome,
               struct cairn_error *error);
void sched_release(struct sched *sched);

/* The best ready task, now TAKEN, or NODE_NONE. */
uint32_t sched_take(struct sched *sched);
/* Gives a taken task back, READY (it was not started after all). */
void sched_return(struct sched *sched, uint32_t task);
/* TAKEN to HELD (waiting for its retry), and back to READY. */
void sched_hold(struct sched *sched, uint32_t task);
void sched_again(struct sched *sched, uint32_t task);
/* A taken or held task has its final outcome. Completed: users lose an unmet need.
 * Failed: `skipped` is called for every task that can no longer run, in a fixed order;
 * they are ENDED. Other outcomes leave users waiting. */
void sched_end(struct sched *sched, uint32_t task, enum cairn_outcome outcome,
               void (*skipped)(void *, uint32_t task), void *context);
/* The assert of the diagram above, for tests: counts and queues agree. */
bool sched_consistent(const struct sched *sched);

#endif
