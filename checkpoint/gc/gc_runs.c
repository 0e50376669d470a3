/* SPDX-License-Identifier: MIT */
/* Removing runs. A chosen run is compared with its row again in each transaction, and
 * is kept if it was resumed or forked from meanwhile. (A fork, in turn, checks in its
 * first transaction that the checkpoint that it starts from is still there.) */
#include "checkpoint/gc/gc_int.h"

#include "base/array.h"
#include "base/clock.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_gc.h"
#include "storage/rows_run.h"

#include <assert.h>
#include <stdlib.h>

/* ---- What a run has ---- */

enum { PART_ROWS = 500, PART_BYTES = 1 << 20 };

struct part { /* of a run's checkpoints, deleted in one transaction */
    uint64_t first, last, count, bytes;
    struct digest before, after;
};

struct removal {
    struct gc *gc;
    const struct chosen_run *run;
    struct part *parts;
    size_t n, room;
    uint64_t newest_full;
    bool damaged;
    bool changed; /* its row is not what it was when the run was chosen: keep it */
};

/* NULL: out of memory. */
static struct part *add_part(struct removal *r, const struct checkpoint_row *row,
                             const struct digest *before)
{
    struct part *parts = array_room(r->parts, r->n, &r->room, sizeof *parts);
    if (!parts)
        return NULL;
    r->parts = parts;
    assert(r->n == 0 || parts[r->n - 1].last < row->seq);
    struct part *part = &r->parts[r->n++];
    *part = (struct part){.first = row->seq, .before = *before};
    return part;
}

/* A part may end only where the next record names its last one as its parent: the
 * tombstone for the part ends with that one. */
static int add_record(void *context, const struct checkpoint_row *row)
{
    struct removal *r = context;
    struct sound_record checked;
    /* By a damaged index. */
    bool out_of_order = r->n && row->seq <= r->parts[r->n - 1].last;
    if (out_of_order || row_check_bytes(row, r->gc->sha, &checked, NULL)) {
        r->damaged = true;
        return 1;
    }
    const struct part *last = r->n ? &r->parts[r->n - 1] : &(struct part){0};
    bool full = last->count >= PART_ROWS || last->bytes >= PART_BYTES;
    if ((r->n == 0 || (full && row->parent == last->last)) &&
        !add_part(r, row, &checked.header.parent))
        return error_nomem(r->gc->error);
    struct part *part = &r->parts[r->n - 1];
    part->last = row->seq;
    part->after = checked.digest;
    part->count++;
    part->bytes += row->record.len;
    if (row->kind == RECORD_FULL)
        r->newest_full = row->seq;
    return 0;
}

/* The records that the run would resume from are deleted with its row, in one
 * transaction. */
static void join_newest(struct removal *r)
{
    while (r->n > 1 && r->parts[r->n - 1].first > r->newest_full) {
        const struct part *last = &r->parts[--r->n];
        struct part *part = &r->parts[r->n - 1];
        assert(part->last < last->first && last->count > 0);
        part->last = last->last;
        part->after = last->after;
        part->count += last->count;
        part->bytes += last->bytes;
    }
}

static int find_parts(struct removal *r)
{
    struct checkpoint_range range = {.namespace_id = NAMESPACE_WORKFLOW,
                                     .stream = r->run->run};
    struct tombstones old = {0};
    assert(r->n == 0 && !r->parts);
    int rc = store_each_checkpoint(r->gc->store, &range, add_record, r, r->gc->error);
    if (rc < 0)
        return rc;
    join_newest(r);
    rc = tombstones_load(r->gc->store, NAMESPACE_WORKFLOW, r->run->run, &old,
                         r->gc->error);
    if (rc == 0 && r->n == 0 && old.n == 0)
        r->damaged = true; /* every run has had a checkpoint */
    tombstones_release(&old);
    return rc;
}

/* ---- Removing ---- */

static int compare_run(void *context, const struct run_row *row)
{
    struct removal *r = context;
    const struct chosen_run *was = r->run;
    r->changed = !row->sum_ok || row->workflow != was->workflow ||
                 row->state != was->state || row->ended_ns != was->ended_ns ||
                 row->owner_since_ns != was->owner_since_ns || row->gen != was->gen;
    return 0;
}

static int recheck_run(struct removal *r)
{
    struct gc *gc = r->gc;
    uint64_t run = r->run->run, last = 0;
    bool forked = false;
    assert(gc->in_slice);
    int rc = store_get_run(gc->store, run, compare_run, r, gc->error);
    if (!rc)
        rc = store_last_seq(gc->store, NAMESPACE_WORKFLOW, run, &last, gc->error);
    if (!rc)
        rc = store_has_new_fork(gc->store, run, run, &forked, gc->error);
    r->changed |= forked || last != (r->n ? r->parts[r->n - 1].last : 0);
    return rc;
}

