/* SPDX-License-Identifier: MIT */
/* The chains of a repaired store. Records cannot be changed, so each gap gets a
 * tombstone. It ends with the lost record that the next one names as its parent, whose
 * digest that next record holds. So the chain verifies across the gap as across a
 * deleted range. */
#include "checkpoint/repair/repair_int.h"

#include "base/clock.h"
#include "storage/rows_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

struct gap_notes {
    struct repair *repair;
    struct seqs seqs;        /* of all records, ascending */
    struct tombstones notes; /* to be added */
};

/* For anything that begins with a known_record. */
static int by_stream(const void *a, const void *b)
{
    const struct known_record *x = a, *y = b;
    if (x->namespace_id != y->namespace_id)
        return x->namespace_id < y->namespace_id ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* ---- Gaps ---- */

static int add_note(struct gap_notes *c, const struct tombstone_row *row)
{
    struct tombstone_row note = *row;
    assert(note.first <= note.last);
    note.time_ns = clock_utc_ns();
    return tombstones_add(&c->notes, &note) ? error_nomem(c->repair->error) : 0;
}

/* Whether there is the record that the link names as its parent. */
static bool has_parent(const struct gap_notes *c, const struct chain_link *link)
{
    return link->parent == 0 || seqs_has(&c->seqs, link->parent);
}

/* What is between two records of a stream, from the first to the second. */
struct gap {
    const struct chain_link *before; /* NULL: `link` is the first */
    const struct chain_link *link;
    uint64_t at;                 /* all up to this seq is accounted for */
    const struct digest *digest; /* of that record; NULL: there is none */
    bool deleted;                /* it is the last of a deleted range */
    uint64_t missing;            /* records that no tombstone counts yet */
};

/* The next deleted range between them from a place in the list on, or NULL. */
static const struct tombstone_row *next_deleted(const struct tombstones *all,
                                                const struct gap *gap, size_t *place)
{
    const struct known_record *next = &gap->link->record;
    uint64_t from = gap->before ? gap->before->record.seq : 0;
    while (*place < all->n) {
        const struct tombstone_row *t = &all->at[(*place)++];
        if (t->namespace_id != next->namespace_id || t->stream != next->stream)
            break;
        if (t->first > from && t->last < next->seq)
            return t;
    }
    return NULL;
}

static void begin_gap(const struct gap_notes *c, const struct chain_link *before,
                      const struct chain_link *link, struct gap *gap)
{
    const struct tombstones *deleted = &c->repair->deleted;
    const struct tombstone_row *t;
    size_t place =
        tombstones_of(deleted, link->record.namespace_id, link->record.stream);
    uint64_t counted = 0;
    *gap = (struct gap){.before = before, .link = link};
    assert(!before || before->record.seq < link->record.seq);
    while ((t = next_deleted(deleted, gap, &place)))
        counted += t->count;
    gap->missing = link->position - (before ? before->position : 0) - 1;
    gap->missing -= counted < gap->missing ? counted : gap->missing;
    if (before) {
        gap->at = before->record.seq;
        gap->digest = &before->record.digest;
    }
}

/* The lost records of the stream between here and a deleted range. */
static uint64_t lost_before(const struct gap_notes *c, const struct gap *gap,
                            const struct tombstone_row *t)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->repair->n_lost; i++) {
        const struct known_record *lost = &c->repair->lost[i];
        n += lost->namespace_id == t->namespace_id && lost->stream == t->stream &&
             lost->seq > gap->at && lost->seq < t->first;
    }
    return n < gap->missing ? n : gap->missing;
}

/* Goes on to the end of a deleted range. What was lost before it gets a tombstone that
 * ends with the record that the range names. */
static int pass_deleted(struct gap_notes *c, struct gap *gap,
                        const struct tombstone_row *t)
{
    struct tombstone_row note = {.namespace_id = t->namespace_id,
                                 .stream = t->stream,
                                 .first = gap->at + 1,
                                 .last = t->first - 1,
                                 .after = t->before};
    bool fits = !gap->digest || digest_equal(&t->before, gap->digest);
    int rc = 0;
    if (!fits && note.first <= note.last) {
        note.before = *gap->digest;
        note.count = lost_before(c, gap, t);
        gap->missing -= note.count;
        rc = add_note(c, &note);
    }
    gap->at = t->last;
    gap->digest = &t->after;
    gap->deleted = true;
    return rc;
}

/* Of which neither a number nor a row was found to be missing: a deleted range of
 * another stream has their numbers among its own. Numbers of which nothing is left may
 * be of any stream. */
