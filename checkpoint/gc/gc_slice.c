/* SPDX-License-Identifier: MIT */
/* The write transactions of a collection: each is short, and leaves the write lock to
 * others for a while. */
#include "checkpoint/gc/gc_int.h"

#include "base/clock.h"
#include "base/lock.h"
#include "storage/store.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

enum { SLICE_NS = 10000000, PAUSE_NS = 25000000 };

int gc_begin_slice(struct gc *gc)
{
    assert(!gc->dry_run && !gc->in_slice);
    int rc = store_begin(gc->store, -1, gc->error);
    gc->in_slice = rc == 0;
    gc->slice_start_ns = clock_mono_ns();
    return rc;
}

bool gc_slice_full(const struct gc *gc)
{
    assert(gc->in_slice);
    return clock_mono_ns() - gc->slice_start_ns > SLICE_NS;
}

/* A process that waits for the write lock tries again every 20 ms. The pause is longer
 * than that, and at least as long as we held the lock: else a run beside us would never
 * get it. */
static void yield_write_lock(struct gc *gc, int64_t held_ns)
{
    assert(!gc->in_slice && held_ns >= 0);
    if (lock_held(store_lock_file(gc->store), LOCK_WRITERS, NULL) == 0)
        return;
    int64_t pause = held_ns > PAUSE_NS ? held_ns : PAUSE_NS;
    struct timespec left = {pause / 1000000000, pause % 1000000000};
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

int gc_end_slice(struct gc *gc, int rc)
{
    assert(gc->in_slice);
    rc = store_end(gc->store, rc, gc->error);
    int64_t held_ns = clock_mono_ns() - gc->slice_start_ns;
    gc->in_slice = false;
    gc->result.slices++;
    if (held_ns / 1000 > gc->result.longest_us)
        gc->result.longest_us = held_ns / 1000;
    yield_write_lock(gc, held_ns);
    return rc;
}
