/* SPDX-License-Identifier: MIT */
/* The exact state at one checkpoint: its full record, then each one up to it. Bounded
 * by the length of one segment; every record and every link on the way is verified. The
 * change of a deleted range stands for its records, and may be the full one.
 *
 * A damaged record on the way is CAIRN_EDAMAGED. One that was deleted and left no
 * change is no damage but CAIRN_ENOTFOUND: the records after it are sound, and resume
 * can still apply them. */
#include "checkpoint/recover.h"
#include "checkpoint/walk_int.h"

#include "storage/rows_checkpoint.h"

#include <assert.h>

struct builder {
    const struct chains *in;
    struct rebuilt *out;
    void *state;
    struct payload_frame frame;
    uint64_t stream, base, target;
    bool begun, reached;
    struct tombstones deleted; /* ranges of the stream */
    struct cairn_error *error;
};

/* ---- The full record that it needs ---- */

static int read_base(const struct builder *builder, const struct checkpoint_row *row,
                     const struct sound_record *record, uint64_t *base)
{
    struct payload_check check = {0};
    assert(record->header.kind == RECORD_DELTA);
    int rc = builder->in->kind->check(record, &check, builder->error);
    if (rc == CAIRN_EDAMAGED)
        return row_blame(row, builder->error);
    if (rc)
        return rc;
    *base = check.base;
    if (check.base < row->seq)
        return 0;
    error_set(builder->error, CAIRN_EDAMAGED, "its full record is not an older one");
    return row_blame(row, builder->error);
}

static int find_base(void *context, const struct checkpoint_row *row)
{
    struct builder *builder = context;
    struct sound_record record;
    int rc = row_verify(row, builder->in->sha, &record, builder->error);
    if (rc || row->namespace_id != builder->in->kind->namespace_id)
        return rc;
    builder->stream = row->stream;
    builder->base = row->seq;
    return row->kind == RECORD_FULL ? 0
                                    : read_base(builder, row, &record, &builder->base);
}

/* ---- Records that were deleted ---- */

/* Of a range: `seq` is its last one, with that digest. NULL: any that holds `seq`. */
static const struct tombstone_row *find_deleted(const struct builder *builder,
                                                uint64_t seq,
                                                const struct digest *digest)
{
    for (size_t i = 0; i < builder->deleted.n; i++) {
        const struct tombstone_row *t = &builder->deleted.at[i];
        if (digest ? t->last == seq && digest_equal(&t->after, digest)
                   : t->first <= seq && t->last >= seq)
            return t;
    }
    return NULL;
}

/* CAIRN_ENOTFOUND if what the target needs was deleted; 0 if it was not. */
static int check_deleted(const struct builder *builder, uint64_t seq,
                         const struct digest *digest)
{
    uint8_t namespace_id = builder->in->kind->namespace_id;
    if (!find_deleted(builder, seq, digest))
        return 0;
    char target[CAIRN_ID_MAX], deleted[CAIRN_ID_MAX];
    checkpoint_number(namespace_id, builder->target, target);
    checkpoint_number(namespace_id, seq, deleted);
    return error_set(builder->error, CAIRN_ENOTFOUND,
                     "checkpoint %s cannot be rebuilt: checkpoint %s before it was "
                     "deleted",
                     target, deleted);
}

/* ---- The walk from the full record to the target ---- */

static int apply_later(struct builder *builder, const struct sound_record *record)
{
    struct payload_check check = {.frame = &builder->frame};
    assert(builder->begun && builder->frame.base == builder->base);
    int rc = builder->in->kind->apply(builder->state, record, &check, builder->error);
    if (check.base && check.base != builder->base)
        return error_set(
            builder->error, CAIRN_EDAMAGED, "it belongs to full record %llu, not %llu",
            (unsigned long long)check.base, (unsigned long long)builder->base);
    return rc == PAYLOAD_FOREIGN ? CAIRN_EDAMAGED : rc;
}

static int apply_change(void *context, const struct tombstone_row *range,
                        const struct sound_record *record)
{
    struct builder *builder = context;
    struct payload_check check = {.frame = &builder->frame};
    int rc;
    if (builder->begun)
        rc = apply_later(builder, record);
    else if (record->header.kind != RECORD_FULL || record->header.seq != builder->base)
        rc = error_set(builder->error, CAIRN_EDAMAGED,
                       "it does not hold full record %llu",
                       (unsigned long long)builder->base);
    else
        rc = builder->in->kind->apply(builder->state, record, &check, builder->error);
    builder->begun = true;
    return rc == CAIRN_EDAMAGED ? change_blame(range, builder->error) : rc;
}

/* Where it has no change, the record behind it finds that out. */
static int cross_range(void *context, const struct tombstone_row *range, bool linked)
{
    struct builder *builder = context;
    if (!builder->begun || !linked || !range->change_bytes)
        return WALK_PASS;
    builder->out->bad = range->last;
    return change_read(builder->in->store, range, apply_change, builder,
                       builder->error);
}

