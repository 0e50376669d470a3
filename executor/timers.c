/* SPDX-License-Identifier: MIT */
/* A heap ordered by time; equal times keep no particular order. */
#include "executor/timers.h"

#include "base/array.h"

#include <stdlib.h>

int timers_add(struct timers *timers, struct timer timer, struct cairn_error *error)
{
    struct timer *at = array_room(timers->at, timers->n, &timers->capacity, sizeof *at);
    if (!at)
        return error_nomem(error);
    timers->at = at;
    uint32_t i = timers->n++;
    for (; i > 0 && timers->at[(i - 1) / 2].when_ns > timer.when_ns; i = (i - 1) / 2)
        timers->at[i] = timers->at[(i - 1) / 2];
    timers->at[i] = timer;
    return 0;
}

bool timers_due(struct timers *timers, int64_t now_ns, struct timer *out)
{
    if (timers->n == 0 || timers->at[0].when_ns > now_ns)
        return false;
    *out = timers->at[0];
    struct timer last = timers->at[--timers->n];
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= timers->n)
            break;
        if (child + 1 < timers->n &&
            timers->at[child + 1].when_ns < timers->at[child].when_ns)
            child++;
        if (timers->at[child].when_ns >= last.when_ns)
            break;
        timers->at[i] = timers->at[child];
        i = child;
    }
    if (timers->n)
        timers->at[i] = last;
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
