/* SPDX-License-Identifier: MIT */
/* checkpoint_gc: garbage collection, while other processes may use the store.
 *
 *   1. the runs that may be removed whole are chosen
 *   2. they are removed, newest first, so that forks go before the runs that they fork
 *      from: the checkpoints of each from the oldest on; in one transaction the newest
 *      of them and the run's row; then its rows in other tables, which nothing leads to
 *      any more
 *   3. content that nothing refers to is deleted
 *
 * Files that killed processes had begun to write go first.
 *
 * The write transactions are short and leave the write lock to others for a while, and
 * the store is valid after each: a run that has lost its older checkpoints looks like a
 * pruned one, and what is left of a run without a row and checkpoints is deleted by the
 * next collection. */
#include "checkpoint/gc/gc.h"

#include "checkpoint/gc/outputs_budget.h"
#include "checkpoint/nodes/nodes.h"
#include "checkpoint/tombstones_int.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/memory.h"
#include "cairn/outcome.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_event.h"
#include "storage/rows_files.h"
#include "storage/rows_gc.h"
#include "storage/rows_lost.h"
#include "storage/rows_reuse.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_message.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* A run that is to be removed, as it was when it was chosen. */
struct chosen_run {
    uint64_t run, workflow;
    int64_t ended_ns, owner_since_ns;
    uint8_t state;
    uint32_t gen;
};

struct gc {
    struct cairn_store *store;
    struct sha256 *sha;
    const struct payload_kinds *kinds;
    const struct cairn_gc_options *options;
    struct cairn_gc_result result;
    struct chosen_run *chosen; /* newest first; after gc_remove_runs the removed ones */
    size_t n_chosen, chosen_room;
    uint64_t up_to;  /* the newest object that may be garbage */
    uint64_t held;   /* objects up to this one stay, named or not; 0: none */
    uint64_t *marks; /* hash set of the first 8 bytes of digests; 0: empty */
    size_t n_marks, mark_room;
    struct node_set nodes;         /* that were followed */
    bool node_failed;              /* one cannot be followed: `error` says why */
    struct outputs_budget outputs; /* what goes of the copies of outputs */
    bool dry_run;
    int64_t now_ns; /* what is to be kept until then has had its time */
    struct store_slice slice;
    struct cairn_gc_result before_slice; /* what had been done by then */
    struct cairn_error *error;
};

static int gc_begin_slice(struct gc *gc)
{
    assert(!gc->dry_run);
    gc->before_slice = gc->result;
    return store_slice_begin(&gc->slice, gc->error);
}

static int gc_end_slice(struct gc *gc, int rc)
{
    rc = store_slice_end(&gc->slice, rc, gc->error);
    if (rc)
        gc->result = gc->before_slice;
    return rc;
}

/* Which runs are removed: those that the limits allow and that no kept run needs. */

struct chooser {
    struct gc *gc;
    struct map seen; /* workflows, pairs of workflow and params, runs that are kept */
    struct arena keys;
    uint32_t *counts; /* runs of a workflow so far, by its value in the map */
    uint32_t n_counts;
    size_t count_room;
    int64_t now_ns;
    bool newest; /* the next row is the newest of the store */
};

static struct str key_of(char out[1 + 8 + DIGEST_SIZE], char kind, uint64_t number,
                         const struct digest *digest)
{
    assert(kind == 'w' || kind == 'p' || kind == 'r');
    assert((kind == 'p') == (digest != NULL));
    out[0] = kind;
    memcpy(out + 1, &number, sizeof number);
    if (digest)
        memcpy(out + 1 + sizeof number, digest->bytes, DIGEST_SIZE);
    return (struct str){out, 1 + sizeof number + (digest ? DIGEST_SIZE : 0)};
}

/* 1 if it was not there yet; else its value in *existing. */
static int put_key(struct chooser *c, struct str key, uint32_t value,
                   uint32_t *existing)
{
    assert(key.len > 0);
    *existing = map_get(&c->seen, key);
    if (*existing != MAP_NONE)
        return 0;
    key = arena_str(&c->keys, key);
    int rc = key.ptr ? map_add(&c->seen, key, value, NULL) : CAIRN_ENOMEM;
    return rc < 0 ? error_nomem(c->gc->error) : rc;
}

/* How many runs of the workflow are newer. */
static int rank_of(struct chooser *c, uint64_t workflow, uint32_t *rank)
{
    char key[1 + 8 + DIGEST_SIZE];
    uint32_t index;
    int rc = put_key(c, key_of(key, 'w', workflow, NULL), c->n_counts, &index);
    if (rc < 0)
        return rc;
    uint32_t *counts =
        array_room(c->counts, c->n_counts, &c->count_room, sizeof *counts);
    if (!counts)
        return error_nomem(c->gc->error);
    c->counts = counts;
    if (rc) {
        index = c->n_counts++;
        c->counts[index] = 0;
    }
    assert(index < c->n_counts);
    *rank = c->counts[index]++;
    assert(c->counts[index] > *rank);
    return 0;
}

