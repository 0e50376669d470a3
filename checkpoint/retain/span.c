/* SPDX-License-Identifier: MIT */
/* Records between two kept ones become ranges, each a tombstone. Records and older
 * tombstones (both are items here) come by seq, and each joins the range before it if
 *
 *   nothing needs a change     no kept record names the end of that range
 *   a full record              likewise; the changes of all ranges before it are
 * dropped a delta                    likewise, and it is linked to that range, which
 * has one no change can be had       likewise, and that range has none
 *
 * Only what is at or behind the newest sound full record is folded, so that the time is
 * linear and one state is held. */
#include "checkpoint/retain/span_int.h"

#include "base/clock.h"
#include "base/memory.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>

struct item {
    struct tombstone_row row; /* as it would be for itself; id 0: it is a record */
    uint64_t parent;          /* of a sound record, else 0 */
    bool linked;              /* row.before is known */
    bool guessed, closed;     /* as in span_range */
    const struct sound_record *record; /* its change, NULL: none */
};

void span_release(struct span *span)
{
    if (span->fold)
        span->in->kind->fold_release(span->fold);
    free(span->fold);
    for (size_t i = 0; i < span->n; i++)
        buf_release(&span->ranges[i].change);
    free(span->ranges);
    seqs_release(&span->named);
    tombstones_release(&span->old);
}

/* ---- What is around it ---- */

static int note_start(void *context, const struct checkpoint_row *row)
{
    struct span *s = context;
    s->start = row_digest(row, s->in->sha);
    return 0;
}

/* The record behind it; and the first sound one, since no later one can name an older
 * parent than that does. */
static int note_next(void *context, const struct checkpoint_row *row)
{
    struct span *s = context;
    struct sound_record checked;
    bool sound = row_check(row, s->in->sha, &checked, NULL) == 0;
    if (row->seq == s->next)
        s->needed = !(sound && checked.header.kind == RECORD_FULL);
    if (sound)
        s->parent = (struct checkpoint_ref){row->parent, checked.header.parent};
    return sound;
}

static int note_base(void *context, const struct checkpoint_row *row)
{
    struct span *s = context;
    struct sound_record checked;
    struct payload_check check = {0};
    if (row->kind != RECORD_FULL || row_check(row, s->in->sha, &checked, NULL))
        return 0;
    int rc = s->in->kind->check(&checked, &check, NULL);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(s->error);
    s->from = rc ? 0 : row->seq;
    return rc == 0;
}

static struct checkpoint_range inside(const struct span *s)
{
    return (struct checkpoint_range){.namespace_id = s->in->kind->namespace_id,
                                     .stream = s->stream,
                                     .first = s->before + 1,
                                     .last = s->next ? s->next - 1 : 0};
}

static int look_around(struct span *s)
{
    struct checkpoint_range range = inside(s);
    struct checkpoint_range behind = range;
    struct cairn_store *store = s->in->store;
    assert(s->next == 0 || s->next > s->before + 1);
    range.descending = true;
    behind.first = s->next;
    behind.last = 0;
    int rc =
        s->before ? store_get_checkpoint(store, s->before, note_start, s, s->error) : 0;
    if (rc >= 0 && s->next)
        rc = store_each_checkpoint(store, &behind, note_next, s, s->error);
    if (rc >= 0 && s->needed)
        rc = store_each_checkpoint(store, &range, note_base, s, s->error);
    if (rc >= 0)
        rc = tombstones_load_within(store, &range, &s->old, s->error);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->forks->n; i++)
        if (seqs_add(&s->named, s->forks->at[i]))
            return error_nomem(s->error);
    if (s->parent.seq && seqs_add(&s->named, s->parent.seq))
        return error_nomem(s->error);
    seqs_sort(&s->named);
    return 0;
}

/* ---- Folding ---- */

static int refuse(struct span *s, int rc)
{
    if (rc == CAIRN_EUSAGE)
        s->refused = true;
    return rc;
}

static int may_fold(struct span *s, const struct item *item)
{
    const struct payload_kind *kind = s->in->kind;
    if (!kind->fold)
        return refuse(s, error_set(&s->why, CAIRN_EUSAGE,
                                   "the ones after it, up to the next full one, could "
                                   "not be rebuilt without it"));
    if ((item->record->header.flags & RECORD_KEYED) && !store_key(s->in->store))
        return refuse(s, error_set(&s->why, CAIRN_EUSAGE,
                                   "%s %llu is recorded with a key: give it with --key "
                                   "FILE or CAIRN_KEY",
                                   kind->stream_noun, (unsigned long long)s->stream));
    if (!s->fold)
        s->fold = calloc(1, kind->fold_bytes);
    return s->fold ? 0 : error_nomem(s->error);
}

