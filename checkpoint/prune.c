/* SPDX-License-Identifier: MIT */
/* Retention. A segment is a sound full record with what follows it up to the next one;
 * only whole segments are deleted, so everything that is kept can be rebuilt. A damaged
 * full record belongs to the segment before it, which is then still needed.
 *
 * Each deleted range leaves one tombstone. Ranges that touch are merged, unless a kept
 * record names the end of the first one as its parent: the link to it must stay exact.
 */
#include "checkpoint/outcomes.h"
#include "checkpoint/retain.h"
#include "checkpoint/tombstones_int.h"

#include "base/array.h"
#include "base/clock.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct segment {
    uint64_t first, last, count, bytes;
    uint64_t parent; /* of the first record */
    struct digest parent_digest, last_digest;
    bool sound; /* begins with a sound full record; else parent_digest is unknown */
    bool keep;
};

struct pruning {
    const struct chains *in;
    uint64_t stream;
    uint64_t cutoff; /* seq of the oldest record that must be kept, 0: all are kept */
    struct segment *segments;
    size_t n, room;
    struct seqs forks;
    struct tombstones old, new;
    struct cairn_error *error;
};

static void pruning_release(struct pruning *p)
{
    free(p->segments);
    seqs_release(&p->forks);
    tombstones_release(&p->old);
    tombstones_release(&p->new);
}

/* ---- Segments ---- */

static int add_segment(struct pruning *p, const struct segment *segment)
{
    struct segment *segments =
        array_room(p->segments, p->n, &p->room, sizeof *segments);
    if (!segments)
        return error_nomem(p->error);
    p->segments = segments;
    assert(p->n == 0 || segments[p->n - 1].last < segment->first);
    p->segments[p->n++] = *segment;
    return 0;
}

static int scan_row(void *context, const struct checkpoint_row *row)
{
    struct pruning *p = context;
    struct sound_record checked;
    bool begins =
        row->kind == RECORD_FULL && row_check(row, p->in->sha, &checked, NULL) == 0;
    if (p->n && row->seq <= p->segments[p->n - 1].last) /* by a damaged index */
        return error_set(p->error, CAIRN_EDAMAGED,
                         "the index of checkpoints leads to a wrong row: run `cairn "
                         "doctor`");
    if (begins || p->n == 0) {
        struct segment segment = {
            .first = row->seq, .parent = row->parent, .sound = begins};
        if (begins)
            segment.parent_digest = checked.header.parent;
        int rc = add_segment(p, &segment);
        if (rc)
            return rc;
    }
    struct segment *segment = &p->segments[p->n - 1];
    assert(segment->first <= row->seq && segment->last < row->seq);
    segment->last = row->seq;
    segment->count++;
    segment->bytes += row->record.len;
    segment->last_digest = (struct digest){{0}};
    if (row->digest.len == DIGEST_SIZE)
        memcpy(segment->last_digest.bytes, row->digest.ptr, DIGEST_SIZE);
    return 0;
}

static int note_seq(void *context, const struct checkpoint_row *row)
{
    *(uint64_t *)context = row->seq;
    return 1;
}

static bool holds_fork(const struct pruning *p, const struct segment *segment)
{
    assert(segment->first <= segment->last);
    for (size_t i = 0; i < p->forks.n; i++)
        if (p->forks.at[i] >= segment->first && p->forks.at[i] <= segment->last)
            return true;
    return false;
}

static int find_segments(struct pruning *p, uint32_t keep)
{
    struct checkpoint_range range = {.namespace_id = p->in->kind->namespace_id,
                                     .stream = p->stream,
                                     .descending = true,
                                     .offset = keep - 1,
                                     .limit = 1};
    assert(keep >= 1 && p->n == 0);
    int rc =
        store_each_checkpoint(p->in->store, &range, note_seq, &p->cutoff, p->error);
    if (rc < 0)
        return rc;
    rc = fork_points(p->in, p->stream, &p->forks, p->error);
    if (rc)
        return rc;
    range = (struct checkpoint_range){.namespace_id = p->in->kind->namespace_id,
                                      .stream = p->stream};
    rc = store_each_checkpoint(p->in->store, &range, scan_row, p, p->error);
    for (size_t i = 0; i < p->n; i++)
        p->segments[i].keep =
            p->segments[i].last >= p->cutoff || holds_fork(p, &p->segments[i]);
    return rc < 0 ? rc : 0;
}

/* ---- Deleting ---- */