static bool has_ended(const struct run_row *row)
{
    return row->ended_ns > 0 &&
           (row->state == CAIRN_RUN_COMPLETED || row->state == CAIRN_RUN_FAILED ||
            row->state == CAIRN_RUN_CANCELLED || row->state == CAIRN_RUN_UNDONE);
}

static bool limits_allow(const struct chooser *c, const struct run_row *row,
                         uint32_t rank)
{
    const struct cairn_gc_options *o = c->gc->options;
    assert(row->ended_ns > 0);
    if (o->keep_runs == 0 && o->older_than_ms == 0)
        return false;
    if (o->keep_runs && rank < o->keep_runs)
        return false;
    return o->older_than_ms == 0 ||
           (c->now_ns - row->ended_ns) / 1000000 > o->older_than_ms;
}

static int add_chosen(struct gc *gc, const struct run_row *row)
{
    assert(row->sum_ok && has_ended(row));
    struct chosen_run *chosen =
        array_room(gc->chosen, gc->n_chosen, &gc->chosen_room, sizeof *chosen);
    if (!chosen)
        return error_nomem(gc->error);
    gc->chosen = chosen;
    gc->chosen[gc->n_chosen++] =
        (struct chosen_run){.run = row->run,
                            .workflow = row->workflow,
                            .ended_ns = row->ended_ns,
                            .owner_since_ns = row->owner_since_ns,
                            .state = row->state,
                            .gen = row->gen};
    return 0;
}

/* Called newest first: whatever forks from a run is newer. */
static int consider_run(void *context, const struct run_row *row)
{
    struct chooser *c = context;
    struct gc *gc = c->gc;
    char key[1 + 8 + DIGEST_SIZE];
    uint32_t rank = 0, unused;
    if (!row->sum_ok)
        return error_set(gc->error, CAIRN_EDAMAGED,
                         row->bytes_ok
                             ? "nothing was removed, because the HMAC of run %llu is "
                               "not of this key: its row was changed or forged, or the "
                               "key is another one; without --key and CAIRN_KEY `cairn "
                               "gc` looks at checksums alone"
                             : "nothing was removed, because the row of run %llu is "
                               "damaged: `cairn doctor --repair` makes it again",
                         (unsigned long long)row->run);
    bool kept =
        c->newest || map_get(&c->seen, key_of(key, 'r', row->run, NULL)) != MAP_NONE;
    c->newest = false;
    int rc = rank_of(c, row->workflow, &rank);
    if (rc < 0)
        return rc;
    rc = put_key(c, key_of(key, 'p', row->workflow, &row->params), 0, &unused);
    if (rc < 0)
        return rc;
    bool newest =
        rc == 1 && !(gc->options->any_params && row->state == CAIRN_RUN_COMPLETED);
    kept |= !has_ended(row) || !limits_allow(c, row, rank);
    gc->result.newest_runs += newest && !kept;
    kept |= newest;
    if (!kept)
        return add_chosen(gc, row);
    gc->result.kept_runs++;
    if (!row->from_run)
        return 0;
    rc = put_key(c, key_of(key, 'r', row->from_run, NULL), 0, &unused);
    return rc < 0 ? rc : 0;
}

/* Fills `chosen` with the runs that the limits allow to remove and no kept run needs.
 */
static int gc_choose_runs(struct gc *gc)
{
    struct chooser c = {.gc = gc,
                        .seen = MAP_INIT,
                        .keys = ARENA_INIT,
                        .now_ns = clock_utc_ns(),
                        .newest = true};
    struct run_filter every = {.ascending = false};
    assert(gc->n_chosen == 0);
    int rc = store_each_run(gc->store, &every, consider_run, &c, gc->error);
    map_release(&c.seen);
    arena_release(&c.keys);
    free(c.counts);
    return rc < 0 ? rc : 0;
}

static bool gc_is_chosen(const struct gc *gc, uint64_t run)
{
    size_t low = 0, high = gc->n_chosen;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gc->chosen[middle].run > run)
            low = middle + 1;
        else
            high = middle;
    }
    return low < gc->n_chosen && gc->chosen[low].run == run;
}

