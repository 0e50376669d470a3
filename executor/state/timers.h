/* SPDX-License-Identifier: MIT */
/* Timers: a binary heap of (when, what). Entries are not removed when they lose their
 * meaning; the receiver recognises old ones by `stamp`. */
#ifndef EXECUTOR_STATE_TIMERS_H
#define EXECUTOR_STATE_TIMERS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum timer_kind {
    TIMER_TIMEOUT,
    TIMER_KILL,
    TIMER_RETRY,
    TIMER_TICK,
    TIMER_COMMIT,
    TIMER_DEADLINE,
    TIMER_TRIM
};

struct timer {
    int64_t when_ns; /* monotonic */
    uint32_t kind;
    uint32_t index; /* slot or task */
    uint64_t stamp;
};

struct timers {
    struct timer *at;
    uint32_t n;
    size_t capacity;
};

int timers_add(struct timers *timers, struct timer timer, struct cairn_error *error);
/* Takes the earliest one if it is due. */
bool timers_take_due(struct timers *timers, int64_t now_ns, struct timer *out);
/* When the earliest one is due; INT64_MAX: there is none. */
int64_t timers_first_ns(const struct timers *timers);
void timers_release(struct timers *timers);

#endif