/* The last range is done: its change becomes bytes. */
static int end_fold(struct span *s)
{
    const struct payload_kind *kind = s->in->kind;
    struct folded folded;
    struct buf payload = BUF_INIT;
    if (!s->folding)
        return 0;
    assert(s->n > 0 && s->fold);
    struct span_range *last = &s->ranges[s->n - 1];
    int rc = kind->fold_put(s->fold, &folded, &payload, s->error);
    bool fits = rc == 0 && folded.base <= last->row.last &&
                folded.full == (folded.base >= last->row.first);
    if (fits && last->row.id == 0)
        rc = change_encode(&folded, last->position, buf_view(&payload), &last->change,
                           s->error);
    buf_release(&payload);
    kind->fold_release(s->fold);
    s->folding = false;
    return rc;
}

/* ---- Ranges ---- */

static bool is_named(const struct span *s, uint64_t seq)
{
    return seqs_has(&s->named, seq);
}

static void extend(struct span_range *range, const struct tombstone_row *by)
{
    struct tombstone_row *row = &range->row;
    assert(row->last < by->first);
    row->id = 0;
    row->last = by->last;
    row->after = by->after;
    row->count += by->count;
    row->time_ns = by->time_ns > row->time_ns ? by->time_ns : row->time_ns;
}

/* A full record replaces all before it. */
static void drop_changes(struct span *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct span_range *range = &s->ranges[i];
        buf_release(&range->change);
        range->closed = false;
        if (range->row.change_bytes)
            range->row.id = 0;
        if (i > 0 && !is_named(s, s->ranges[kept].row.last)) {
            extend(&s->ranges[kept], &range->row);
            s->ranges[kept].guessed = range->guessed;
        } else if (i > 0) {
            s->ranges[++kept] = *range;
        }
    }
    s->n = s->n ? kept + 1 : 0;
}

static int add_range(struct span *s, const struct item *item)
{
    int rc = end_fold(s);
    if (rc)
        return rc;
    struct span_range *ranges = array_room(s->ranges, s->n, &s->room, sizeof *ranges);
    if (!ranges)
        return error_nomem(s->error);
    s->ranges = ranges;
    s->ranges[s->n++] = (struct span_range){
        .row = item->row, .guessed = item->guessed, .closed = item->closed};
    return 0;
}

/* Joins it to the last range if it may. */
static int put_item(struct span *s, const struct item *item, bool joins)
{
    struct span_range *last = s->n ? &s->ranges[s->n - 1] : NULL;
    if (!joins || !last || is_named(s, last->row.last))
        return add_range(s, item);
    extend(last, &item->row);
    last->guessed = item->guessed;
    return 0;
}

static int fold_item(struct span *s, const struct item *item)
{
    struct cairn_error why = {0};
    int rc = s->in->kind->fold(s->fold, item->record, &why);
    return rc && rc != CAIRN_EDAMAGED ? error_set(s->error, rc, "%s", why.text) : rc;
}

static int add_full(struct span *s, const struct item *item)
{
    int rc = fold_item(s, item);
    if (rc)
        return rc;
    drop_changes(s);
    s->folding = false; /* of the range before */
    return put_item(s, item, true);
}

static int add_delta(struct span *s, const struct item *item)
{
    const struct span_range *last = s->n ? &s->ranges[s->n - 1] : NULL;
    bool joins = last && s->folding && !is_named(s, last->row.last) &&
                 digest_equal(&last->row.after, &item->row.before);
    int rc = joins ? fold_item(s, item) : CAIRN_EDAMAGED;
    if (rc == 0)
        return put_item(s, item, true);
    if (rc == CAIRN_EDAMAGED)
        rc = end_fold(s);
    return rc ?: fold_item(s, item) ?: put_item(s, item, false);
}

/* With a change. CAIRN_EDAMAGED: it turned out to have none. */
static int add_change(struct span *s, const struct item *item)
{
    int rc = may_fold(s, item);
    if (rc)
        return rc;
    rc = item->record->header.kind == RECORD_FULL ? add_full(s, item)
                                                  : add_delta(s, item);
    if (rc)
        return rc;
    s->folding = true;
    s->ranges[s->n - 1].position = item->record->header.position;
    return 0;
}

static int add_bare(struct span *s, const struct item *item)
{
    const struct span_range *last = s->n ? &s->ranges[s->n - 1] : NULL;
    bool changes = last && (s->folding || last->change.size || last->closed);
    return put_item(s, item, !changes && !item->closed);
}

/* Only in a damaged store: it lies in a range that is recorded as deleted. */
static int absorb(struct span_range *range, const struct item *item)
{
    struct tombstone_row *row = &range->row;
    if (row->id && item->row.last <= row->last)
        return 0;
    row->id = 0;
    row->count += item->row.count;
    if (item->row.last > row->last) {
        row->last = item->row.last;
        row->after = item->row.after;
    }
    return 0;
}

static int add_item(struct span *s, struct item *item)
{
    struct span_range *last = s->n ? &s->ranges[s->n - 1] : NULL;
    if (last && last->guessed && item->linked &&
        (item->row.id || item->parent == last->row.last))
        last->row.after = item->row.before;
    if (!item->linked)
        item->row.before = last ? last->row.after : s->start;
    if (last && last->row.last >= item->row.first)
        return absorb(last, item);
    int rc = item->record ? add_change(s, item) : CAIRN_EDAMAGED;
    return rc == CAIRN_EDAMAGED ? add_bare(s, item) : rc;
}

