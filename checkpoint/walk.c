/* SPDX-License-Identifier: MIT */
/* One pass over the rows of a stream, in order of seq. */
#include "checkpoint/walk_int.h"

#include <assert.h>

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
    step.rc = row_check(row, walk->in->sha, &step.record, walk->reason);
    step.linked =
        step.rc == 0 && digest_equal(&step.record.header.parent, &walk->tip.digest);
    int rc = walk->step(walk->context, &step);
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
    assert(walk->step);
    if (stream == 0) /* it would mean all of them; a forged record may say so */
        return error_set(error, CAIRN_EDAMAGED,
                         "a record names the stream 0, which there cannot be; run "
                         "`cairn doctor`");
    return store_each_checkpoint(walk->in->store, &range, walk_row, walk, error);
}
