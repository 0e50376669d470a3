/* The numbers of parents. A record holds the SHA-256 of its parent; which number that
 * has stands in a column that no hash covers. A wrong one is put right from the digest:
 * it is that of a record, or of the end of a deleted range. If it is neither, the
 * parent is lost itself, and any number without a record will do for the note about it
 * (repair_chain.c), as long as it lies behind the record before this one. */
#include "checkpoint/repair_int.h"

#include "base/array.h"

#include <stdlib.h>

struct child {
    struct known_record record;
    uint64_t parent; /* column */
    struct digest parent_digest;
    bool dropped;
};

struct end { /* of what may be a parent */
    struct digest digest;
    uint64_t seq;
};

struct lost_parent {
    struct repair *repair;
    uint64_t least; /* number */
};

struct parents {
    struct repair *repair;
    struct child *at; /* by seq */
    size_t n, room;
    struct tombstones deleted;
    struct end *ends; /* by digest, then seq; NULL until one is looked for */
    size_t n_ends;
};

static int note_child(void *context, const struct checkpoint_row *row)
{
    struct parents *p = context;
    struct child *at = array_room(p->at, p->n, &p->room, sizeof *at);
    if (!at)
        return error_nomem(p->repair->error);
    p->at = at;
    struct child *child = &at[p->n++];
    *child = (struct child){.record = {.seq = row->seq,
                                       .namespace_id = row->namespace_id,
                                       .stream = row->stream},
                            .parent = row->parent,
                            .parent_digest = record_peek(row->record).parent};
    memcpy(child->record.digest.bytes, row->digest.ptr, DIGEST_SIZE);
    return 0;
}

/* How many records have numbers below `seq`. */
static size_t count_below(const struct parents *p, uint64_t seq)
{
    size_t from = 0, to = p->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (p->at[middle].record.seq < seq)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static const struct child *find(const struct parents *p, uint64_t seq)
{
    size_t i = count_below(p, seq);
    bool there = i < p->n && p->at[i].record.seq == seq && !p->at[i].dropped;
    return there ? &p->at[i] : NULL;
}

static int by_digest(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    int order = memcmp(x->digest.bytes, y->digest.bytes, DIGEST_SIZE);
    return order ? order : (x->seq > y->seq) - (x->seq < y->seq);
}

static int sort_ends(struct parents *p)
{
    p->ends = malloc((p->n + p->deleted.n) * sizeof *p->ends);
    if (!p->ends)
        return error_nomem(p->repair->error);
    for (size_t i = 0; i < p->n; i++)
        p->ends[p->n_ends++] =
            (struct end){p->at[i].record.digest, p->at[i].record.seq};
    for (size_t i = 0; i < p->deleted.n; i++)
        p->ends[p->n_ends++] =
            (struct end){p->deleted.at[i].after, p->deleted.at[i].last};
    qsort(p->ends, p->n_ends, sizeof *p->ends, by_digest);
    return 0;
}

/* The newest one with the digest of the child's parent, 0: it is lost. */
static uint64_t find_end(const struct parents *p, const struct child *child)
{
    const struct end wanted = {child->parent_digest, child->record.seq};
    size_t from = 0, to = p->n_ends;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (by_digest(&p->ends[middle], &wanted) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    bool same = from && digest_equal(&p->ends[from - 1].digest, &wanted.digest);
    return same ? p->ends[from - 1].seq : 0;
}

static int see_base(void *context, const struct checkpoint_row *row)
{
    struct lost_parent *lost = context;
    struct checked checked;
    int rc = row_check_bytes(row, lost->repair->sha, &checked, lost->repair->error);
    if (!rc)
        lost->least = repair_base_of(&checked);
    return rc;
}

/* Of the record before in the stream, 0: it is the first. */
static uint64_t number_before(const struct parents *p, const struct child *child)
{
    for (const struct child *c = child; c > p->at;) {
        c--;
        if (c->record.stream == child->record.stream && !c->dropped &&
            c->record.namespace_id == child->record.namespace_id)
            return c->record.seq;
    }
    return 0;
}

/* A number for a lost parent: not less than that of the full record, and behind the
 * record before in the stream. *seq 0: none is free. */
static int number_lost(const struct parents *p, const struct child *child,
                       uint64_t *seq)
{
    struct lost_parent lost = {.repair = p->repair};
    uint64_t before = number_before(p, child);
    int rc = store_get_checkpoint(p->repair->store, child->record.seq, see_base, &lost,
                                  p->repair->error);
    if (lost.least <= before)
        lost.least = before + 1;
    *seq = child->parent;
    if (*seq >= lost.least && !find(p, *seq))
        return rc;
    *seq = child->record.seq - 1;
    while (find(p, *seq))
        --*seq;
    if (*seq < lost.least)
        *seq = 0;
    return rc;
}

/* Another record has its parent's number by now. */
static int drop(struct parents *p, struct child *child)
{
    const struct known_record *record = &child->record;
    struct repair *r = p->repair;
    uint64_t count, bytes;
    int rc =
        store_delete_checkpoints(r->store, record->namespace_id, record->stream,
                                 record->seq, record->seq, &count, &bytes, r->error);
    r->result.checkpoints--;
    child->dropped = true;
    return rc ? rc : repair_lose(r, record);
}

static int mend(struct parents *p, struct child *child)
{
    static const struct digest none;
    const struct child *named = find(p, child->parent);
    if (digest_equal(&child->parent_digest, &none) ||
        (named && digest_equal(&named->record.digest, &child->parent_digest)))
        return 0;
    int rc = p->ends ? 0 : sort_ends(p);
    if (rc)
        return rc;
    uint64_t seq = find_end(p, child);
    if (!seq)
        rc = number_lost(p, child, &seq);
    if (rc || seq == child->parent)
        return rc;
    if (!seq)
        return drop(p, child);
    return rescue_set_parent(p->repair->rescue, child->record.seq, seq,
                             p->repair->error);
}

int repair_parents(struct repair *r)
{
    struct parents p = {.repair = r};
    struct checkpoint_range all = {0};
    int rc = store_each_checkpoint(r->store, &all, note_child, &p, r->error);
    if (rc >= 0)
        rc = tombstones_load(r->store, 0, &p.deleted, r->error);
    for (size_t i = 0; i < p.n && rc == 0; i++)
        rc = mend(&p, &p.at[i]);
    free(p.at);
    free(p.ends);
    tombstones_release(&p.deleted);
    return rc;
}
