/* SPDX-License-Identifier: MIT */
/* Deleting all records of a stream between two that are kept, and what stands for them:
 * one tombstone, with the change that they added up to where the records behind them
 * need it. It takes in the tombstones that are there already.
 *
 *   span_plan     reads, and finds out whether it may be done
 *   span_delete   carries it out, in the caller's write transaction
 *   span_release  in any case */
#ifndef CHECKPOINT_RETAIN_SPAN_INT_H
#define CHECKPOINT_RETAIN_SPAN_INT_H

#include "checkpoint/tombstones_int.h"

/* One tombstone to be. There are several where records that are kept name the end of
 * one as their parent, and where something has no change to give (it is damaged). */
struct span_range {
    struct tombstone_row row; /* `id`: of the one that it is as it stands, else 0 */
    struct buf change;
    uint64_t position; /* of its last record, where it has a change */
    bool guessed;      /* `after` is that of a damaged record */
    bool closed;       /* a tombstone whose change cannot be read now: left as it is */
};

struct span {
    const struct chains *in;
    uint64_t stream;
    uint64_t before, next;       /* seqs of the kept records around it; 0: none */
    const struct seq_set *forks; /* that other streams start from */
    bool forged;                 /* records without an HMAC of the key may go */
    struct cairn_error *error;
    /* Set by span_plan. */
    bool refused; /* `why` says what is in the way */
    struct cairn_error why;
    bool needed;                  /* the record behind it is not a full one */
    uint64_t from;                /* what is before this no later record needs */
    struct digest start;          /* of the record before it */
    struct checkpoint_ref parent; /* that the next sound record names */
    struct seq_set named;
    struct tombstones old;
    size_t passed; /* of these */
    struct span_range *ranges;
    size_t n, room;
    void *fold;            /* of the last range; folding: it holds something */
    bool folding, reached; /* reached: a tombstone's change was read */
};
int span_plan(struct span *span);
int span_delete(struct span *span);
void span_release(struct span *span);

#endif
