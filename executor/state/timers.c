/* SPDX-License-Identifier: MIT */
/* A heap ordered by time; equal times keep no particular order. */
#include "executor/state/timers.h"

#include "base/array.h"
#include "base/heap.h"

#include <stdlib.h>

static inline bool is_earlier(struct timer a, struct timer b)
{
    return a.when_ns < b.when_ns;
}

HEAP_OF(times, struct timer, is_earlier)

int timers_add(struct timers *timers, struct timer timer, struct cairn_error *error)
{
    struct timer *at = array_room(timers->at, timers->n, &timers->capacity, sizeof *at);
    if (!at)
        return error_nomem(error);
    timers->at = at;
    times_push(timers->at, &timers->n, timer);
    return 0;
}

bool timers_take_due(struct timers *timers, int64_t now_ns, struct timer *out)
{
    if (timers->n == 0 || timers->at[0].when_ns > now_ns)
        return false;
    *out = times_pop(timers->at, &timers->n);
    return true;
}

int64_t timers_first_ns(const struct timers *timers)
{
    return timers->n ? timers->at[0].when_ns : INT64_MAX;
}

void timers_release(struct timers *timers)
{
    free(timers->at);
    *timers = (struct timers){0};
}
