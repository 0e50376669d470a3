/* The chains of a repaired store. Nothing in a record can be changed, so a gap is
 * described from outside, by a tombstone: it ends with the lost record that the next
 * one names as its parent, whose digest stands in that next record. So the chain is
 * verified across the gap as across a deleted range. */
#include "checkpoint/repair_int.h"

#include "base/array.h"
#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>

struct link {
    struct known_record record; /* first, for by_place */
    uint64_t position;
    uint64_t parent; /* column */
    uint64_t base;   /* full record of a delta, 0: it is one */
    struct digest parent_digest;
};

struct chain {
    struct repair *repair;
    struct link *links;
    size_t n, room;
    struct seqs seqs;          /* of all records, ascending */
    struct tombstones deleted; /* ranges, noted before */
    struct tombstones notes;   /* to be added */
};

/* ---- Loading ---- */

uint64_t repair_base_of(const struct checked *checked)
{
    struct delta delta;
    if (checked->header.kind != RECORD_DELTA ||
        checked->header.namespace_id != NAMESPACE_WORKFLOW ||
        payload_parse_delta(checked->payload, &delta, NULL))
        return 0;
    uint64_t base = delta.base;
    delta_release(&delta);
    return base;
}

static int note_link(void *context, const struct checkpoint_row *row)
{
    struct chain *c = context;
    struct checked checked;
    int rc = row_check(row, c->repair->sha, &checked, c->repair->error);
    if (rc)
        return rc;
    struct link *links = array_room(c->links, c->n, &c->room, sizeof *links);
    if (!links)
        return error_nomem(c->repair->error);
    c->links = links;
    c->links[c->n++] = (struct link){.record = {.seq = row->seq,
                                                .namespace_id = row->namespace_id,
                                                .stream = row->stream,
                                                .digest = checked.digest},
                                     .position = checked.header.position,
                                     .parent = row->parent,
                                     .base = repair_base_of(&checked),
                                     .parent_digest = checked.header.parent};
    return seqs_add(&c->seqs, row->seq) ? error_nomem(c->repair->error) : 0;
}

/* Of what begins with a known_record. */
static int by_place(const void *a, const void *b)
{
    const struct known_record *x = a, *y = b;
    if (x->namespace_id != y->namespace_id)
        return x->namespace_id < y->namespace_id ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* ---- Gaps ---- */

static int add_note(struct chain *c, const struct tombstone_row *row)
{
    struct tombstone_row note = *row;
    note.time_ns = clock_utc_ns();
    return tombstones_add(&c->notes, &note) ? error_nomem(c->repair->error) : 0;
}

/* Whether there is the record that the link names as its parent. */
static bool has_parent(const struct chain *c, const struct link *link)
{
    return link->parent == 0 || seqs_has(&c->seqs, link->parent);
}

/* The note about what is missing between two records of a stream (`before` NULL: the
 * first one). Notes about deleted ranges that lie between them stay. */
static int bridge(struct chain *c, const struct link *before, const struct link *link)
{
    const struct tombstone_row *passed = NULL;
    uint64_t from = before ? before->record.seq : 0, counted = 0;
    uint64_t missing = link->position - (before ? before->position : 0) - 1;
    for (size_t i =
             tombstones_of(&c->deleted, link->record.namespace_id, link->record.stream);
         i < c->deleted.n && c->deleted.at[i].stream == link->record.stream &&
         c->deleted.at[i].namespace_id == link->record.namespace_id;
         i++) {
        if (c->deleted.at[i].first <= from || c->deleted.at[i].last >= link->record.seq)
            continue;
        passed = &c->deleted.at[i];
        counted += passed->count;
    }
    bool named =
        has_parent(c, link) || (passed && passed->last == link->parent &&
                                digest_equal(&passed->after, &link->parent_digest));
    if (named && missing <= counted)
        return 0;
    uint64_t end = named ? link->record.seq - 1 : link->parent;
    struct tombstone_row note = {.namespace_id = link->record.namespace_id,
                                 .stream = link->record.stream,
                                 .first = (passed ? passed->last : from) + 1,
                                 .last = end,
                                 .count = missing > counted ? missing - counted : 0,
                                 .after = link->parent_digest};
    if (!before && !passed)
        note.first = link->base && link->base < end ? link->base : end;
    if (note.first > end)
        note.first = end;
    if (passed)
        note.before = passed->after;
    else if (before)
        note.before = before->record.digest;
    return add_note(c, &note);
}

/* ---- Lost at the end ---- */

/* Behind the newest record of a stream, and behind the notes about deleted ones. */
static uint64_t end_of_stream(const struct chain *c, uint8_t namespace_id,
                              uint64_t stream, struct digest *digest)
{
    uint64_t end = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->links[i].record.namespace_id == namespace_id &&
            c->links[i].record.stream == stream && c->links[i].record.seq > end) {
            end = c->links[i].record.seq;
            *digest = c->links[i].record.digest;
        }
    for (size_t i = tombstones_of(&c->deleted, namespace_id, stream);
         i < c->deleted.n && c->deleted.at[i].stream == stream &&
         c->deleted.at[i].namespace_id == namespace_id;
         i++)
        if (c->deleted.at[i].last > end) {
            end = c->deleted.at[i].last;
            *digest = c->deleted.at[i].after;
        }
    return end;
}

static int close_tails(struct chain *c)
{
    const struct repair *r = c->repair;
    int rc = 0;
    for (size_t i = 0; i < r->n_lost && rc == 0;) {
        const struct known_record *first = &r->lost[i];
        struct tombstone_row note = {.namespace_id = first->namespace_id,
                                     .stream = first->stream};
        uint64_t end =
            end_of_stream(c, first->namespace_id, first->stream, &note.before);
        for (; i < r->n_lost && r->lost[i].stream == first->stream &&
               r->lost[i].namespace_id == first->namespace_id;
             i++) {
            if (r->lost[i].seq <= end)
                continue;
            note.first = note.first ? note.first : r->lost[i].seq;
            note.last = r->lost[i].seq;
            note.after = r->lost[i].digest;
            note.count++;
        }
        if (note.first)
            rc = add_note(c, &note);
    }
    return rc;
}

/* ---- The call ---- */

static int find_notes(struct chain *c)
{
    int rc = 0;
    if (c->n)
        qsort(c->links, c->n, sizeof *c->links, by_place);
    seqs_sort(&c->seqs);
    for (size_t i = 0; i < c->n && rc == 0; i++) {
        assert(c->links); /* since there are some */
        const struct link *link = &c->links[i];
        const struct link *before = i ? link - 1 : NULL;
        if (before && (before->record.stream != link->record.stream ||
                       before->record.namespace_id != link->record.namespace_id))
            before = NULL;
        rc = bridge(c, before, link);
    }
    if (c->repair->n_lost)
        qsort(c->repair->lost, c->repair->n_lost, sizeof *c->repair->lost, by_place);
    return rc ? rc : close_tails(c);
}

int repair_chains(struct repair *r)
{
    struct chain c = {.repair = r};
    struct checkpoint_range all = {0};
    int rc = store_each_checkpoint(r->store, &all, note_link, &c, r->error);
    if (rc >= 0)
        rc = tombstones_load(r->store, 0, &c.deleted, r->error);
    if (!rc)
        rc = find_notes(&c);
    for (size_t i = 0; i < c.notes.n && rc == 0; i++)
        rc = store_put_tombstone(r->store, &c.notes.at[i], r->error);
    free(c.links);
    seqs_release(&c.seqs);
    tombstones_release(&c.deleted);
    tombstones_release(&c.notes);
    return rc;
}
