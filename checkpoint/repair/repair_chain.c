/* SPDX-License-Identifier: MIT */
/* The records of a repaired store: those that are kept, their parents, and the gaps. */
#include "checkpoint/repair/repair_int.h"

#include "base/clock.h"
#include "base/memory.h"
#include "storage/rows_checkpoint.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* How a repair reports what is lost, and its list of lost records. */

void repair_report_loss(struct repair *r, const struct cairn_loss *loss,
                        const char *format, ...)
{
    char text[512];
    struct cairn_loss report = *loss;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report.text = text;
    assert(!loss->text);
    r->result.lost++;
    if (r->options->each && !r->stop &&
        r->options->each(r->options->context, &report) != 0)
        r->stop = true;
}

const char *repair_stream_noun(const struct repair *r, uint8_t namespace_id)
{
    const struct payload_kind *kind = kind_of(r->options->kinds, namespace_id);
    return kind ? kind->stream_noun : "stream";
}

int repair_add_lost(struct repair *r, const struct known_record *record)
{
    struct known_record *lost =
        array_room(r->lost, r->n_lost, &r->lost_room, sizeof *lost);
    assert(r->n_lost <= r->lost_room);
    assert(r->lost_seqs.n == 0); /* the list is not complete yet */
    if (!lost)
        return error_nomem(r->error);
    r->lost = lost;
    r->lost[r->n_lost++] = *record;
    return 0;
}

/* Copies records of the damaged store into the new one. A record is kept if its bytes
 * match the SHA-256 in its row; the columns that repeat its header are made from it. */

/* Sets the columns that repeat the header. The parent's seq is only in its column;
 * where that cannot be right, any will do until the parents are corrected. */
static void correct_columns(struct checkpoint_row *row, const struct record_header *h,
                            bool root)
{
    bool moved = row->seq != h->seq;
    assert(h->seq > 0 && h->position > 0);
    row->seq = h->seq;
    row->namespace_id = h->namespace_id;
    row->stream = h->stream;
    row->kind = h->kind;
    row->time_ns = h->time_ns;
    if (root)
        row->parent = 0;
    else if (moved || row->parent == 0 || row->parent >= h->seq)
        row->parent = h->seq - 1;
}

struct record_source {
    struct repair *repair;
    bool stray; /* not in the tables: from pages out of use, or bytes without a row */
};

/* Of an unknown kind only the bytes can be checked. */
static int check_payload(const struct repair *r, const struct sound_record *record)
{
    const struct payload_kind *kind =
        kind_of(r->options->kinds, record->header.namespace_id);
    struct payload_check check = {0};
    return kind ? kind->check(record, &check, NULL) : 0;
}

/* Deleted on purpose, but still on a page that is out of use, or that was until pages
 * changed places. */
static bool is_deleted(const struct repair *r, const struct checkpoint_row *row)
{
    return tombstones_in(&r->deleted, row->namespace_id, row->stream, row->seq) != NULL;
}

static bool is_namespace(uint8_t id)
{
    return id == NAMESPACE_WORKFLOW || id == NAMESPACE_DEBUG;
}

/* Either its namespace column or its header may be damaged; repair_find_losses decides
 * between them. */
static int note_bad(struct repair *r, const struct checkpoint_row *row)
{
    uint8_t column = row->namespace_id;
    uint8_t header = record_peek(row->record).namespace_id;
    if (!is_namespace(header))
        header = is_namespace(column) ? column : (uint8_t)NAMESPACE_WORKFLOW;
    if (!is_namespace(column))
        column = header;
    struct known_record lost = {.seq = row->seq,
                                .namespace_id = column,
                                .other_namespace = header == column ? 0 : header,
                                .stream = row->stream};
    if (row->digest.len == DIGEST_SIZE)
        memcpy(lost.digest.bytes, row->digest.ptr, DIGEST_SIZE);
    return repair_add_lost(r, &lost);
}

static int take_record(void *context, const struct checkpoint_row *found)
{
    struct record_source *t = context;
    struct repair *r = t->repair;
    struct checkpoint_row row = *found;
    struct sound_record record = {.bytes = row.record.len};
    int rc = record_decode(row.record, row.digest, r->sha, &record.header,
                           &record.payload, NULL);
    if (!rc) {
        memcpy(record.digest.bytes, row.digest.ptr, DIGEST_SIZE);
        rc = check_payload(r, &record);
    }
    if (rc == CAIRN_ENOMEM)
        return error_nomem(r->error);
    if (rc)
        return t->stray ? 0 : note_bad(r, found);
    bool root = digest_is_none(&record.header.parent);
    correct_columns(&row, &record.header, root);
    if (!root && !row.parent) /* seq 1 has no older one */
        return note_bad(r, &row);
    if (is_deleted(r, &row))
        return 0;
    assert(row.parent < row.seq);
    rc = rescue_put_checkpoint(r->rescue, &row, r->error);
    r->result.checkpoints += rc > 0;
    return rc < 0 ? rc : 0;
}

