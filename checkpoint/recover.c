/* SPDX-License-Identifier: MIT */
/* Streams read back, from older to newer records: the exact state at one checkpoint,
 * and what can be read of a damaged stream. */
#include "checkpoint/recover.h"

#include "checkpoint/chain.h"
#include "checkpoint/tombstones_int.h"

#include "storage/rows_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

/* One pass over the rows and the deleted ranges of a stream, in order of seq, for the
 * strict reader and the lenient one. It verifies rows and compares links; the step
 * function decides what a bad one means. */

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

/* All rows of `stream` with seqs from `first` to `last` (0: no end), and the deleted
 * ranges between them. */
static int chain_walk(struct stream_walk *walk, uint64_t stream, uint64_t first,
                      uint64_t last, struct cairn_error *error)
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

/* The exact state at one checkpoint: its full record, then each one up to it. Bounded
 * by the length of one segment; every record and every link on the way is verified. The
 * change of a deleted range stands for its records, and may be the full one.
 *
 * A damaged record on the way is CAIRN_EDAMAGED. One that was deleted and left no
 * change is not damage but CAIRN_ENOTFOUND: the records after it are sound, and resume
 * can still apply them. */

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

static int rebuild_later(struct builder *builder, const struct sound_record *record)
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
        rc = rebuild_later(builder, record);
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
static int rebuild_range(void *context, const struct tombstone_row *range, bool linked)
{
    struct builder *builder = context;
    if (!builder->begun || !linked || !range->change_bytes)
        return WALK_PASS;
    builder->out->bad = range->last;
    return change_read(builder->in->store, range, apply_change, builder,
                       builder->error);
}

static int rebuild_record(struct builder *builder, const struct walk_step *step)
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
    return rebuild_later(builder, &step->record);
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
    int rc = rebuild_record(builder, step);
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
                               .cross = rebuild_range,
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

/* What can be read of a damaged stream. Two passes, each linear: newest to oldest for
 * the newest sound full record, then forward over everything after it.
 *
 *   row after the full record          applied   listed   gap
 *   sound record, linked               yes       no       no
 *   sound record, link broken          yes       no       yes
 *   sound record of another subject    no        no       yes
 *   damaged (record, column, payload)  no        yes      yes
 *   deleted, or lost at a repair       no        no       yes
 *   deleted, with its change           yes       no       where its link is broken
 *   such a change, damaged             no        yes      yes
 *
 * A full record that was deleted counts as one if its change is there. */

struct recovering {
    const struct chains *in;
    uint64_t stream;
    void *state;
    struct payload_frame frame;
    struct chain_recovery *out;
    struct tombstones deleted; /* ranges of the stream */
    size_t untried;            /* of these, for a full record, from the newest on */
    bool any;                  /* a row was seen */
    uint64_t full;             /* seq of the full record, 0: not found */
    struct cairn_error reason; /* what is wrong with the row at hand */
    struct cairn_error *error;
};

/* ---- Backward: the newest sound full record ---- */

static int begin_with(struct recovering *r, const struct sound_record *record,
                      uint64_t seq)
{
    struct chain_recovery *out = r->out;
    struct payload_check check = {.frame = &r->frame};
    int rc = r->in->kind->apply(r->state, record, &check, &r->reason);
    if (rc)
        return rc;
    assert(r->frame.base == record->header.seq);
    out->newest = (struct checkpoint_ref){seq, record->digest};
    out->head.position = record->header.position;
    out->head.base = record->header.seq;
    out->head.base_bytes = chain_base_bytes(record->bytes, r->frame.size);
    r->full = record->header.seq;
    return 0;
}

static int take_base(struct recovering *r, const struct checkpoint_row *row)
{
    struct sound_record record;
    return row_check(row, r->in->sha, &record, &r->reason)
               ?: begin_with(r, &record, row->seq);
}

static int take_deleted(void *context, const struct tombstone_row *range,
                        const struct sound_record *record)
{
    struct recovering *r = context;
    return record->header.kind == RECORD_FULL ? begin_with(r, record, range->last) : 0;
}

