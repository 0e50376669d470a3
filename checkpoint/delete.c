/* SPDX-License-Identifier: MIT */
/* cairn_checkpoint_delete: one record that no other needs. A damaged one may always be
 * deleted. */
#include "checkpoint/find.h"
#include "checkpoint/outcomes.h"
#include "checkpoint/retain.h"
#include "checkpoint/tombstones_int.h"

#include "base/clock.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>

struct deletion {
    const struct chains *in;
    uint64_t seq, stream;
    bool sound;
    struct digest digest, before; /* of the record; of its parent */
    struct cairn_error *error;
};

/* A neighbour in the stream. */
struct neighbour {
    struct deletion *deletion;
    uint64_t seq; /* 0: none */
    bool full;
    bool sound;
    struct digest digest, parent;
    uint64_t parent_seq;
};

static int see_neighbour(void *context, const struct checkpoint_row *row)
{
    struct neighbour *n = context;
    struct sound_record checked;
    assert(n->seq == 0); /* found, it ends the search */
    if (row->seq == n->deletion->seq)
        return 0;
    n->seq = row->seq;
    n->full = row->kind == RECORD_FULL;
    n->sound = row_check(row, n->deletion->in->sha, &checked, NULL) == 0;
    n->digest = row_digest(row, n->deletion->in->sha);
    n->parent_seq = row->parent;
    if (n->sound)
        n->parent = checked.header.parent;
    return 1;
}

static int next_of(struct deletion *d, struct neighbour *next)
{
    struct checkpoint_range range = {.namespace_id = d->in->kind->namespace_id,
                                     .stream = d->stream,
                                     .first = d->seq,
                                     .limit = 2};
    assert(d->seq > 0);
    *next = (struct neighbour){.deletion = d};
    int rc = store_each_checkpoint(d->in->store, &range, see_neighbour, next, d->error);
    return rc < 0 ? rc : 0;
}

static int before_of(struct deletion *d, struct neighbour *before)
{
    struct checkpoint_range range = {.namespace_id = d->in->kind->namespace_id,
                                     .stream = d->stream,
                                     .last = d->seq,
                                     .descending = true,
                                     .limit = 2};
    assert(d->seq > 0);
    *before = (struct neighbour){.deletion = d};
    int rc =
        store_each_checkpoint(d->in->store, &range, see_neighbour, before, d->error);
    return rc < 0 ? rc : 0;
}

static int see_record(void *context, const struct checkpoint_row *row)
{
    struct deletion *d = context;
    struct sound_record checked;
    d->stream = row->stream;
    d->digest = row_digest(row, d->in->sha);
    if (d->sound && row_check(row, d->in->sha, &checked, NULL) == 0)
        d->before = checked.header.parent;
    return 0;
}

/* ---- Whether it may be deleted ---- */

struct fork_match {
    uint64_t seq, stream;
};

static int match_fork(void *context, const struct payload_fork *branch)
{
    struct fork_match *match = context;
    assert(match->stream == 0);
    if (branch->seq != match->seq)
        return 0;
    match->stream = branch->stream;
    return 1;
}

static int refuse_fork(struct deletion *d)
{
    const struct payload_kind *kind = d->in->kind;
    struct fork_match match = {d->seq, 0};
    char number[CAIRN_ID_MAX];
    assert(d->sound);
    int rc = kind->find_forks
                 ? kind->find_forks(d->in->store, 0, match_fork, &match, d->error)
                 : 0;
    if (rc < 0 || match.stream == 0)
        return rc < 0 ? rc : 0;
    checkpoint_number(kind->namespace_id, d->seq, number);
    return error_set(d->error, CAIRN_EUSAGE,
                     "checkpoint %s is kept: %s %llu forks from it", number,
                     kind->stream_noun, (unsigned long long)match.stream);
}

