/* SPDX-License-Identifier: MIT */
/* Timers: a binary heap of (when, what). Entries are not removed when they lose their
 * meaning; `stamp` lets the receiver tell that it is old. */
#ifndef EXECUTOR_PARTS_TIMERS_H
#define EXECUTOR_PARTS_TIMERS_H

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
bool timers_due(struct timers *timers, int64_t now_ns, struct timer *out);
/* Milliseconds until the earliest, rounded up, at most `longest_ms`. */
int timers_wait_ms(const struct timers *timers, int64_t now_ns, int longest_ms);
void timers_release(struct timers *timers);

#endif