/* Removing runs. A chosen run is compared with its row again in each transaction, and
 * is kept if it was resumed or forked from meanwhile. (A fork, in turn, checks in its
 * first transaction that the checkpoint that it starts from is still there.) */

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
    bool gone;    /* another process has removed it */
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
    assert(gc->slice.open);
    int rc = store_get_run(gc->store, run, compare_run, r, gc->error)
             ?: store_last_seq(gc->store, NAMESPACE_WORKFLOW, run, &last, gc->error)
             ?: store_has_new_fork(gc->store, run, run, &forked, gc->error);
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
                                 row.last, &row.count, &bytes, gc->error)
            ?: tombstones_load(gc->store, row.namespace_id, row.stream, &old,
                               gc->error);
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
    return rc ?: store_put_tombstone(gc->store, &row, gc->error);
}

/* In the slice of the one before while that is not full; the last one removes the run's
 * row as well. */
static int remove_part(struct removal *r, size_t i)
{
    struct gc *gc = r->gc;
    assert(i < r->n || r->n == 0);
    int rc = gc->slice.open ? 0 : gc_begin_slice(gc);
    if (rc)
        return rc;
    rc = recheck_run(r);
    r->gone = rc == CAIRN_ENOTFOUND;
    rc = r->gone ? 0 : rc;
    if (!rc && !r->changed && !r->gone && i < r->n)
        rc = delete_part(r, &r->parts[i]);
    if (!rc && !r->changed && !r->gone && i + 1 >= r->n)
        rc = store_remove_run(gc->store, r->run->run, gc->error);
    return rc || store_slice_full(&gc->slice) ? gc_end_slice(gc, rc) : 0;
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
        if (!rc && !r->changed && !r->gone && i < r->n)
            count_part(gc, &r->parts[i]);
        i++;
    } while (!rc && !r->changed && !r->gone && i < r->n);
    return rc;
}

/* The next `n` chosen runs: what each has is read first, and then as many as there is
 * time for are removed in one transaction. Those that are gone move down in the list, to
 * *removed. */
static int remove_some(struct gc *gc, size_t first, size_t n, size_t *removed)
{
    struct removal *r = calloc(n, sizeof *r);
    int rc = r ? 0 : error_nomem(gc->error);
    for (size_t i = 0; i < n && !rc; i++) {
        r[i].gc = gc;
        r[i].run = &gc->chosen[first + i];
        rc = find_parts(&r[i]);
    }
    for (size_t i = 0; i < n && !rc; i++) {
        bool kept = r[i].damaged;
        if (!kept)
            rc = remove_parts(&r[i]);
        kept |= r[i].changed;
        gc->result.damaged_runs += !rc && r[i].damaged;
        gc->result.kept_runs += !rc && kept;
        gc->result.runs += !rc && !kept;
        if (!rc && !kept)
            gc->chosen[(*removed)++] = *r[i].run;
    }
    if (gc->slice.open)
        rc = gc_end_slice(gc, rc);
    for (size_t i = 0; r && i < n; i++)
        free(r[i].parts);
    free(r);
    return rc;
}

/* ---- What is left of removed runs ---- */

static int note_run(void *context, uint64_t run)
{
    return seqs_add(context, run);
}

/* Of as many runs as there is time for, from *next on. */
static int delete_leftover_slice(struct gc *gc, const struct seq_set *runs,
                                 size_t *next)
{
    enum { ROWS = 200 };
    uint32_t rows, attempts;
    uint64_t all = 0;
    assert(!gc->dry_run);
    int rc = gc_begin_slice(gc);
    if (rc)
        return rc;
    while (!rc && *next < runs->n && !store_slice_full(&gc->slice)) {
        rc = store_delete_leftovers(gc->store, runs->at[*next], ROWS, &rows, &attempts,
                                    gc->error);
        all += rc ? 0 : attempts;
        *next += !rc && rows == 0;
    }
    rc = gc_end_slice(gc, rc);
    if (!rc)
        gc->result.attempts += all;
    return rc;
}

/* Keys of attempts that went with them. */
static int drop_lost_reuse(struct gc *gc)
{
    enum { ROWS = 200 };
    struct buf from = BUF_INIT;
    bool left = true;
    int rc = 0;
    while (left && !rc) {
        rc = gc_begin_slice(gc);
        if (rc)
            break;
        while (left && !rc && !store_slice_full(&gc->slice))
            rc = store_drop_lost_reuse(gc->store, ROWS, &from, &left, gc->error);
        rc = gc_end_slice(gc, rc);
    }
    buf_release(&from);
    return rc;
}

static int drop_expired_of(struct gc *gc, enum files_kind kind, uint64_t *count)
{
    enum { ROWS = 200 };
    struct files_expiry expiry = {
        .kind = kind, .now_ns = gc->now_ns, .limit = ROWS, .left = true};
    int rc = 0;
    while (expiry.left && !rc) {
        rc = gc_begin_slice(gc);
        if (rc)
            break;
        while (expiry.left && !rc && !store_slice_full(&gc->slice))
            rc = store_drop_expired_files(gc->store, &expiry, gc->error);
        rc = gc_end_slice(gc, rc);
        *count += rc ? 0 : expiry.dropped;
        expiry.dropped = 0;
    }
    buf_release(&expiry.from);
    return rc;
}