static int delete_range(struct pruning *p, struct tombstone_row *row)
{
    uint64_t bytes;
    assert(row->first <= row->last);
    row->namespace_id = p->in->kind->namespace_id;
    row->stream = p->stream;
    row->time_ns = clock_utc_ns();
    int rc =
        store_delete_checkpoints(p->in->store, p->in->kind->namespace_id, p->stream,
                                 row->first, row->last, &row->count, &bytes, p->error);
    if (rc)
        return rc;
    return tombstones_add(&p->new, row) ? error_nomem(p->error) : 0;
}

/* What the newest tombstone before `seq` ends with. */
static struct digest end_of_tombstones(const struct pruning *p, uint64_t seq)
{
    struct digest end = {{0}};
    for (size_t i = 0; i < p->old.n && p->old.at[i].last < seq; i++)
        end = p->old.at[i].after;
    return end;
}

/* Segments from..to - 1, of which none is kept; `to` is kept. Where the chain continues
 * from a record before the last one (those after it were damaged), the range is split
 * behind that record. */
static int delete_group(struct pruning *p, size_t from, size_t to)
{
    const struct segment *first = &p->segments[from];
    const struct segment *last = &p->segments[to - 1], *next = &p->segments[to];
    struct tombstone_row row = {
        .first = first->first, .last = last->last, .after = last->last_digest};
    assert(from < to && to < p->n);
    assert(!p->segments[from].keep && p->segments[to].keep);
    row.before = first->sound ? first->parent_digest : end_of_tombstones(p, row.first);
    if (next->sound && next->parent >= row.first && next->parent <= row.last) {
        uint64_t end = row.last;
        row.last = next->parent;
        row.after = next->parent_digest;
        if (next->parent < end) {
            int rc = delete_range(p, &row);
            if (rc)
                return rc;
            row = (struct tombstone_row){.first = next->parent + 1,
                                         .last = end,
                                         .before = next->parent_digest,
                                         .after = last->last_digest};
        }
    }
    return delete_range(p, &row);
}

static int delete_segments(struct pruning *p)
{
    size_t from = 0;
    int rc = 0;
    while (from < p->n && rc == 0) {
        size_t to = from;
        while (to < p->n && !p->segments[to].keep)
            to++;
        if (to > from && to < p->n) /* the newest segment is always kept */
            rc = delete_group(p, from, to);
        from = to + 1;
    }
    return rc;
}

/* ---- Tombstones ---- */

/* True if `b` can be joined to the end of `a`: no record between them is left, and
 * no record names the end of `a` as its parent. */
static bool can_join(const struct pruning *p, const struct tombstone_row *a,
                     const struct tombstone_row *b)
{
    if (b->first <= a->last)
        return true; /* inside it */
    if (seqs_has(&p->forks, a->last))
        return false;
    for (size_t i = 0; i < p->n; i++) {
        const struct segment *s = &p->segments[i];
        if (s->keep &&
            (s->parent == a->last || (s->first < b->first && s->last > a->last)))
            return false;
    }
    return true;
}

static void extend_tombstone(struct tombstone_row *a, const struct tombstone_row *b)
{
    a->count += b->count;
    if (b->time_ns > a->time_ns)
        a->time_ns = b->time_ns;
    if (b->last > a->last) {
        a->last = b->last;
        a->after = b->after;
    }
}

/* Old and new ones together, joined where they touch. */
static int replace_tombstones(struct pruning *p)
{
    int rc = 0;
    for (size_t i = 0; i < p->old.n && rc == 0; i++) {
        rc = store_delete_tombstone(p->in->store, p->old.at[i].id, p->error);
        if (rc == 0 && tombstones_add(&p->new, &p->old.at[i]))
            rc = error_nomem(p->error);
    }
    tombstones_sort(&p->new);
    struct tombstone_row *all = p->new.at;
    size_t kept = 0;
    for (size_t i = 1; i < p->new.n; i++)
        if (can_join(p, &all[kept], &all[i]))
            extend_tombstone(&all[kept], &all[i]);
        else
            all[++kept] = all[i];
    assert(kept == 0 || kept < p->new.n);
    for (size_t i = 0; i <= kept && i < p->new.n &&rc == 0; i++)
        rc = store_put_tombstone(p->in->store, &all[i], p->error);
    return rc;
}

static int delete_surplus(struct pruning *p)
{
    assert(p->cutoff > 0 && p->new.n == 0);
    int rc = tombstones_load(p->in->store, p->in->kind->namespace_id, p->stream,
                             &p->old, p->error);
    if (rc == 0)
        rc = delete_segments(p);
    return rc ? rc : replace_tombstones(p);
}

