/* SPDX-License-Identifier: MIT */
/* The exact state at one checkpoint: its full record, then each one up to it. Bounded
 * by the length of one segment; every record and every link on the way is verified.
 *
 * A damaged record on the way is CAIRN_EDAMAGED. One that was deleted is no damage but
 * CAIRN_ENOTFOUND: the records after it are sound, and resume can still apply them. */
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

struct deleted_search {
    uint64_t seq;
    const struct digest *digest; /* that it must have had as the last of its range */
    bool found;
};

static int match_tombstone(void *context, const struct tombstone_row *t)
{
    struct deleted_search *search = context;
    search->found = search->digest ? t->last == search->seq &&
                                         digest_equal(&t->after, search->digest)
                                   : t->first <= search->seq && t->last >= search->seq;
    return search->found;
}

/* CAIRN_ENOTFOUND if what the target needs was deleted; 0 if it was not. */
static int check_deleted(const struct builder *builder, struct deleted_search *search)
{
    uint8_t namespace_id = builder->in->kind->namespace_id;
    int rc = store_each_tombstone(builder->in->store, namespace_id, builder->stream,
                                  match_tombstone, search, builder->error);
    if (rc < 0 || !search->found)
        return rc < 0 ? rc : 0;
    char target[CAIRN_ID_MAX], deleted[CAIRN_ID_MAX];
    checkpoint_number(namespace_id, builder->target, target);
    checkpoint_number(namespace_id, search->seq, deleted);
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
        struct deleted_search search = {row->parent, &step->record.header.parent, 0};
        int rc = check_deleted(builder, &search);
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
    struct deleted_search search = {builder->base, NULL, false};
    int rc = check_deleted(builder, &search);
    return rc ? rc
              : error_set(builder->error, CAIRN_EDAMAGED,
                          "checkpoint %s cannot be rebuilt: its full record %s is "
                          "missing",
                          target, base);
}

static int build_from_base(struct builder *builder)
{
    struct stream_walk walk = {.in = builder->in,
                               .reason = builder->error,
                               .step = build_step,
                               .context = builder};
    int rc = chain_walk(&walk, builder->stream, builder->base, builder->target,
                        builder->error);
    if (rc == 0 && !builder->reached)
        rc = fail_unreached(builder);
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
