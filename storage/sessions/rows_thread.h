/* SPDX-License-Identifier: MIT */
/* The index of the states of threads: which record has the state of a key, and which
 * have pending writes for it. All of it follows from the records (checkpoint/threads.h),
 * which decide: who follows a row compares the key. */
#ifndef STORAGE_SESSIONS_ROWS_THREAD_H
#define STORAGE_SESSIONS_ROWS_THREAD_H

#include "base/str.h"
#include "cairn/store.h"

struct thread_state_row {
    uint64_t branch; /* that the thread's records are on */
    struct str space, id;
    uint64_t seq;      /* of the record with the state; 0: none, only writes */
    struct str writes; /* varints: seqs of records with writes, ascending, each but the
                            first as the difference to the one before */
};
/* Callbacks get views that are valid during the call. A non-zero return stops, and is
 * returned if negative. */
typedef int thread_state_fn(void *context, const struct thread_state_row *row);

/* Inserts or replaces. Like the other writing calls in a write transaction. */
int store_put_thread_state(struct cairn_store *store,
                           const struct thread_state_row *row,
                           struct cairn_error *error);
int store_drop_thread_state(struct cairn_store *store, uint64_t branch,
                            struct str space, struct str id, struct cairn_error *error);
int store_delete_thread_states(struct cairn_store *store, uint64_t branch,
                               struct cairn_error *error);
/* id NULL: the greatest that has a state. CAIRN_ENOTFOUND, without a text. */
int store_get_thread_state(struct cairn_store *store, uint64_t branch, struct str space,
                           const struct str *id, thread_state_fn *got, void *context,
                           struct cairn_error *error);
int store_count_thread_states(struct cairn_store *store, uint64_t branch,
                              uint64_t *states, struct cairn_error *error);

/* Branches that rows of the index or records are on, ascending. */
int store_each_thread_branch(struct cairn_store *store,
                             int (*each)(void *context, uint64_t branch), void *context,
                             struct cairn_error *error);

struct thread_state_range {
    uint64_t branch;         /* 0: all */
    const struct str *space; /* NULL: all */
    const struct str *below; /* ids less than this; NULL: all */
    /* 0: or, after a row: those behind it in the order of the list */
    uint64_t below_branch;
    struct str below_space;
    uint64_t limit; /* 0: all */
};
/* States alone: the greatest id first, of equal ones the highest branch. */
int store_each_thread_state(struct cairn_store *store,
                            const struct thread_state_range *range,
                            thread_state_fn *each, void *context,
                            struct cairn_error *error);
/* All rows of a branch, by space and id. */
int store_all_thread_states(struct cairn_store *store, uint64_t branch,
                            thread_state_fn *each, void *context,
                            struct cairn_error *error);

#endif