/* Leaves one tombstone for all that was deleted of the run so far. */
static int delete_part(struct removal *r, const struct part *part)
{
    struct gc *gc = r->gc;
    struct tombstones old = {0};
    struct tombstone_row row = {.namespace_id = NAMESPACE_WORKFLOW,
                                .stream = r->run->run,
                                .first = part->first,
                                .last = part->last,
                                .before = part->before,
                                .after = part->after,
                                .time_ns = clock_utc_ns()};
    uint64_t bytes;
    assert(part->first <= part->last);
    assert(part >= r->parts && part < r->parts + r->n);
    int rc =
        store_delete_checkpoints(gc->store, NAMESPACE_WORKFLOW, row.stream, row.first,
                                 row.last, &row.count, &bytes, gc->error);
    if (!rc)
        rc = tombstones_load(gc->store, row.namespace_id, row.stream, &old, gc->error);
    for (size_t i = 0; i < old.n && !rc; i++) {
        const struct tombstone_row *t = &old.at[i];
        bool later = t->first > row.last;
        if (later && part != &r->parts[r->n - 1])
            continue;
        if (t->first < row.first) {
            row.first = t->first;
            row.before = t->before;
        }
        if (later) {
            row.last = t->last;
            row.after = t->after;
        }
        row.count += t->count;
        rc = store_delete_tombstone(gc->store, t->id, gc->error);
    }
    tombstones_release(&old);
    return rc ? rc : store_put_tombstone(gc->store, &row, gc->error);
}

/* One transaction; the last one removes the run's row as well. */
static int remove_part(struct removal *r, size_t i)
{
    struct gc *gc = r->gc;
    assert(i < r->n || r->n == 0);
    int rc = gc_begin_slice(gc);
    if (rc)
        return rc;
    rc = recheck_run(r);
    if (!rc && !r->changed && i < r->n)
        rc = delete_part(r, &r->parts[i]);
    if (!rc && !r->changed && i + 1 >= r->n)
        rc = store_remove_run(gc->store, r->run->run, gc->error);
    return gc_end_slice(gc, rc);
}

static void count_part(struct gc *gc, const struct part *part)
{
    assert(part->count > 0);
    gc->result.checkpoints += part->count;
    gc->result.freed_bytes += part->bytes;
}

static int remove_parts(struct removal *r)
{
    struct gc *gc = r->gc;
    uint64_t attempts = 0;
    size_t i = 0;
    assert(!r->damaged);
    int rc = gc->dry_run
                 ? store_count_attempts(gc->store, r->run->run, &attempts, gc->error)
                 : 0;
    gc->result.attempts += attempts;
    do {
        if (!gc->dry_run && !rc)
            rc = remove_part(r, i);
        if (!rc && !r->changed && i < r->n)
            count_part(gc, &r->parts[i]);
        i++;
    } while (!rc && !r->changed && i < r->n);
    return rc;
}

/* 1: it is kept. */
static int remove_run(struct gc *gc, const struct chosen_run *run)
{
    struct removal r = {.gc = gc, .run = run};
    int rc = find_parts(&r);
    if (!rc && !r.damaged)
        rc = remove_parts(&r);
    if (rc == CAIRN_ENOTFOUND) /* its row: another process has removed it */
        rc = 0;
    free(r.parts);
    if (rc)
        return rc;
    gc->result.damaged_runs += r.damaged;
    if (r.damaged || r.changed)
        gc->result.kept_runs++;
    else
        gc->result.runs++;
    return r.damaged || r.changed;
}

/* ---- What is left of removed runs ---- */

static int note_run(void *context, uint64_t run)
{
    return seqs_add(context, run);
}

static int delete_leftover_slice(struct gc *gc, uint64_t run, bool *left)
{
    enum { ROWS = 200 };
    uint32_t rows = 1, attempts;
    uint64_t all = 0;
    assert(!gc->dry_run);
    int rc = gc_begin_slice(gc);
    if (rc)
        return rc;
    while (!rc && rows && !gc_slice_full(gc)) {
        rc = store_delete_leftovers(gc->store, run, ROWS, &rows, &attempts, gc->error);
        all += rc ? 0 : attempts;
    }
    *left = rows > 0;
    rc = gc_end_slice(gc, rc);
    if (!rc)
        gc->result.attempts += all;
    return rc;
}

static int delete_leftovers(struct gc *gc)
{
    struct seqs runs = {0};
    int rc = store_each_leftover(gc->store, note_run, &runs, gc->error);
    if (rc == CAIRN_ENOMEM)
        error_nomem(gc->error);
    for (size_t i = 0; i < runs.n && !rc; i++) {
        bool left = true;
        while (left && !rc)
            rc = delete_leftover_slice(gc, runs.at[i], &left);
    }
    seqs_release(&runs);
    return rc;
}

int gc_remove_runs(struct gc *gc)
{
    size_t removed = 0;
    int rc = 0;
    for (size_t i = 0; i < gc->n_chosen && rc >= 0; i++) {
        struct chosen_run run = gc->chosen[i];
        rc = remove_run(gc, &run);
        if (rc == 0)
            gc->chosen[removed++] = run;
    }
    assert(removed <= gc->n_chosen);
    gc->n_chosen = removed;
    return rc < 0 || gc->dry_run ? (rc < 0 ? rc : 0) : delete_leftovers(gc);
}