/* The size of a record that begins at `head`, by its header. 0 for those that are saved
 * already: most are. */
static size_t size_of_record(void *context, const char *head)
{
    const struct record_source *t = context;
    struct record_header header = record_peek((struct str){head, RECORD_HEADER_BYTES});
    if (store_get_checkpoint(t->repair->store, header.seq, NULL, NULL, NULL) == 0)
        return 0;
    return (size_t)RECORD_HEADER_BYTES + header.payload_bytes +
           (header.flags & RECORD_KEYED ? RECORD_HMAC_BYTES : 0);
}

int repair_take_records(struct repair *r)
{
    static const char mark[] = {'C', 'R', 'N', 1};
    struct record_source t = {.repair = r};
    assert(r->n_links == 0 && r->deleted.n == 0);
    int rc = tombstones_load_all(r->store, &r->deleted, r->error)
                 ?: rescue_each_checkpoint(r->rescue, false, take_record, &t, r->error);
    t.stray = true;
    return rc
           ?: rescue_each_checkpoint(r->rescue, true, take_record, &t, r->error)
           ?: rescue_each_record(r->rescue, (struct str){mark, sizeof mark},
                                 RECORD_HEADER_BYTES, size_of_record, take_record, &t,
                                 r->error);
}

/* Of those with the same seq, one whose SHA-256 is known comes first. */
static int by_seq(const void *a, const void *b)
{
    const struct known_record *x = a, *y = b;
    int order = (x->seq > y->seq) - (x->seq < y->seq);
    return order ?: memcmp(y->digest.bytes, x->digest.bytes, DIGEST_SIZE);
}

static int see_stream(void *context, const struct checkpoint_row *row)
{
    const struct known_record *lost = context;
    return lost->stream && lost->stream != row->stream ? CAIRN_EAMBIGUOUS : 0;
}

/* A record that was found elsewhere (rows that had changed places) is not lost, unless
 * the one with its seq is of another stream: then the seq was used again. */
int repair_forget_found(struct repair *r)
{
    size_t kept = 0;
    assert(r->lost_seqs.n == 0);
    if (r->n_lost)
        qsort(r->lost, r->n_lost, sizeof *r->lost, by_seq);
    for (size_t i = 0; i < r->n_lost; i++) {
        uint64_t seq = r->lost[i].seq;
        if (kept && r->lost[kept - 1].seq == seq)
            continue;
        int rc = store_get_checkpoint(r->store, seq, see_stream, &r->lost[i], r->error);
        if (rc && rc != CAIRN_ENOTFOUND && rc != CAIRN_EAMBIGUOUS)
            return rc;
        if (!rc)
            continue;
        r->lost[kept++] = r->lost[i];
        if (seqs_add(&r->lost_seqs, seq))
            return error_nomem(r->error);
    }
    assert(kept == r->lost_seqs.n && kept <= r->n_lost);
    r->n_lost = kept;
    return 0;
}

/* The seqs of parents. A record holds the SHA-256 of its parent; the parent's seq is in
 * a column that no hash covers. A wrong seq is corrected by that digest, which is the
 * digest of a record or of the end of a deleted range. If it is neither, the parent is
 * lost, and its tombstone (repair_chain.c) may have any seq without a record that is
 * newer than the record before this one. */

struct parent_end { /* what may be a parent: a record, or the end of a deleted range */
    struct digest digest;
    uint64_t seq;
};

struct parent_list { /* by digest, then seq */
    struct parent_end *at;
    size_t n;
};

/* ---- Loading ---- */

/* 0: it needs none, or its kind is unknown. */
static uint64_t base_of(const struct repair *r, const struct sound_record *record)
{
    const struct payload_kind *kind =
        kind_of(r->options->kinds, record->header.namespace_id);
    struct payload_check check = {0};
    if (record->header.kind != RECORD_DELTA || !kind ||
        kind->check(record, &check, NULL))
        return 0;
    return check.base;
}

static int note_link(void *context, const struct checkpoint_row *row)
{
    struct repair *r = context;
    struct sound_record checked;
    int rc = row_check(row, r->sha, &checked, r->error);
    if (rc)
        return rc;
    struct chain_link *links =
        array_room(r->links, r->n_links, &r->link_room, sizeof *links);
    if (!links)
        return error_nomem(r->error);
    r->links = links;
    r->links[r->n_links++] =
        (struct chain_link){.record = {.seq = row->seq,
                                       .namespace_id = row->namespace_id,
                                       .stream = row->stream,
                                       .digest = checked.digest},
                            .position = checked.header.position,
                            .parent = row->parent,
                            .base = base_of(r, &checked),
                            .parent_digest = checked.header.parent};
    return 0;
}

/* ---- Searching ---- */