/* Artifacts, and copies of outputs, whose time is over. A dry run leaves them out when it
 * marks. */
static int drop_expired(struct gc *gc)
{
    return drop_expired_of(gc, FILES_ARTIFACTS, &gc->result.expired_artifacts)
               ?: drop_expired_of(gc, FILES_KEPT, &gc->result.expired_outputs);
}

/* Those that go anyway do not count; they are there still in a dry run. */
static bool goes_anyway(void *context, const struct files_row *row)
{
    const struct gc *gc = context;
    return gc_is_chosen(gc, row->run) || (row->until_ns && row->until_ns <= gc->now_ns);
}

/* Copies of outputs beyond keep_outputs. A run that is about to put them back runs the
 * task instead. */
static int drop_outputs_over(struct gc *gc)
{
    struct outputs_budget *budget = &gc->outputs;
    if (!gc->options->keep_outputs)
        return 0;
    *budget = (struct outputs_budget){.most = gc->options->keep_outputs,
                                      .passes = goes_anyway,
                                      .context = gc,
                                      .arena = ARENA_INIT};
    int rc = outputs_budget_find(budget, gc->store, gc->error);
    for (size_t i = 0; i < budget->n_over && !rc && !gc->dry_run;) {
        uint64_t dropped = 0;
        rc = gc_begin_slice(gc);
        if (rc)
            break;
        while (i < budget->n_over && !rc && !store_slice_full(&gc->slice)) {
            rc = store_drop_files(gc->store, &budget->over[i++], gc->error);
            dropped += rc > 0;
            rc = rc > 0 ? 0 : rc;
        }
        rc = gc_end_slice(gc, rc);
        gc->result.dropped_outputs += rc ? 0 : dropped;
    }
    return rc;
}

static int delete_leftovers(struct gc *gc)
{
    struct seq_set runs = {0};
    int rc = store_each_leftover(gc->store, note_run, &runs, gc->error);
    if (rc == CAIRN_ENOMEM)
        error_nomem(gc->error);
    for (size_t next = 0; next < runs.n && !rc;)
        rc = delete_leftover_slice(gc, &runs, &next);
    if (runs.n && !rc)
        rc = drop_lost_reuse(gc);
    seqs_release(&runs);
    return rc;
}

/* Removes the chosen runs, and what interrupted collections have left of others. A dry
 * run only counts. */
static int gc_remove_runs(struct gc *gc)
{
    enum { AT_ONCE = 256 };
    size_t removed = 0, n;
    int rc = 0;
    for (size_t i = 0; i < gc->n_chosen && !rc; i += n) {
        n = gc->n_chosen - i < AT_ONCE ? gc->n_chosen - i : AT_ONCE;
        rc = remove_some(gc, i, n, &removed);
    }
    assert(removed <= gc->n_chosen);
    gc->n_chosen = removed;
    if (!rc && !gc->dry_run)
        rc = delete_leftovers(gc) ?: drop_expired(gc);
    return rc ?: drop_outputs_over(gc);
}

/* Deleting content that nothing refers to; storage/rows_gc.c says why this is safe. A
 * row or record that cannot be read may refer to anything: where there is one, nothing
 * is deleted. */

enum {
    ROWS_AT_ONCE = 4096,
    OBJECTS_AT_ONCE = 1024,
    OBJECTS_LAST = 1 + LIMIT_OBJECT_BASES /* the newest one and its bases */
};

/* ---- Marks ---- */

/* Where two digests share their first 8 bytes, both objects are kept: no harm. */

static uint64_t mark_of(const struct digest *digest)
{
    uint64_t mark;
    memcpy(&mark, digest->bytes, sizeof mark);
    return mark ? mark : 1;
}

static void put_mark(uint64_t *marks, size_t room, uint64_t mark)
{
    size_t i = mark & (room - 1);
    assert(mark != 0 && (room & (room - 1)) == 0);
    while (marks[i])
        i = (i + 1) & (room - 1);
    marks[i] = mark;
}

static bool is_marked(const struct gc *gc, const struct digest *digest)
{
    uint64_t mark = mark_of(digest);
    assert(gc->n_marks <= gc->mark_room);
    for (size_t i = mark & (gc->mark_room - 1); gc->mark_room && gc->marks[i];
         i = (i + 1) & (gc->mark_room - 1))
        if (gc->marks[i] == mark)
            return true;
    return false;
}