static void report_unnamed(const struct gap_notes *c, const struct gap *gap)
{
    struct repair *r = c->repair;
    const struct known_record *next = &gap->link->record;
    uint64_t from = gap->before ? gap->before->record.seq : 0, named = 0;
    for (size_t i = 0; i < r->n_lost; i++)
        named += r->lost[i].namespace_id == next->namespace_id &&
                 r->lost[i].stream == next->stream && r->lost[i].seq > from &&
                 r->lost[i].seq < next->seq;
    for (size_t i = 0; i < r->gone_seqs.n; i++)
        named += r->gone_seqs.at[i] > from && r->gone_seqs.at[i] < next->seq;
    uint64_t n = gap->missing > named ? gap->missing - named : 0;
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_CHECKPOINT};
    if (!n)
        return;
    repair_report_loss(r, &loss, "%llu checkpoint%s of %s %llu before checkpoint %llu",
                       (unsigned long long)n, n == 1 ? "" : "s",
                       repair_stream_noun(r, next->namespace_id),
                       (unsigned long long)next->stream, (unsigned long long)next->seq);
}

/* What was lost right before the second record. */
static int end_gap(struct gap_notes *c, const struct gap *gap)
{
    const struct chain_link *link = gap->link;
    bool named =
        has_parent(c, link) || (gap->deleted && gap->at == link->parent &&
                                digest_equal(gap->digest, &link->parent_digest));
    if (named && !gap->missing)
        return 0;
    uint64_t end = named ? link->record.seq - 1 : link->parent;
    struct tombstone_row note = {.namespace_id = link->record.namespace_id,
                                 .stream = link->record.stream,
                                 .first = gap->at + 1,
                                 .last = end,
                                 .count = gap->missing,
                                 .after = link->parent_digest};
    if (!gap->digest)
        note.first = link->base && link->base < end ? link->base : end;
    else
        note.before = *gap->digest;
    if (note.first > end)
        note.first = end;
    return add_note(c, &note);
}

/* Adds tombstones for what is missing between two records of a stream. Those of deleted
 * ranges between them are kept. */
static int bridge_gap(struct gap_notes *c, const struct chain_link *before,
                      const struct chain_link *link)
{
    const struct tombstones *deleted = &c->repair->deleted;
    const struct tombstone_row *t;
    size_t place =
        tombstones_of(deleted, link->record.namespace_id, link->record.stream);
    struct gap gap;
    int rc = 0;
    begin_gap(c, before, link, &gap);
    if (gap.missing)
        report_unnamed(c, &gap);
    while (!rc && (t = next_deleted(deleted, &gap, &place)))
        rc = pass_deleted(c, &gap, t);
    return rc ? rc : end_gap(c, &gap);
}

/* ---- Lost at the end ---- */

/* The seq and digest with which a stream ends: of its newest record, or of a newer
 * tombstone. 0: it has neither. */
static uint64_t end_of_stream(const struct gap_notes *c, uint8_t namespace_id,
                              uint64_t stream, struct digest *digest)
{
    uint64_t end = 0;
    for (size_t i = 0; i < c->repair->n_links; i++) {
        const struct known_record *record = &c->repair->links[i].record;
        if (record->namespace_id == namespace_id && record->stream == stream &&
            record->seq > end) {
            end = record->seq;
            *digest = record->digest;
        }
    }
    for (size_t i = tombstones_of(&c->repair->deleted, namespace_id, stream);
         i < c->repair->deleted.n && c->repair->deleted.at[i].stream == stream &&
         c->repair->deleted.at[i].namespace_id == namespace_id;
         i++)
        if (c->repair->deleted.at[i].last > end) {
            end = c->repair->deleted.at[i].last;
            *digest = c->repair->deleted.at[i].after;
        }
    return end;
}

static int note_lost_tails(struct gap_notes *c)
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
        assert((note.first > 0) == (note.count > 0));
        if (note.first)
            rc = add_note(c, &note);
    }
    return rc;
}

/* ---- The call ---- */

static int find_notes(struct gap_notes *c)
{
    struct repair *r = c->repair;
    int rc = 0;
    assert(r->n_lost == r->lost_seqs.n);
    for (size_t i = 0; i < r->n_links; i++)
        if (seqs_add(&c->seqs, r->links[i].record.seq))
            return error_nomem(r->error);
    seqs_sort(&c->seqs);
    if (r->n_links)
        qsort(r->links, r->n_links, sizeof *r->links, by_stream);
    for (size_t i = 0; i < r->n_links && rc == 0; i++) {
        assert(r->links);
        const struct chain_link *link = &r->links[i];
        const struct chain_link *before = i ? link - 1 : NULL;
        if (before && (before->record.stream != link->record.stream ||
                       before->record.namespace_id != link->record.namespace_id))
            before = NULL;
        rc = bridge_gap(c, before, link);
    }
    if (r->n_lost)
        qsort(r->lost, r->n_lost, sizeof *r->lost, by_stream);
    return rc ? rc : note_lost_tails(c);
}

int repair_chains(struct repair *r)
{
    struct gap_notes c = {.repair = r};
    int rc = find_notes(&c);
    for (size_t i = 0; i < c.notes.n && rc == 0; i++)
        rc = store_put_tombstone(r->store, &c.notes.at[i], r->error);
    seqs_release(&c.seqs);
    tombstones_release(&c.notes);
    return rc;
}
