/* SPDX-License-Identifier: MIT */
/* One collection of garbage; shared by the files gc*.c. */
#ifndef CHECKPOINT_GC_GC_INT_H
#define CHECKPOINT_GC_GC_INT_H

#include "cairn/maintenance.h"
#include "checkpoint/nodes/nodes.h"
#include "checkpoint/payload_kind.h"
#include "checkpoint/tombstones_int.h"

/* A run that is to be removed, as it was when it was chosen. */
struct chosen_run {
    uint64_t run, workflow;
    int64_t ended_ns, owner_since_ns;
    uint8_t state;
    uint32_t gen;
};

struct gc {
    struct cairn_store *store;
    struct sha256 *sha;
    const struct payload_kinds *kinds;
    const struct cairn_gc_options *options;
    struct cairn_gc_result result;
    struct chosen_run *chosen; /* newest first; after gc_remove_runs the removed ones */
    size_t n_chosen, chosen_room;
    uint64_t up_to;  /* the newest object that may be garbage */
    uint64_t held;   /* objects up to this one stay, named or not; 0: none */
    uint64_t *marks; /* hash set of the first 8 bytes of digests; 0: empty */
    size_t n_marks, mark_room;
    struct node_set nodes; /* that were followed */
    bool node_failed;      /* one cannot be followed: `error` says why */
    bool dry_run;
    bool in_slice; /* between gc_begin_slice and gc_end_slice */
    int64_t slice_start_ns;
    struct cairn_error *error;
};

/* ---- gc_slice.c ---- */

/* One write transaction, short enough that a run beside it does not stall. */
int gc_begin_slice(struct gc *gc);
/* Whether it has taken its time. */
bool gc_slice_full(const struct gc *gc);
/* Commits, or rolls back if `rc` is not 0, and lets others write. */
int gc_end_slice(struct gc *gc, int rc);

/* ---- gc_choose.c ---- */

/* Fills `chosen` with the runs that the limits allow to remove and no kept run needs.
 */
int gc_choose_runs(struct gc *gc);
bool gc_is_chosen(const struct gc *gc, uint64_t run);

/* ---- gc_runs.c ---- */

/* Removes the chosen runs, and what interrupted collections have left of others. A dry
 * run only counts. */
int gc_remove_runs(struct gc *gc);

/* ---- gc_objects.c ---- */

/* Deletes content that nothing refers to; a dry run only counts. */
int gc_remove_objects(struct gc *gc);

#endif
