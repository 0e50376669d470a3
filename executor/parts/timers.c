/* SPDX-License-Identifier: MIT */
/* A heap ordered by time; equal times keep no particular order. */
#include "executor/parts/timers.h"

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

bool timers_due(struct timers *timers, int64_t now_ns, struct timer *out)
{
    if (timers->n == 0 || timers->at[0].when_ns > now_ns)
        return false;
    *out = times_pop(timers->at, &timers->n);
    return true;
}

int timers_wait_ms(const struct timers *timers, int64_t now_ns, int longest_ms)
{
    if (timers->n == 0)
        return longest_ms;
    int64_t left = timers->at[0].when_ns - now_ns;
    if (left <= 0)
        return 0;
    int64_t ms = left / 1000000 + (left % 1000000 != 0);
    return ms < longest_ms ? (int)ms : longest_ms;
}

void timers_release(struct timers *timers)
{
    free(timers->at);
    *timers = (struct timers){0};
}
