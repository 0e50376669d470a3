/* SPDX-License-Identifier: MIT */
/* One pass over the rows and the deleted ranges of a stream, in order of seq. */
#include "checkpoint/walk_int.h"

#include <assert.h>

/* Those before row `seq`, 0: all that are left. */
static int walk_ranges(struct stream_walk *walk, uint64_t seq)
{
    const struct tombstones *deleted = walk->deleted;
    for (; walk->passed < deleted->n; walk->passed++) {
        const struct tombstone_row *t = &deleted->at[walk->passed];
        if (seq && t->last >= seq)
            return 0;
        bool linked = digest_equal(&t->before, &walk->tip.digest);
        int rc = walk->cross(walk->context, t, linked);
        if (rc == 0)
            walk->tip = (struct checkpoint_ref){t->last, t->after};
        else if (rc != WALK_PASS)
            return rc;
    }
    return 0;
}

static int walk_row(void *context, const struct checkpoint_row *row)
{
    struct stream_walk *walk = context;
    struct walk_step step = {.row = row};
    if (row->seq <= walk->last || row->stream != walk->stream ||
        row->namespace_id != walk->in->kind->namespace_id) /* by a damaged index */
        return error_set(walk->error, CAIRN_EDAMAGED,
                         "the index of checkpoints leads to a wrong row: run `cairn "
                         "doctor`");
    walk->last = row->seq;
    int rc = walk_ranges(walk, row->seq);
    if (rc)
        return rc;
    step.rc = row_check(row, walk->in->sha, &step.record, walk->reason);
    step.linked =
        step.rc == 0 && digest_equal(&step.record.header.parent, &walk->tip.digest);
    rc = walk->step(walk->context, &step);
    if (rc == 0) {
        assert(step.rc == 0);
        walk->tip = (struct checkpoint_ref){row->seq, step.record.digest};
    }
    return rc == WALK_PASS ? 0 : rc;
}

int chain_walk(struct stream_walk *walk, uint64_t stream, uint64_t first, uint64_t last,
               struct cairn_error *error)
{
    struct checkpoint_range range = {.namespace_id = walk->in->kind->namespace_id,
                                     .stream = stream,
                                     .first = first,
                                     .last = last};
    walk->error = error;
    walk->stream = stream;
    walk->last = walk->tip.seq;
    assert_chains(walk->in);
    assert(walk->step && walk->cross && walk->deleted && !walk->deleted->unsorted);
    if (stream == 0) /* it would mean all of them; a forged record may say so */
        return error_set(error, CAIRN_EDAMAGED,
                         "a record names the stream 0, which there cannot be; run "
                         "`cairn doctor`");
    while (walk->passed < walk->deleted->n &&
           walk->deleted->at[walk->passed].last < first)
        walk->passed++;
    int rc = store_each_checkpoint(walk->in->store, &range, walk_row, walk, error);
    return rc || last ? rc : walk_ranges(walk, 0);
}
