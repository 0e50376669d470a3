/* SPDX-License-Identifier: MIT */
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
 * A full record that was deleted counts as one if its change is there.               */
#include "checkpoint/recover.h"
#include "checkpoint/walk_int.h"

#include "storage/rows_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

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
    int rc = row_check(row, r->in->sha, &record, &r->reason);
    return rc ? rc : begin_with(r, &record, row->seq);
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
    int rc = r->in->kind->check(record, &check, &r->reason);
    return rc ? rc : error_set(&r->reason, CAIRN_EDAMAGED, "it is out of place");
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
                     "%s %llu has no undamaged checkpoint to go on from; `cairn "
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
