/* SPDX-License-Identifier: MIT */
/* checkpoint_gc: garbage collection, while other processes may use the store.
 *
 *   1. the runs that may be removed whole are chosen (gc_choose.c)
 *   2. they are removed, newest first, so that forks go before the runs that they fork
 *      from: the checkpoints of each from the oldest on; in one transaction the newest
 *      of them and the run's row; then its rows in other tables, which nothing leads to
 *      any more (gc_runs.c)
 *   3. content that nothing refers to is deleted (gc_objects.c)
 *
 * Files that killed processes had begun to write go first.
 *
 * The write transactions are short (gc_slice.c), and the store is valid after each: a
 * run that has lost its older checkpoints looks like a pruned one, and what is left of
 * a run without a row and checkpoints is deleted by the next collection. */
#include "checkpoint/gc/gc.h"
#include "checkpoint/gc/gc_int.h"

#include "storage/rows_event.h"
#include "storage/rows_gc.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static int collect_garbage(struct gc *gc)
{
    assert(!gc->in_slice);
    int rc = gc_choose_runs(gc);
    if (!rc)
        rc = gc_remove_runs(gc);
    return rc ? rc : gc_remove_objects(gc);
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
    rc = gc_begin_slice(gc);
    if (!rc)
        rc = gc_end_slice(gc, end_epoch(gc));
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
    assert(!gc.in_slice);
    assert(!gc.dry_run || gc.result.slices == 0);
    sha256_free(gc.sha);
    free(gc.chosen);
    free(gc.marks);
    node_set_release(&gc.nodes);
    if (result)
        *result = gc.result;
    return rc;
}