/* ---- Items ---- */

static bool is_needed(const struct span *s, uint64_t seq)
{
    return s->needed && seq >= s->from;
}

static int take_change(void *context, const struct tombstone_row *row,
                       const struct sound_record *record)
{
    struct span *s = context;
    struct item item = {.row = *row, .linked = true, .record = record};
    item.row.change = (struct str){NULL, 0};
    s->reached = true;
    if (row->keyed && !store_key(s->in->store)) {
        item.closed = true; /* joined, it would lose its HMAC */
        item.record = NULL;
    }
    return add_item(s, &item);
}

static int add_tombstone(struct span *s, const struct tombstone_row *t)
{
    struct item item = {.row = *t, .linked = true};
    struct cairn_error why = {0};
    if (t->change_bytes == 0)
        return add_item(s, &item);
    if (is_needed(s, t->last)) {
        s->reached = false;
        int rc = change_read(s->in->store, t, take_change, s, &why);
        if (s->reached || rc == 0)
            return rc;
        if (rc != CAIRN_EDAMAGED)
            return error_set(s->error, rc, "%s", why.text);
        item.closed = true;
        return add_item(s, &item);
    }
    item.row.id = 0; /* it becomes one without a change */
    return add_item(s, &item);
}

static int pass_tombstones(struct span *s, uint64_t until)
{
    int rc = 0;
    for (; s->passed < s->old.n && rc == 0; s->passed++) {
        const struct tombstone_row *t = &s->old.at[s->passed];
        if (until && t->first > until)
            break;
        if (t->first > s->before)
            rc = add_tombstone(s, t);
    }
    return rc;
}

/* With a key: the run may have been recorded without one, or with another. What is
 * needed of it must not go as if it were damaged. */
static int refuse_forged(struct span *s, const struct checkpoint_row *row)
{
    struct sound_record checked;
    if (s->forged || !row->key || !is_needed(s, row->seq) ||
        row_check_bytes(row, s->in->sha, &checked, NULL))
        return 0;
    return refuse(s, error_set(&s->why, CAIRN_EUSAGE,
                               "its HMAC is not of this key, or it has none"));
}

static int add_row(void *context, const struct checkpoint_row *row)
{
    struct span *s = context;
    struct sound_record checked;
    struct item item = {.row = {.namespace_id = row->namespace_id,
                                .stream = row->stream,
                                .first = row->seq,
                                .last = row->seq,
                                .count = 1,
                                .time_ns = clock_utc_ns()}};
    int rc = pass_tombstones(s, row->seq);
    if (rc)
        return rc;
    item.guessed = row_check(row, s->in->sha, &checked, NULL) != 0;
    if (item.guessed) {
        item.row.after = row_digest(row, s->in->sha);
        return refuse_forged(s, row) ?: add_item(s, &item);
    }
    item.linked = true;
    item.parent = row->parent;
    item.row.before = checked.header.parent;
    item.row.after = checked.digest;
    item.record = is_needed(s, row->seq) ? &checked : NULL;
    return add_item(s, &item);
}

/* ---- The calls ---- */

int span_plan(struct span *span)
{
    struct checkpoint_range range = inside(span);
    assert_chains(span->in);
    assert(span->n == 0 && !span->fold);
    int rc = look_around(span)
             ?: store_each_checkpoint(span->in->store, &range, add_row, span,
                                      span->error)
             ?: pass_tombstones(span, span->next)
             ?: end_fold(span);
    if (rc || span->n == 0)
        return span->refused ? 0 : rc;
    struct span_range *last = &span->ranges[span->n - 1];
    if (last->guessed && span->parent.seq == last->row.last)
        last->row.after = span->parent.digest;
    return 0;
}

/* One with the number 0, which a damaged page may give it, is written anew. */
static bool stays(const struct span *s, uint64_t id)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->ranges[i].row.id == id)
            return id != 0;
    return false;
}

int span_delete(struct span *span)
{
    struct cairn_store *store = span->in->store;
    struct checkpoint_range range = inside(span);
    uint64_t count, bytes;
    assert(!span->refused && !span->folding);
    int rc = store_delete_checkpoints(store, range.namespace_id, span->stream,
                                      range.first, range.last ? range.last : INT64_MAX,
                                      &count, &bytes, span->error);
    for (size_t i = 0; i < span->passed && rc == 0; i++) {
        const struct tombstone_row *t = &span->old.at[i];
        if (t->first > span->before && !stays(span, t->id))
            rc = store_delete_tombstone(store, t->id, span->error);
    }
    for (size_t i = 0; i < span->n && rc == 0; i++) {
        struct tombstone_row *row = &span->ranges[i].row;
        if (row->id)
            continue;
        row->change = buf_view(&span->ranges[i].change);
        rc = store_put_tombstone(store, row, span->error);
    }
    return rc;
}
