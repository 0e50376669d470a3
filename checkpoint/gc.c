/* SPDX-License-Identifier: MIT */
/* cairn_gc: garbage collection, beside whatever else happens to the store.
 *
 *   1. runs are chosen that may go as a whole (gc_choose.c)
 *   2. newest first, so that forks go before what they fork from, each loses its
 *      checkpoints from the oldest on, then in one transaction the rest of them and its
 *      row, and then what it has in other tables, where nobody sees it any more
 *      (gc_runs.c)
 *   3. content that nothing refers to is deleted (gc_objects.c)
 *
 * After every transaction the store is whole: a run that has lost its older checkpoints
 * is one that was pruned, and rows of a run without a row and checkpoints belong to
 * nobody; whoever comes later deletes them. */
#include "checkpoint/gc.h"
#include "checkpoint/gc_int.h"

#include "base/clock.h"
#include "base/lock.h"
#include "storage/rows_gc.h"
#include "storage/store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { SLICE_NS = 10000000, BREATH_NS = 25000000 };

int gc_begin_slice(struct gc *gc)
{
    assert(!gc->dry_run);
    int rc = store_begin(gc->store, -1, gc->error);
    gc->began = clock_mono_ns();
    return rc;
}

bool gc_slice_full(const struct gc *gc)
{
    assert(gc->began > 0);
    return clock_mono_ns() - gc->began > SLICE_NS;
}

/* Who waits for the write lock looks every 20 ms. Without a pause that is longer than
 * this, and at least as long as we had it, a run beside us would get no turn. */
static void breathe(struct gc *gc, int64_t took)
{
    if (lock_held(store_lock_file(gc->store), LOCK_WRITERS, NULL) == 0)
        return;
    int64_t pause = took > BREATH_NS ? took : BREATH_NS;
    struct timespec left = {pause / 1000000000, pause % 1000000000};
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

int gc_end_slice(struct gc *gc, int rc)
{
    assert(gc->began > 0);
    rc = store_end(gc->store, rc, gc->error);
    int64_t took = clock_mono_ns() - gc->began;
    gc->result.slices++;
    if (took / 1000 > gc->result.longest_us)
        gc->result.longest_us = took / 1000;
    breathe(gc, took);
    return rc;
}

static int collect(struct gc *gc)
{
    int rc = gc_choose_runs(gc);
    if (!rc)
        rc = gc_remove_runs(gc);
    return rc ? rc : gc_remove_objects(gc);
}

/* From the first commit on, what others use again stays. */
static int collect_in_epoch(struct gc *gc)
{
    assert(!gc->dry_run);
    int rc = gc_begin_slice(gc);
    if (rc)
        return rc;
    rc = gc_end_slice(gc, store_gc_begin(gc->store, &gc->up_to, gc->error));
    if (rc)
        return rc;
    int failed = collect(gc);
    struct cairn_error *error = gc->error;
    if (failed)
        gc->error = NULL; /* the first one tells why */
    rc = gc_begin_slice(gc);
    if (!rc)
        rc = gc_end_slice(gc, store_gc_end(gc->store, gc->error));
    gc->error = error;
    return failed ? failed : rc;
}

static int collect_locked(struct gc *gc)
{
    int rc = gc->dry_run ? store_last_object(gc->store, &gc->up_to, gc->error)
                         : store_gc_lock(gc->store, gc->error);
    if (rc || gc->dry_run)
        return rc ? rc : collect(gc);
    rc = collect_in_epoch(gc);
    store_gc_unlock(gc->store);
    return rc;
}

int checkpoint_gc(struct cairn_store *store, const struct payload_kinds *kinds,
                  const struct cairn_gc_options *options,
                  struct cairn_gc_result *result, struct cairn_error *error)
{
    static const struct cairn_gc_options defaults;
    struct gc gc = {
        .store = store, .kinds = kinds, .options = options ? options : &defaults};
    assert(kinds);
    gc.error = error;
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
    sha256_free(gc.sha);
    free(gc.doomed);
    free(gc.marks);
    if (result)
        *result = gc.result;
    return rc;
}

int cairn_gc(struct cairn_store *store, const struct cairn_gc_options *options,
             struct cairn_gc_result *result, struct cairn_error *error)
{
    return checkpoint_gc(store, &payload_kinds, options, result, error);
}