/* How many records have numbers below `seq`. */
static size_t count_below(const struct repair *r, uint64_t seq)
{
    size_t from = 0, to = r->n_links;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (r->links[middle].record.seq < seq)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static const struct chain_link *find_link(const struct repair *r, uint64_t seq)
{
    size_t i = count_below(r, seq);
    bool there =
        i < r->n_links && r->links[i].record.seq == seq && !r->links[i].dropped;
    return there ? &r->links[i] : NULL;
}

static int by_digest(const void *a, const void *b)
{
    const struct parent_end *x = a, *y = b;
    int order = memcmp(x->digest.bytes, y->digest.bytes, DIGEST_SIZE);
    return order ? order : (x->seq > y->seq) - (x->seq < y->seq);
}

static int sort_ends(const struct repair *r, struct parent_list *ends)
{
    ends->at = malloc((r->n_links + r->deleted.n) * sizeof *ends->at);
    if (!ends->at)
        return error_nomem(r->error);
    for (size_t i = 0; i < r->n_links; i++)
        ends->at[ends->n++] =
            (struct parent_end){r->links[i].record.digest, r->links[i].record.seq};
    for (size_t i = 0; i < r->deleted.n; i++)
        ends->at[ends->n++] =
            (struct parent_end){r->deleted.at[i].after, r->deleted.at[i].last};
    assert(ends->n == r->n_links + r->deleted.n);
    qsort(ends->at, ends->n, sizeof *ends->at, by_digest);
    return 0;
}

/* The newest one with the digest of the link's parent, 0: it is lost. */
static uint64_t find_end(const struct parent_list *ends, const struct chain_link *link)
{
    const struct parent_end wanted = {link->parent_digest, link->record.seq};
    size_t from = 0, to = ends->n;
    assert(ends->at);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (by_digest(&ends->at[middle], &wanted) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    bool same = from && digest_equal(&ends->at[from - 1].digest, &wanted.digest);
    return same ? ends->at[from - 1].seq : 0;
}

/* Of the record before in the stream, 0: it is the first. */
static uint64_t seq_before(const struct repair *r, const struct chain_link *link)
{
    assert(link >= r->links && link < r->links + r->n_links);
    for (const struct chain_link *l = link; l > r->links;) {
        l--;
        if (l->record.stream == link->record.stream && !l->dropped &&
            l->record.namespace_id == link->record.namespace_id)
            return l->record.seq;
    }
    return 0;
}

/* A seq for a lost parent: not less than that of the full record, and greater than that
 * of the record before in the stream. 0: none is free. */
static uint64_t seq_for_lost(const struct repair *r, const struct chain_link *link)
{
    uint64_t before = seq_before(r, link), seq = link->parent;
    uint64_t least = link->base > before ? link->base : before + 1;
    if (seq >= least && !find_link(r, seq))
        return seq;
    for (seq = link->record.seq - 1; find_link(r, seq);)
        seq--;
    return seq >= least ? seq : 0;
}

/* ---- Correcting ---- */

/* No seq is free for its lost parent. */
static int drop_record(struct repair *r, struct chain_link *link)
{
    const struct known_record *record = &link->record;
    uint64_t count, bytes;
    assert(!link->dropped);
    int rc =
        store_delete_checkpoints(r->store, record->namespace_id, record->stream,
                                 record->seq, record->seq, &count, &bytes, r->error);
    assert(r->result.checkpoints > 0);
    r->result.checkpoints--;
    link->dropped = true;
    return rc ?: repair_add_lost(r, record);
}

static int correct_parent(struct repair *r, struct parent_list *ends,
                          struct chain_link *link)
{
    const struct chain_link *named = find_link(r, link->parent);
    assert(!link->dropped);
    if (digest_is_none(&link->parent_digest) ||
        (named && digest_equal(&named->record.digest, &link->parent_digest)))
        return 0;
    int rc = ends->at ? 0 : sort_ends(r, ends);
    if (rc)
        return rc;
    uint64_t seq = find_end(ends, link);
    if (!seq)
        seq = seq_for_lost(r, link);
    if (!seq)
        return drop_record(r, link);
    assert(seq < link->record.seq);
    if (seq == link->parent)
        return 0;
    link->parent = seq;
    return rescue_set_parent(r->rescue, link->record.seq, seq, r->error);
}

static void remove_dropped(struct repair *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->n_links; i++)
        if (!r->links[i].dropped)
            r->links[kept++] = r->links[i];
    r->n_links = kept;
}

int repair_parents(struct repair *r)
{
    struct checkpoint_range all = {0};
    struct parent_list ends = {0};
    assert(r->n_links == 0);
    int rc = store_each_checkpoint(r->store, &all, note_link, r, r->error);
    for (size_t i = 0; i < r->n_links && rc == 0; i++)
        rc = correct_parent(r, &ends, &r->links[i]);
    remove_dropped(r);
    free(ends.at);
    return rc;
}

/* The chains of a repaired store. Records cannot be changed, so each gap gets a
 * tombstone. It ends with the lost record that the next one names as its parent, whose
 * digest that next record holds. So the chain verifies across the gap as across a
 * deleted range. */

struct gap_notes {
    struct repair *repair;
    struct seq_set seqs;     /* of all records, ascending */
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
    return rc ?: end_gap(c, &gap);
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
    return rc ?: note_lost_tails(c);
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