static int grow_marks(struct gc *gc)
{
    size_t room = gc->mark_room ? 2 * gc->mark_room : 1024;
    uint64_t *marks = calloc(room, sizeof *marks);
    if (!marks)
        return error_nomem(gc->error);
    for (size_t i = 0; i < gc->mark_room; i++)
        if (gc->marks[i])
            put_mark(marks, room, gc->marks[i]);
    free(gc->marks);
    assert(room > gc->n_marks);
    gc->marks = marks;
    gc->mark_room = room;
    return 0;
}

static int mark_digest(struct gc *gc, const struct digest *digest)
{
    if (is_marked(gc, digest))
        return 0;
    int rc = 2 * gc->n_marks >= gc->mark_room ? grow_marks(gc) : 0;
    if (rc)
        return rc;
    assert(2 * gc->n_marks < gc->mark_room);
    put_mark(gc->marks, gc->mark_room, mark_of(digest));
    gc->n_marks++;
    return 0;
}

/* ---- What rows and records refer to ---- */

/* A node may have the same bytes as content that is marked already: what was followed
 * is remembered by itself. */
static int mark_reached(void *context, const struct digest *digest, bool is_node)
{
    struct gc *gc = context;
    int rc = mark_digest(gc, digest);
    if (rc || !is_node)
        return rc;
    rc = node_set_add(&gc->nodes, digest, true, gc->error);
    return rc < 0 ? rc : rc == 0;
}

/* Of what a repair knows to be lost nothing more can be reached. */
static int pass_lost_node(void *context, const struct digest *digest, int rc,
                          const char *why)
{
    struct gc *gc = context;
    char hex[DIGEST_HEX_SIZE];
    bool known = false;
    digest_hex(digest, hex);
    if (rc == CAIRN_ENOTFOUND) {
        int failed = store_is_known_loss(gc->store, hex, &known, gc->error);
        if (failed || known)
            return failed;
    }
    return error_set(gc->error, CAIRN_EDAMAGED,
                     "no content was deleted, because the list %.12s, which may refer "
                     "to any, cannot be read: %.300s\n`cairn doctor --repair` takes "
                     "out what is damaged",
                     hex, why);
}

static int mark_root(void *context, const struct digest *digest, bool is_node)
{
    struct gc *gc = context;
    struct node_visitor visitor = {mark_reached, pass_lost_node, gc};
    if (!is_node)
        return mark_digest(gc, digest);
    int rc = nodes_each(gc->store, digest, &visitor, gc->error);
    gc->node_failed = rc != 0;
    return rc;
}

static int mark_used(void *context, uint64_t run, const struct digest *digest,
                     bool is_node)
{
    struct gc *gc = context;
    return gc->dry_run && gc_is_chosen(gc, run) ? 0 : mark_root(gc, digest, is_node);
}

struct record_scan {
    struct gc *gc;
    uint64_t last;
    uint32_t rows;
};

/* Nothing here can tell what a record of an unknown kind refers to. */
static int refuse_unknown(const struct gc *gc, const struct checkpoint_row *row)
{
    char id[CAIRN_ID_MAX];
    assert(!kind_of(gc->kinds, row->namespace_id));
    row_id(row, id);
    return error_set(gc->error, CAIRN_ENEWER,
                     "no content was deleted, because checkpoint %s, which may refer "
                     "to any, is of a kind that this release does not know: use the "
                     "release that wrote it",
                     id);
}

/* A matching SHA-256 is enough: the HMAC tells nothing about what is referred to. */
static int mark_row(void *context, const struct checkpoint_row *row)
{
    struct record_scan *scan = context;
    struct gc *gc = scan->gc;
    const struct payload_kind *kind = kind_of(gc->kinds, row->namespace_id);
    struct payload_check check = {.roots = ROOTS_ALL, .root = mark_root, .context = gc};
    struct sound_record record;
    struct cairn_error reason = {0};
    assert(scan->rows < ROWS_AT_ONCE);
    scan->last = row->seq;
    scan->rows++;
    if (gc->dry_run && row->namespace_id == NAMESPACE_WORKFLOW &&
        gc_is_chosen(gc, row->stream))
        return 0;
    int rc = row_check_bytes(row, gc->sha, &record, &reason);
    if (!rc && !kind)
        return refuse_unknown(gc, row);
    if (!rc)
        rc = kind->check(&record, &check, &reason);
    if (!rc || rc == CAIRN_ENOMEM)
        return rc ? error_nomem(gc->error) : 0;
    if (gc->node_failed) /* which says why */
        return rc;
    return error_set(gc->error, rc,
                     "no content was deleted, because checkpoint %llu, which may refer "
                     "to any, cannot be read: %.300s\n`cairn doctor --repair` takes "
                     "out what is damaged",
                     (unsigned long long)row->seq, reason.text);
}

