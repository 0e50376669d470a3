/* SPDX-License-Identifier: MIT */
/* The places in pools of the whole store that taken tasks of this run have
 * (runs/places.h). shares.c is the only writer of `shares`. */
#ifndef EXECUTOR_STATE_SHARES_H
#define EXECUTOR_STATE_SHARES_H

#include "runs/places.h"

struct engine;

struct share {
    uint32_t task;
    struct lock_file held;
};

struct shares {
    bool open; /* else no task of the run shares a pool, or there is no store */
    struct places places;
    struct run_parent *around; /* see places.around */
    struct share *at;
    uint32_t n;
    size_t capacity;
    bool *told; /* [n_pools] that another run has another limit */
};

/* Before anything of the run is changed: what would wait for ever is refused. */
int shares_check(struct engine *e, struct cairn_error *error);
int shares_open(struct engine *e, struct cairn_error *error);
void shares_close(struct engine *e);
/* A taken task may start as far as its pools go. 0: not now, it is not taken any more. */
int shares_take(struct engine *e, uint32_t task, struct cairn_error *error);
bool shares_has(const struct engine *e, uint32_t task);
/* For its keeper, which has the places as long as it lives; 0: the task has none. */
int shares_descriptor(const struct engine *e, uint32_t task);
/* Before tasks are taken: what is not taken any more has no places. */
void shares_settle(struct engine *e);
/* After it: the run waits for none while it could not start anything with them. */
void shares_leave(struct engine *e, bool can_start);
/* Places may be free: those that wait for some ask again. */
void shares_ask(struct engine *e);

#endif
