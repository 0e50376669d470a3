/* SPDX-License-Identifier: MIT */
/* The walk along one stream from older to newer records, used by rebuild.c (strict) and
 * recover.c (lenient). It verifies rows and compares links; the step function decides
 * what a bad one means. */
#ifndef CHECKPOINT_WALK_INT_H
#define CHECKPOINT_WALK_INT_H

#include "checkpoint/change_int.h"
#include "checkpoint/row_int.h"

struct walk_step {
    const struct checkpoint_row *row;
    int rc; /* of row_check; the reason is in walk->reason */
    struct sound_record record;
    bool linked; /* a sound record that names walk->tip as its parent */
};
/* Returns 0 to make the record the tip and continue, WALK_PASS to continue without
 * that, 1 to stop, or a negative code. */
enum { WALK_PASS = 2 };
typedef int walk_fn(void *context, const struct walk_step *step);

/* A deleted range between two records, or behind the last one. `linked`: it begins
 * behind walk->tip. Returns as a step does; 0 makes its last record the tip. */
typedef int walk_range_fn(void *context, const struct tombstone_row *range,
                          bool linked);

struct stream_walk {
    const struct chains *in;
    struct checkpoint_ref tip; /* newest record that was taken, seq 0: none yet */
    struct cairn_error *reason;
    walk_fn *step;
    walk_range_fn *cross;
    void *context;
    const struct tombstones *deleted; /* of the stream */
    size_t passed;                    /* of these */
    uint64_t stream, last;            /* set by chain_walk; seq of the row before */
    struct cairn_error *error;
};
/* All rows of `stream` with seqs from `first` to `last` (0: no end), and the deleted
 * ranges between them. */
int chain_walk(struct stream_walk *walk, uint64_t stream, uint64_t first, uint64_t last,
               struct cairn_error *error);

#endif