/* Each part is a read transaction of its own, so that the write-ahead log can be
 * emptied in between. */
static int mark_records(struct gc *gc)
{
    struct record_scan scan = {.gc = gc};
    int rc = 0;
    do {
        struct checkpoint_range range = {.first = scan.last + 1, .limit = ROWS_AT_ONCE};
        scan.rows = 0;
        rc = store_each_checkpoint(gc->store, &range, mark_row, &scan, gc->error);
    } while (!rc && scan.rows == ROWS_AT_ONCE);
    return rc;
}

/* What deleted records added up to, where others need it. */
static int mark_change(void *context, const struct tombstone_row *row,
                       const struct sound_record *record)
{
    struct gc *gc = context;
    const struct payload_kind *kind = kind_of(gc->kinds, row->namespace_id);
    struct payload_check check = {.roots = ROOTS_ALL, .root = mark_root, .context = gc};
    struct cairn_error reason = {0};
    int rc = kind ? kind->check(record, &check, &reason) : 0;
    if (!kind)
        return error_set(gc->error, CAIRN_ENEWER,
                         "no content was deleted, because a deleted checkpoint, %llu, "
                         "is of a kind that this release does not know",
                         (unsigned long long)row->last);
    if (!rc || gc->node_failed)
        return rc;
    return error_set(gc->error, rc, "%s", reason.text);
}

static int mark_tombstone(struct gc *gc, const struct tombstone_row *row)
{
    if (row->change_bytes == 0 ||
        (gc->dry_run && row->namespace_id == NAMESPACE_WORKFLOW &&
         gc_is_chosen(gc, row->stream)))
        return 0;
    int rc = change_read(gc->store, row, mark_change, gc, gc->error);
    if (rc == CAIRN_EDAMAGED)
        error_context(gc->error,
                      "no content was deleted, because deleted checkpoints, which may "
                      "refer to any, cannot be read");
    return rc;
}

/* In one transaction, since ranges are joined; after the records, since it is from
 * these that they are made. The HMAC tells nothing about what is referred to. */
static int mark_tombstones(struct gc *gc)
{
    struct tombstones all = {0};
    int rc = store_begin_read(gc->store, gc->error);
    if (rc)
        return rc;
    struct hmac_key *key = store_swap_key(gc->store, NULL);
    rc = tombstones_load_all(gc->store, &all, gc->error);
    for (size_t i = 0; i < all.n && !rc; i++)
        rc = mark_tombstone(gc, &all.at[i]);
    store_swap_key(gc->store, key);
    store_end_read(gc->store);
    tombstones_release(&all);
    return rc;
}

static int mark_files(void *context, const struct files_row *row)
{
    struct gc *gc = context;
    if (digest_is_none(&row->files) || (gc->dry_run && gc_is_chosen(gc, row->run)))
        return 0;
    if (gc->dry_run && row->until_ns && row->until_ns <= gc->now_ns) {
        if (row->kind == FILES_KEPT)
            gc->result.expired_outputs++;
        else
            gc->result.expired_artifacts++;
        return 0;
    }
    if (gc->dry_run && row->kind == FILES_KEPT &&
        outputs_budget_drops(&gc->outputs, row)) {
        gc->result.dropped_outputs++;
        return 0;
    }
    return mark_root(gc, &row->files, true);
}

/* In one transaction: a row is copied to another run, whose number comes anywhere. */
static int mark_all_files(struct gc *gc)
{
    struct files_search all = {.each = mark_files, .context = gc, .all = true};
    int rc = store_begin_read(gc->store, gc->error);
    if (rc)
        return rc;
    for (; all.kind < FILES_KINDS && !rc; all.kind++)
        rc = store_each_files(gc->store, &all, gc->error);
    store_end_read(gc->store);
    if (rc == CAIRN_EDAMAGED && !gc->node_failed)
        error_context(gc->error, "no content was deleted");
    return rc;
}

static int mark_body(void *context, const struct digest *digest)
{
    return mark_digest(context, digest);
}

static int mark_attempts(struct gc *gc)
{
    struct attempt_key from = {0};
    uint32_t rows;
    int rc;
    do
        rc = store_each_used_object(gc->store, &from, ROWS_AT_ONCE, mark_used, gc,
                                    &rows, gc->error);
    while (!rc && rows == ROWS_AT_ONCE);
    return rc;
}

/* Rows before records; that order makes no difference to the result. */
static int mark_all(struct gc *gc)
{
    int rc = store_each_used_graph(gc->store, mark_used, gc, gc->error)
             ?: mark_attempts(gc)
             ?: store_each_message_object(gc->store, mark_body, gc, gc->error);
    if (rc == CAIRN_EDAMAGED && !gc->node_failed)
        error_context(gc->error, "no content was deleted");
    return rc ?: mark_all_files(gc) ?: mark_records(gc) ?: mark_tombstones(gc);
}