static int prune_stream(struct pruning *p, const struct retention *wanted,
                        struct cairn_prune_result *result)
{
    struct cairn_prune_result sum = {0};
    int rc = find_segments(p, wanted->keep);
    for (size_t i = 0; i < p->n && rc == 0; i++) {
        const struct segment *segment = &p->segments[i];
        sum.total += segment->count;
        sum.kept += segment->keep ? segment->count : 0;
        sum.freed_bytes += segment->keep ? 0 : segment->bytes;
    }
    assert(sum.kept <= sum.total);
    sum.deleted = sum.total - sum.kept;
    sum.surplus = sum.kept > wanted->keep ? sum.kept - wanted->keep : 0;
    if (rc == 0 && sum.deleted && !wanted->dry_run)
        rc = delete_surplus(p);
    if (rc == 0)
        *result = sum;
    return rc;
}

int chain_prune(const struct chains *in, const struct retention *wanted,
                struct cairn_prune_result *result, struct cairn_error *error)
{
    struct pruning p = {.in = in, .stream = wanted->stream, .error = error};
    assert_chains(in);
    if (wanted->keep == 0 || wanted->stream == 0)
        return error_set(error, CAIRN_EUSAGE,
                         "at least one checkpoint of each %s must be kept",
                         in->kind->stream_noun);
    int rc = prune_stream(&p, wanted, result);
    pruning_release(&p);
    return rc;
}

int run_stream_prune(struct cairn_store *store, struct sha256 *sha, uint64_t run,
                     uint32_t keep, struct cairn_error *error)
{
    struct chains in = {.store = store, .sha = sha, .kind = &outcomes_kind};
    struct retention wanted = {.stream = run, .keep = keep};
    struct cairn_prune_result unused;
    return chain_prune(&in, &wanted, &unused, error);
}

/* ---- The call ---- */

static int note_run(void *context, const struct run_row *row)
{
    return seqs_add(context, row->run);
}

static int list_runs(struct cairn_store *store, uint64_t run, struct seqs *runs,
                     struct cairn_error *error)
{
    struct run_filter every = {.ascending = true};
    int rc = run ? store_get_run(store, run, note_run, runs, error)
                 : store_each_run(store, &every, note_run, runs, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, rc, "there is no run %llu", (unsigned long long)run);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    return rc < 0 ? rc : 0;
}

static int note_pruning(struct cairn_store *store, uint64_t run,
                        const struct cairn_prune_result *result,
                        struct cairn_error *error)
{
    char text[80];
    snprintf(text, sizeof text, "%llu checkpoint%s, %llu kept",
             (unsigned long long)result->deleted, result->deleted == 1 ? "" : "s",
             (unsigned long long)result->kept);
    return store_note_event(store, run, EVENT_PRUNED, str_of(text), error);
}

/* In a transaction of its own; adds to `sum`. */
static int prune_run(const struct chains *in, const struct retention *wanted,
                     struct cairn_prune_result *sum, struct cairn_error *error)
{
    struct cairn_prune_result one = {0};
    int rc = wanted->dry_run ? store_begin_read(in->store, error)
                             : store_begin(in->store, -1, error);
    if (rc)
        return rc;
    rc = chain_prune(in, wanted, &one, error);
    if (rc == 0 && one.deleted && !wanted->dry_run)
        rc = note_pruning(in->store, wanted->stream, &one, error);
    if (wanted->dry_run)
        store_end_read(in->store);
    else
        rc = store_end(in->store, rc, error);
    if (rc)
        return rc;
    assert(one.kept + one.deleted == one.total);
    sum->total += one.total;
    sum->kept += one.kept;
    sum->deleted += one.deleted;
    sum->freed_bytes += one.freed_bytes;
    sum->surplus += one.surplus;
    return 0;
}

int cairn_checkpoint_prune(struct cairn_store *store,
                           const struct cairn_prune_options *options,
                           struct cairn_prune_result *result, struct cairn_error *error)
{
    struct chains in = {.store = store, .kind = &outcomes_kind};
    struct cairn_prune_result sum = {0};
    struct seqs runs = {0};
    if (options->keep == 0)
        return error_set(error, CAIRN_EUSAGE,
                         "at least one checkpoint of each run must be kept");
    in.sha = sha256_new();
    if (!in.sha)
        return error_nomem(error);
    int rc = list_runs(store, options->run, &runs, error);
    for (size_t i = 0; i < runs.n && rc == 0; i++) {
        struct retention wanted = {runs.at[i], options->keep, options->dry_run};
        rc = prune_run(&in, &wanted, &sum, error);
    }
    seqs_release(&runs);
    sha256_free(in.sha);
    if (rc == 0 && result)
        *result = sum;
    return rc;
}