static int apply_record(struct builder *builder, const struct walk_step *step)
{
    bool first = !builder->begun;
    bool full = step->record.header.kind == RECORD_FULL;
    builder->begun = true;
    if (first && full) {
        struct payload_check check = {.frame = &builder->frame};
        return builder->in->kind->apply(builder->state, &step->record, &check,
                                        builder->error);
    }
    if (first || full)
        return error_set(builder->error, CAIRN_EDAMAGED, "it is %sa full record",
                         full ? "" : "not ");
    if (!step->linked)
        return error_set(builder->error, CAIRN_EDAMAGED,
                         "it does not follow the record before it; one between them "
                         "is missing");
    return apply_later(builder, &step->record);
}

static int build_step(void *context, const struct walk_step *step)
{
    struct builder *builder = context;
    struct rebuilt *out = builder->out;
    const struct checkpoint_row *row = step->row;
    assert(builder->base > 0 && builder->base <= builder->target);
    if (!builder->begun && row->seq != builder->base)
        return 1; /* the full record is not there */
    out->bad = row->seq;
    if (step->rc)
        return step->rc == CAIRN_EDAMAGED ? row_blame(row, builder->error) : step->rc;
    if (builder->begun && !step->linked) {
        int rc = check_deleted(builder, row->parent, &step->record.header.parent);
        if (rc)
            return rc;
    }
    int rc = apply_record(builder, step);
    if (rc == CAIRN_EDAMAGED)
        return row_blame(row, builder->error);
    if (rc)
        return rc;
    out->header = step->record.header;
    out->ref = (struct checkpoint_ref){row->seq, step->record.digest};
    out->bytes = (uint32_t)step->record.bytes;
    out->parent = row->parent;
    builder->reached = row->seq == builder->target;
    return 0;
}

static int fail_unreached(const struct builder *builder)
{
    uint8_t namespace_id = builder->in->kind->namespace_id;
    char target[CAIRN_ID_MAX], base[CAIRN_ID_MAX];
    assert(!builder->reached);
    checkpoint_number(namespace_id, builder->target, target);
    checkpoint_number(namespace_id, builder->base, base);
    if (builder->begun)
        return error_set(builder->error, CAIRN_EDAMAGED,
                         "checkpoint %s cannot be rebuilt", target);
    int rc = check_deleted(builder, builder->base, NULL);
    return rc ? rc
              : error_set(builder->error, CAIRN_EDAMAGED,
                          "checkpoint %s cannot be rebuilt: its full record %s is "
                          "missing",
                          target, base);
}

/* The full record may be in a deleted range that stands for it. */
static int begin_deleted(struct builder *builder, struct stream_walk *walk)
{
    const struct tombstone_row *t = find_deleted(builder, builder->base, NULL);
    if (!t || !t->change_bytes || t->last >= builder->target)
        return 0;
    builder->out->bad = t->last;
    walk->tip = (struct checkpoint_ref){t->last, t->after};
    return change_read(builder->in->store, t, apply_change, builder, builder->error);
}

static int build_from_base(struct builder *builder)
{
    struct stream_walk walk = {.in = builder->in,
                               .reason = builder->error,
                               .step = build_step,
                               .cross = cross_range,
                               .deleted = &builder->deleted,
                               .context = builder};
    int rc = tombstones_load(builder->in->store, builder->in->kind->namespace_id,
                             builder->stream, &builder->deleted, builder->error);
    if (rc == 0 && builder->base != builder->target)
        rc = begin_deleted(builder, &walk);
    if (rc == 0)
        rc = chain_walk(&walk, builder->stream,
                        builder->begun ? walk.tip.seq + 1 : builder->base,
                        builder->target, builder->error);
    if (rc == 0 && !builder->reached)
        rc = fail_unreached(builder);
    tombstones_release(&builder->deleted);
    return rc;
}

int chain_rebuild(const struct chains *in, uint64_t seq, void *state,
                  struct rebuilt *out, struct cairn_error *error)
{
    struct builder builder = {
        .in = in, .out = out, .state = state, .target = seq, .error = error};
    char number[CAIRN_ID_MAX];
    assert_chains(in);
    *out = (struct rebuilt){.bad = seq};
    int rc = store_get_checkpoint(in->store, seq, find_base, &builder, error);
    checkpoint_number(in->kind->namespace_id, seq, number);
    if (rc == CAIRN_ENOTFOUND || (rc == 0 && builder.base == 0))
        return error_set(error, CAIRN_ENOTFOUND, "there is no checkpoint %s", number);
    if (rc)
        return rc;
    out->bad = builder.base;
    rc = build_from_base(&builder);
    assert(rc || out->ref.seq == seq);
    if (rc)
        in->kind->state_release(state);
    return rc;
}
