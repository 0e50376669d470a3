/* SPDX-License-Identifier: MIT */
/* The seqs of parents. A record holds the SHA-256 of its parent; the parent's seq is in
 * a column that no hash covers. A wrong seq is corrected by that digest, which is the
 * digest of a record or of the end of a deleted range. If it is neither, the parent is
 * lost, and its tombstone (repair_chain.c) may have any seq without a record that is
 * newer than the record before this one. */
#include "checkpoint/repair/repair_int.h"

#include "base/array.h"
#include "storage/rows_checkpoint.h"

#include <assert.h>
#include <stdlib.h>

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
    return rc ? rc : repair_add_lost(r, record);
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