static int may_delete(struct deletion *d, const struct neighbour *next)
{
    const struct payload_kind *kind = d->in->kind;
    char number[CAIRN_ID_MAX], after[CAIRN_ID_MAX];
    if (!d->sound)
        return 0;
    int rc = refuse_fork(d);
    if (rc)
        return rc;
    if (next->seq == 0)
        return kind->keep_newest
                   ? kind->keep_newest(d->in->store, d->stream, d->seq, d->error)
                   : 0;
    if (next->full)
        return 0;
    checkpoint_number(kind->namespace_id, d->seq, number);
    checkpoint_number(kind->namespace_id, next->seq, after);
    return error_set(d->error, CAIRN_EUSAGE,
                     "checkpoint %s is kept: the ones after it, from %s to the next "
                     "full one, could not be rebuilt without it; delete those first, "
                     "newest first, or thin out whole segments with `cairn checkpoint "
                     "prune`",
                     number, after);
}

/* ---- Its tombstone ---- */

/* The digest by which the next record names it; a damaged record's own may be wrong. */
static struct digest after_of(const struct deletion *d, const struct neighbour *next,
                              const struct tombstones *tombstones)
{
    for (size_t i = 0; i < tombstones->n; i++) {
        const struct tombstone_row *t = &tombstones->at[i];
        if (t->first > d->seq && (next->seq == 0 || t->last < next->seq))
            return t->before;
    }
    if (next->sound && next->parent_seq == d->seq)
        return next->parent;
    return d->digest;
}

static int delete_record(struct deletion *d, const struct neighbour *next)
{
    struct neighbour before;
    struct tombstones tombstones = {0};
    struct tombstone_row row = {.namespace_id = d->in->kind->namespace_id,
                                .stream = d->stream,
                                .first = d->seq,
                                .last = d->seq,
                                .before = d->before,
                                .time_ns = clock_utc_ns()};
    uint64_t bytes;
    assert(row.first == row.last && row.last == d->seq);
    int rc = before_of(d, &before);
    if (rc == 0)
        rc = tombstones_load(d->in->store, d->in->kind->namespace_id, d->stream,
                             &tombstones, d->error);
    if (rc)
        return rc;
    if (!d->sound)
        row.before = before.digest;
    for (size_t i = 0; !d->sound && i < tombstones.n; i++)
        if (tombstones.at[i].last < d->seq && tombstones.at[i].first > before.seq)
            row.before = tombstones.at[i].after;
    row.after = after_of(d, next, &tombstones);
    tombstones_release(&tombstones);
    rc = store_delete_checkpoints(d->in->store, d->in->kind->namespace_id, d->stream,
                                  d->seq, d->seq, &row.count, &bytes, d->error);
    return rc ? rc : store_put_tombstone(d->in->store, &row, d->error);
}

static int note_deletion(struct deletion *d)
{
    char number[CAIRN_ID_MAX];
    if (d->in->kind->namespace_id != NAMESPACE_WORKFLOW)
        return 0;
    checkpoint_number(NAMESPACE_WORKFLOW, d->seq, number);
    return store_note_event(d->in->store, d->stream, EVENT_DELETED, str_of(number),
                            d->error);
}

static int delete_in(struct deletion *d, const char *id)
{
    struct neighbour next;
    struct cairn_error reason; /* of damage, which is no error here */
    int rc = chain_find(d->in, id, &d->seq, &d->sound, &reason);
    if (rc)
        return error_set(d->error, rc, "%s", reason.text);
    assert(d->seq > 0);
    rc = store_get_checkpoint(d->in->store, d->seq, see_record, d, d->error);
    if (rc == 0)
        rc = next_of(d, &next);
    if (rc == 0)
        rc = may_delete(d, &next);
    if (rc == 0)
        rc = delete_record(d, &next);
    return rc ? rc : note_deletion(d);
}

int chain_delete(const struct chains *in, const char *id, struct cairn_error *error)
{
    struct deletion d = {.in = in, .error = error};
    assert_chains(in);
    int rc = store_begin(in->store, -1, error);
    if (rc)
        return rc;
    return store_end(in->store, delete_in(&d, id), error);
}

int cairn_checkpoint_delete(struct cairn_store *store, const char *id,
                            struct cairn_error *error)
{
    struct chains in = {.store = store, .sha = sha256_new(), .kind = &outcomes_kind};
    if (!in.sha)
        return error_nomem(error);
    int rc = chain_delete(&in, id, error);
    sha256_free(in.sha);
    return rc;
}
