/* SPDX-License-Identifier: MIT */
/* Settings of the store that are about one run, and go with its row.
 *
 * Which run was begun inside an attempt of another. The setting `parent.N` says it of
 * run N: "RUN GEN TASK ATTEMPT SUM ID", with the sum in hex. The sum is one of
 * row_hmac.c (kind "parent"), since this decides which run goes on: a setting whose sum
 * does not hold counts for nothing. The setting `cancelled.RUN.GEN.TASK.ATTEMPT` is the
 * number of a run that was cancelled inside that attempt; it is only a hint where to
 * look.
 *
 * The setting `given.N.NAME` is there if the value of that param was given when run N
 * began. Only a notice depends on it. */
#ifndef STORAGE_ROWS_PARENT_H
#define STORAGE_ROWS_PARENT_H

#include "base/limits.h"
#include "base/sha256.h"
#include "cairn/store.h"

struct run_parent {
    uint64_t run; /* 0: none */
    uint32_t gen, task, attempt;
    char id[LIMIT_ID_BYTES + 1]; /* of the task */
};

/* Of run `run`; needs a write transaction. */
int store_set_parent(struct cairn_store *store, uint64_t run,
                     const struct run_parent *parent, struct cairn_error *error);
int store_get_parent(struct cairn_store *store, uint64_t run, struct run_parent *parent,
                     struct cairn_error *error);
/* The newest run of a workflow and params that was begun in this task of this run, in
 * whatever attempt; *run 0: none. *was: in which one. */
struct inside_query {
    uint64_t workflow; /* row id */
    const struct digest *params;
    const struct run_parent *parent;
};
int store_find_inside(struct cairn_store *store, const struct inside_query *query,
                      uint64_t *run, struct run_parent *was, struct cairn_error *error);
/* The newest run that was begun in this task of this run, or, with `parent` NULL, in no
 * task of any run that is still stored; *run 0: there is none. */
int store_newest_inside(struct cairn_store *store, const struct run_parent *parent,
                        uint64_t *run, struct cairn_error *error);
/* Of each workflow and params the newest run, unless it has completed or been undone;
 * newest first. */
int store_each_unfinished(struct cairn_store *store, int (*each)(void *, uint64_t run),
                          void *context, struct cairn_error *error);
/* Notes that `run` was cancelled inside an attempt; needs a write transaction. */
int store_set_cancelled_inside(struct cairn_store *store,
                               const struct run_parent *parent, uint64_t run,
                               struct cairn_error *error);
/* *run 0: no such note. */
int store_get_cancelled_inside(struct cairn_store *store,
                               const struct run_parent *parent, uint64_t *run,
                               struct cairn_error *error);
/* Notes that a param was given; needs a write transaction. */
int store_set_given(struct cairn_store *store, uint64_t run, struct str param,
                    struct cairn_error *error);
/* 1 it was given, 0 that is not known, <0 error. */
int store_was_given(struct cairn_store *store, uint64_t run, struct str param,
                    struct cairn_error *error);
/* With the row of the run. */
int store_drop_run_settings(struct cairn_store *store, uint64_t run,
                            struct cairn_error *error);

static inline bool same_attempt(const struct run_parent *a, const struct run_parent *b)
{
    return a->run == b->run && a->gen == b->gen && a->task == b->task &&
           a->attempt == b->attempt;
}

#endif