/* The deleted ranges behind row `seq`: 1 if one is, or stands for, a full record. */
static int try_deleted(struct recovering *r, uint64_t seq)
{
    for (; r->untried > 0; r->untried--) {
        const struct tombstone_row *t = &r->deleted.at[r->untried - 1];
        if (t->last < seq)
            return 0;
        if (t->change_bytes == 0)
            continue;
        int rc = change_read(r->in->store, t, take_deleted, r, &r->reason);
        if (rc && rc != CAIRN_EDAMAGED) /* the forward pass lists a damaged one */
            return error_set(r->error, rc, "%s", r->reason.text);
        if (r->full)
            return 1;
    }
    return 0;
}

static int try_base(void *context, const struct checkpoint_row *row)
{
    struct recovering *r = context;
    assert(r->full == 0); /* found, it ends the pass */
    r->any = true;
    int rc = try_deleted(r, row->seq);
    if (rc)
        return rc;
    if (row->kind != RECORD_FULL || row->namespace_id != r->in->kind->namespace_id)
        return 0;
    rc = take_base(r, row);
    if (rc == CAIRN_EDAMAGED)
        return 0; /* the forward pass lists it */
    if (rc)
        return error_set(r->error, rc, "%s", r->reason.text);
    return 1;
}

/* ---- Forward: everything after it ---- */

static int make_room(struct chain_recovery *out, struct cairn_error *error)
{
    size_t capacity = out->capacity ? 2 * out->capacity : 8;
    assert(out->n_damaged == out->capacity);
    uint64_t *seqs = realloc(out->damaged, capacity * sizeof *seqs);
    if (!seqs)
        return error_nomem(error);
    out->damaged = seqs;
    char **reasons = realloc(out->reasons, capacity * sizeof *reasons);
    if (!reasons)
        return error_nomem(error);
    out->reasons = reasons;
    out->capacity = capacity;
    return 0;
}

static int note_damaged(struct recovering *r, uint64_t seq)
{
    struct chain_recovery *out = r->out;
    assert(seq > out->newest.seq); /* chain_walk goes up */
    out->gap = true;
    int rc = out->n_damaged == out->capacity ? make_room(out, r->error) : 0;
    if (rc)
        return rc;
    char *text = strdup(r->reason.text);
    if (!text)
        return error_nomem(r->error);
    out->damaged[out->n_damaged] = seq;
    out->reasons[out->n_damaged++] = text;
    return WALK_PASS;
}

/* A full record that the backward pass did not take: says why. */
static int refuse_full(struct recovering *r, const struct sound_record *record)
{
    struct payload_check check = {0};
    return r->in->kind->check(record, &check, &r->reason)
               ?: error_set(&r->reason, CAIRN_EDAMAGED, "it is out of place");
}

static int apply_record(struct recovering *r, const struct sound_record *record)
{
    struct payload_check check = {.frame = &r->frame};
    if (record->header.kind != RECORD_DELTA)
        return refuse_full(r, record);
    int rc = r->in->kind->apply(r->state, record, &check, &r->reason);
    if (rc == PAYLOAD_FOREIGN)
        r->out->gap = true;
    return rc == PAYLOAD_FOREIGN ? 0 : rc;
}

static int recover_step(void *context, const struct walk_step *step)
{
    struct recovering *r = context;
    struct chain_recovery *out = r->out;
    assert(out->newest.seq < step->row->seq);
    int rc = step->rc ? step->rc : apply_record(r, &step->record);
    if (rc == CAIRN_EDAMAGED)
        return note_damaged(r, step->row->seq);
    if (rc)
        return error_set(r->error, rc, "%s", r->reason.text);
    if (!step->linked)
        out->gap = true;
    out->newest = (struct checkpoint_ref){step->row->seq, step->record.digest};
    out->head.position = step->record.header.position;
    out->head.tail_bytes += step->record.bytes;
    return 0;
}

/* The newest record stays the one that is there. */
static int cross_change(void *context, const struct tombstone_row *range,
                        const struct sound_record *record)
{
    struct recovering *r = context;
    int rc = apply_record(r, record);
    if (rc == 0)
        r->out->head.tail_bytes += record->bytes;
    return rc == CAIRN_EDAMAGED ? change_blame(range, &r->reason) : rc;
}

