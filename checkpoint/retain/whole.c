/* SPDX-License-Identifier: MIT */
/* Deleting all of a stream. */
#include "checkpoint/retain/retain.h"
#include "checkpoint/tombstones_int.h"

#include "base/clock.h"
#include "storage/rows_checkpoint.h"

struct whole {
    const struct chains *in;
    struct tombstone_row row; /* for all of it; count 0: nothing was seen yet */
};

static int see_record(void *context, const struct checkpoint_row *row)
{
    struct whole *whole = context;
    struct sound_record checked;
    bool sound = row_check_bytes(row, whole->in->sha, &checked, NULL) == 0;
    if (whole->row.count++ == 0) {
        whole->row.first = row->seq;
        if (sound)
            whole->row.before = checked.header.parent;
    }
    whole->row.last = row->seq;
    whole->row.after = row_digest(row, whole->in->sha);
    return 0;
}

static void see_tombstone(struct tombstone_row *row, const struct tombstone_row *old)
{
    bool none = row->count == 0;
    if (none || old->first < row->first) {
        row->first = old->first;
        row->before = old->before;
    }
    if (none || old->last > row->last) {
        row->last = old->last;
        row->after = old->after;
    }
    row->count += old->count;
}

int chain_delete_all(const struct chains *in, uint64_t stream, uint64_t *deleted,
                     struct cairn_error *error)
{
    struct checkpoint_range all = {.namespace_id = in->kind->namespace_id,
                                   .stream = stream};
    struct whole whole = {.in = in,
                          .row = {.namespace_id = in->kind->namespace_id,
                                  .stream = stream,
                                  .time_ns = clock_utc_ns()}};
    struct tombstones old = {0};
    uint64_t bytes;
    *deleted = 0;
    int rc = store_each_checkpoint(in->store, &all, see_record, &whole, error);
    if (!rc)
        rc = tombstones_load(in->store, all.namespace_id, stream, &old, error);
    if (!rc && whole.row.count)
        rc = store_delete_checkpoints(in->store, all.namespace_id, stream, 1, INT64_MAX,
                                      deleted, &bytes, error);
    for (size_t i = 0; i < old.n && !rc; i++) {
        see_tombstone(&whole.row, &old.at[i]);
        rc = store_delete_tombstone(in->store, old.at[i].id, error);
    }
    if (!rc && whole.row.count)
        rc = store_put_tombstone(in->store, &whole.row, error);
    tombstones_release(&old);
    return rc < 0 ? rc : 0;
}
