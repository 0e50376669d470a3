/* SPDX-License-Identifier: MIT */
/* Which runs are removed: those that the limits allow and that no kept run needs. */
#include "checkpoint/gc/gc_int.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/map.h"
#include "cairn/outcome.h"
#include "storage/rows_run.h"

#include <assert.h>
#include <stdlib.h>

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

int gc_choose_runs(struct gc *gc)
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

bool gc_is_chosen(const struct gc *gc, uint64_t run)
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