/* What deleted records held is not known any more, if they left no change: the next
 * record must be a full one. */
static int cross_range(void *context, const struct tombstone_row *range, bool linked)
{
    struct recovering *r = context;
    if (!linked || !range->change_bytes)
        r->out->gap = true;
    if (!range->change_bytes)
        return WALK_PASS;
    int rc = change_read(r->in->store, range, cross_change, r, &r->reason);
    if (rc == CAIRN_EDAMAGED)
        return note_damaged(r, range->last);
    return rc < 0 ? error_set(r->error, rc, "%s", r->reason.text) : rc;
}

static int apply_later(struct recovering *r)
{
    assert(r->out->newest.seq >= r->full);
    struct stream_walk walk = {.in = r->in,
                               .tip = r->out->newest,
                               .reason = &r->reason,
                               .step = recover_step,
                               .cross = cross_range,
                               .deleted = &r->deleted,
                               .context = r};
    return chain_walk(&walk, r->stream, r->out->newest.seq + 1, 0, r->error);
}

/* ---- No full record is left ---- */

static int fail_no_base(const struct recovering *r)
{
    const struct payload_kind *kind = r->in->kind;
    assert(r->full == 0);
    return error_set(r->error, CAIRN_EDAMAGED,
                     "%s %llu has no undamaged checkpoint to continue from; `cairn "
                     "checkpoint verify` names the damaged ones, %s",
                     kind->stream_noun, (unsigned long long)r->stream, kind->restart);
}

static int begin_empty(struct recovering *r)
{
    const struct payload_kind *kind = r->in->kind;
    int rc = kind->begin
                 ? kind->begin(r->state, r->in->store, r->stream, &r->frame, r->error)
                 : 0;
    if (rc <= 0)
        return rc ? rc : fail_no_base(r);
    r->out->gap = true;
    return 0;
}

/* ---- The call ---- */

static int recover_newest(struct recovering *r)
{
    struct checkpoint_range range = {.namespace_id = r->in->kind->namespace_id,
                                     .stream = r->stream,
                                     .descending = true};
    int rc = tombstones_load(r->in->store, range.namespace_id, r->stream, &r->deleted,
                             r->error);
    r->untried = r->deleted.n;
    if (rc == 0)
        rc = store_each_checkpoint(r->in->store, &range, try_base, r, r->error);
    if (rc >= 0 && r->any && !r->full)
        rc = try_deleted(r, 0);
    if (rc < 0)
        return rc;
    if (!r->any)
        return error_set(r->error, CAIRN_ENOTFOUND, "%s %llu has no checkpoint",
                         r->in->kind->stream_noun, (unsigned long long)r->stream);
    rc = r->full ? 0 : begin_empty(r);
    if (rc == 0)
        rc = apply_later(r);
    if (rc >= 0 && r->out->newest.seq == 0)
        return fail_no_base(r);
    return rc < 0 ? rc : 0;
}

int chain_recover(const struct chains *in, uint64_t stream, void *state,
                  struct chain_recovery *out, struct cairn_error *error)
{
    struct chain_recovery made = {.head = {.in = *in, .id = stream}};
    struct recovering r = {
        .in = in, .stream = stream, .state = state, .out = &made, .error = error};
    assert_chains(in);
    int rc = recover_newest(&r);
    tombstones_release(&r.deleted);
    if (rc) {
        chain_recovery_release(&made);
        in->kind->state_release(state);
        return rc;
    }
    assert(made.head.base == r.full);
    made.head.parent = made.newest.seq;
    made.head.parent_digest = made.newest.digest;
    assert_chain(&made.head);
    *out = made;
    return 0;
}

void chain_recovery_release(struct chain_recovery *recovery)
{
    for (size_t i = 0; i < recovery->n_damaged; i++)
        free(recovery->reasons[i]);
    free(recovery->reasons);
    free(recovery->damaged);
    *recovery = (struct chain_recovery){0};
}
