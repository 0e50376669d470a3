/* SPDX-License-Identifier: MIT */
/* The index of threads' states (storage/sessions/rows_thread.h), held against the records
 * that it follows from, and made anew from them. */
#ifndef CHECKPOINT_THREAD_INDEX_H
#define CHECKPOINT_THREAD_INDEX_H

#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"
#include "storage/sessions/rows_thread.h"

struct thread_index_difference {
    uint64_t branch;
    uint64_t keys;        /* how many differ */
    struct str space, id; /* the first of them */
    bool in_index, in_records;
};
/* A view during the call. Non-zero stops, and is returned if negative. */
typedef int thread_index_fn(void *context, const struct thread_index_difference *found);

/* The rows that the sound records of a branch make. *damaged: there are others. */
int thread_index_of(struct cairn_store *store, struct sha256 *sha, uint64_t branch,
                    thread_state_fn *each, void *context, bool *damaged,
                    struct cairn_error *error);
/* Calls for each branch whose keys differ. One with a damaged record is passed over, since
 * what that says is not known. In a read or write transaction. */
int thread_index_compare(struct cairn_store *store, struct sha256 *sha,
                         thread_index_fn *each, void *context,
                         struct cairn_error *error);
/* Puts what the sound records say in the place of what is there. In a write
 * transaction. */
int thread_index_make(struct cairn_store *store, struct sha256 *sha,
                      struct cairn_error *error);

#endif