/* ---- Sweeping ---- */

/* By descending id, so that a base is seen after all that was made from it. The newest
 * object and its bases go last (storage/rows_gc.c says why). What is held stays with
 * its bases, whose ids are lower. */
struct object_sweep {
    struct gc *gc;
    uint64_t next; /* id to go on from, 0: none */
    uint32_t rows;
    struct object_size garbage[OBJECTS_AT_ONCE], last[OBJECTS_LAST];
    uint32_t n, n_last;
    struct digest
        rebased[OBJECTS_AT_ONCE]; /* which stay, and whose bases are garbage */
    uint32_t n_rebased;
};

static bool goes_last(const struct object_sweep *s, const struct object_size *object)
{
    if (s->n_last == 0)
        return object->id == s->gc->up_to;
    return s->n_last < OBJECTS_LAST && object->id == s->last[s->n_last - 1].base;
}

/* What is kept gets another base where its own is garbage: that may hold what somebody
 * has deleted. */
static int keep_object(struct object_sweep *s, const struct object_size *object)
{
    struct gc *gc = s->gc;
    gc->result.kept_objects += object->sound;
    if (object->base && object->base <= gc->held)
        return 0;
    if (!object->based || is_marked(gc, &object->base_digest))
        return 0;
    if (!object->sound)
        return mark_digest(gc, &object->base_digest);
    s->rebased[s->n_rebased++] = object->digest;
    return 0;
}

static int note_object(void *context, const struct object_size *object)
{
    struct object_sweep *s = context;
    assert(s->n < OBJECTS_AT_ONCE && s->n <= s->rows);
    assert(s->rows == 0 || object->id <= s->next);
    s->next = object->id - 1;
    s->rows++;
    if (!object->sound || is_marked(s->gc, &object->digest))
        return keep_object(s, object);
    if (object->id <= s->gc->held) {
        s->gc->result.held_objects++;
        s->gc->result.held_bytes += object->bytes;
        return keep_object(s, object);
    }
    if (goes_last(s, object))
        s->last[s->n_last++] = *object;
    else
        s->garbage[s->n++] = *object;
    return 0;
}

static void count_object(struct gc *gc, const struct object_size *object, bool deleted)
{
    gc->result.objects += deleted;
    gc->result.freed_bytes += deleted ? object->bytes : 0;
    gc->result.kept_objects += !deleted;
}

static int delete_garbage_slice(struct gc *gc, const struct object_size *garbage,
                                uint32_t n, uint32_t *next)
{
    assert(*next < n && n <= OBJECTS_AT_ONCE);
    int rc = gc_begin_slice(gc);
    if (rc)
        return rc;
    uint32_t from = *next;
    bool deleted[OBJECTS_AT_ONCE];
    for (; *next < n && !rc && !store_slice_full(&gc->slice); ++*next)
        rc =
            store_delete_object(gc->store, &garbage[*next], &deleted[*next], gc->error);
    rc = gc_end_slice(gc, rc);
    for (; !rc && from < *next; from++)
        count_object(gc, &garbage[from], deleted[from]);
    return rc;
}

static int delete_garbage(struct gc *gc, const struct object_size *garbage, uint32_t n)
{
    int rc = 0;
    for (uint32_t next = 0; next < n && !rc;) {
        if (!gc->dry_run)
            rc = delete_garbage_slice(gc, garbage, n, &next);
        else
            count_object(gc, &garbage[next++], true);
    }
    return rc;
}

static bool is_kept(void *context, const struct digest *digest)
{
    return is_marked(context, digest);
}

/* Of one that is damaged, or was changed meanwhile, the base stays as long as it does:
 * the statement that deletes looks for that. */
static int rebase_some(struct object_sweep *s)
{
    struct gc *gc = s->gc;
    int rc = 0;
    for (uint32_t next = 0; next < s->n_rebased && !gc->dry_run && !rc;) {
        bool done;
        rc = gc_begin_slice(gc);
        if (rc)
            return rc;
        do
            rc = store_rebase_object(gc->store, &s->rebased[next++], is_kept, gc, &done,
                                     gc->error);
        while (!rc && next < s->n_rebased && !store_slice_full(&gc->slice));
        rc = gc_end_slice(gc, rc);
    }
    return rc;
}

