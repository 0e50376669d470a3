/* SPDX-License-Identifier: MIT */
/* The rows that garbage collection reads and deletes; rows_gc.c has the rule and why it
 * is safe. Functions that write need a write transaction. */
#ifndef STORAGE_ROWS_GC_H
#define STORAGE_ROWS_GC_H

#include "base/sha256.h"
#include "cairn/store.h"

/* Long work in write transactions that are short enough for others beside it: as much in
 * each as there is time for, so that it shares their sync. */
struct store_slice {
    struct cairn_store *store;
    bool open; /* between begin and end */
    int64_t start_ns, longest_us;
    uint32_t ended;
};

int store_slice_begin(struct store_slice *slice, struct cairn_error *error);
/* Whether it has taken its time. */
bool store_slice_full(const struct store_slice *slice);
/* Commits, or rolls back if `rc` is not 0, and lets others write. */
int store_slice_end(struct store_slice *slice, int rc, struct cairn_error *error);
/* Only one collector runs at a time: CAIRN_EBUSY if there is another. */
int store_gc_lock(struct cairn_store *store, struct cairn_error *error);
/* While content is put to which nothing refers yet: keeps collectors away, beside
 * others that do the same. CAIRN_EBUSY: one is at work for longer than this waits;
 * wait_ms 0: one try. */
enum { GC_WAIT_MS = 30000 };
int store_gc_hold_off(struct cairn_store *store, int wait_ms,
                      struct cairn_error *error);
/* Ends either. */
void store_gc_unlock(struct cairn_store *store);
/* Begins: from now on every object that is put or used again stays. Only objects with
 * ids up to *up_to may be deleted. CAIRN_EBUSY: a process of an older cairn, which does
 * not support this, may be writing. */
int store_gc_begin(struct cairn_store *store, uint64_t *up_to,
                   struct cairn_error *error);
int store_gc_end(struct cairn_store *store, struct cairn_error *error);
/* *n: a number that is another one after each collection; 0 while one is at work, and
 * where nobody has counted. */
int store_collections(struct cairn_store *store, uint64_t *n,
                      struct cairn_error *error);
/* After a repair that lost what may have named any object: all that there are now stay,
 * named or not, until a person lets them go. */
int store_gc_hold(struct cairn_store *store, struct cairn_error *error);
int store_gc_let_go(struct cairn_store *store, struct cairn_error *error);
/* Objects with ids up to *up_to are held, 0: none. A damaged setting holds all. */
int store_gc_held(struct cairn_store *store, uint64_t *up_to,
                  struct cairn_error *error);
/* The newest object's id; for a dry run. */
int store_last_object(struct cairn_store *store, uint64_t *id,
                      struct cairn_error *error);
struct object_size {
    uint64_t id, bytes; /* as stored */
    uint64_t base;      /* 0: none */
    struct digest digest, base_digest;
    bool sound; /* its digest can be one; otherwise it stays */
    bool based; /* its base is there: `base_digest` is set */
};
/* Those with ids up to up_to, by descending id, at most `limit`. */
int store_each_object(struct cairn_store *store, uint64_t up_to, uint32_t limit,
                      int (*each)(void *, const struct object_size *), void *context,
                      struct cairn_error *error);
/* *deleted is false if it was used again, or if it is the base of another one. */
int store_delete_object(struct cairn_store *store, const struct object_size *object,
                        bool *deleted, struct cairn_error *error);
/* is_node: it is one (checkpoint/nodes/nodes.h), and what it refers to is used, too. */
typedef int used_object_fn(void *context, uint64_t run, const struct digest *object,
                           bool is_node);
/* Graphs that rows of runs and generations name. */
int store_each_used_graph(struct cairn_store *store, used_object_fn *each,
                          void *context, struct cairn_error *error);
/* Objects that attempts name, by key: at most `limit` rows after `from`, which is set
 * to the last one. *rows: how many there were. A digest that cannot be one is
 * CAIRN_EDAMAGED. */
struct attempt_key {
    uint64_t run, gen, task, n;
};
int store_each_used_object(struct cairn_store *store, struct attempt_key *from,
                           uint32_t limit, used_object_fn *each, void *context,
                           uint32_t *rows, struct cairn_error *error);
/* Whether a run newer than `after` forks from `run`. */
int store_has_new_fork(struct cairn_store *store, uint64_t run, uint64_t after,
                       bool *has, struct cairn_error *error);
/* The row and the graphs of its generations; the rest of it is left over. */
int store_remove_run(struct cairn_store *store, uint64_t run,
                     struct cairn_error *error);
int store_count_attempts(struct cairn_store *store, uint64_t run, uint64_t *count,
                         struct cairn_error *error);
/* Numbers of removed runs that other tables still have rows of. */
int store_each_leftover(struct cairn_store *store, int (*each)(void *, uint64_t run),
                        void *context, struct cairn_error *error);
/* Deletes at most `limit` rows; *attempts of them were attempts. *rows 0: none left. */
int store_delete_leftovers(struct cairn_store *store, uint64_t run, uint32_t limit,
                           uint32_t *rows, uint32_t *attempts,
                           struct cairn_error *error);

#endif