static int sweep_objects(struct gc *gc)
{
    struct object_sweep *s = calloc(1, sizeof *s);
    int rc = 0;
    if (!s)
        return error_nomem(gc->error);
    s->gc = gc;
    s->next = gc->up_to;
    do {
        s->rows = s->n = s->n_rebased = 0;
        rc = store_each_object(gc->store, s->next, OBJECTS_AT_ONCE, note_object, s,
                               gc->error)
             ?: rebase_some(s)
             ?: delete_garbage(gc, s->garbage, s->n);
    } while (!rc && s->rows == OBJECTS_AT_ONCE && s->next);
    if (!rc)
        rc = delete_garbage(gc, s->last, s->n_last);
    free(s);
    return rc;
}

/* Whoever lets go of what is held has it deleted now, and later what is like it. */
static int look_at_held(struct gc *gc)
{
    int rc = store_gc_held(gc->store, &gc->held, gc->error);
    if (rc || !gc->held || !gc->options->forget_lost)
        return rc;
    gc->held = 0;
    if (gc->dry_run)
        return 0;
    return gc_begin_slice(gc)
               ?: gc_end_slice(gc, store_gc_let_go(gc->store, gc->error));
}

/* Deletes content that nothing refers to; a dry run only counts. */
static int gc_remove_objects(struct gc *gc)
{
    assert(gc->n_marks == 0 && !gc->slice.open);
    return mark_all(gc) ?: look_at_held(gc) ?: sweep_objects(gc);
}

static int collect_garbage(struct gc *gc)
{
    assert(!gc->slice.open);
    return gc_choose_runs(gc) ?: gc_remove_runs(gc) ?: gc_remove_objects(gc);
}

/* Also of a collection that was cut short by an error. */
static int end_epoch(struct gc *gc)
{
    const struct cairn_gc_result *done = &gc->result;
    char text[120];
    int rc = store_gc_end(gc->store, gc->error);
    if (rc || (!done->runs && !done->objects))
        return rc;
    snprintf(text, sizeof text, "%llu run%s, %llu object%s, %llu bytes",
             (unsigned long long)done->runs, done->runs == 1 ? "" : "s",
             (unsigned long long)done->objects, done->objects == 1 ? "" : "s",
             (unsigned long long)done->freed_bytes);
    return store_note_event(gc->store, EVENTS_OF_STORE, EVENT_COLLECTED, str_of(text),
                            gc->error);
}

/* From its first commit on, content that others begin to use again is kept. */
static int collect_in_epoch(struct gc *gc)
{
    assert(!gc->dry_run && gc->n_chosen == 0);
    int rc = gc_begin_slice(gc);
    if (rc)
        return rc;
    (void)store_leftovers(gc->store, true, NULL);
    rc = gc_end_slice(gc, store_gc_begin(gc->store, &gc->up_to, gc->error));
    if (rc)
        return rc;
    int failed = collect_garbage(gc);
    struct cairn_error *error = gc->error;
    if (failed)
        gc->error = NULL; /* the first error is the cause */
    rc = gc_begin_slice(gc) ?: gc_end_slice(gc, end_epoch(gc));
    gc->error = error;
    return failed ? failed : rc;
}

static int collect_locked(struct gc *gc)
{
    int rc = gc->dry_run ? store_last_object(gc->store, &gc->up_to, gc->error)
                         : store_gc_lock(gc->store, gc->error);
    if (rc || gc->dry_run)
        return rc ? rc : collect_garbage(gc);
    rc = collect_in_epoch(gc);
    store_empty_log(gc->store);
    store_gc_unlock(gc->store);
    return rc;
}

int checkpoint_gc(struct cairn_store *store, const struct payload_kinds *kinds,
                  const struct cairn_gc_options *options,
                  struct cairn_gc_result *result, struct cairn_error *error)
{
    static const struct cairn_gc_options defaults;
    struct gc gc = {.store = store,
                    .slice.store = store,
                    .kinds = kinds,
                    .options = options ? options : &defaults};
    assert(kinds);
    gc.error = error;
    gc.now_ns = clock_utc_ns();
    gc.dry_run = gc.options->dry_run;
    if (gc.options->older_than_ms < 0)
        return error_set(error, CAIRN_EUSAGE, "an age below zero");
    if (!gc.dry_run && store_read_only(store))
        return error_set(error, CAIRN_EUSAGE, "the store %s was opened read-only",
                         cairn_store_path(store));
    gc.sha = sha256_new();
    if (!gc.sha)
        return error_nomem(error);
    int rc = collect_locked(&gc);
    assert(!gc.slice.open);
    gc.result.slices = gc.slice.ended;
    gc.result.longest_us = gc.slice.longest_us;
    assert(!gc.dry_run || gc.result.slices == 0);
    sha256_free(gc.sha);
    free(gc.chosen);
    free(gc.marks);
    outputs_budget_release(&gc.outputs);
    node_set_release(&gc.nodes);
    if (result)
        *result = gc.result;
    return rc;
}
