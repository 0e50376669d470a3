/* SPDX-License-Identifier: MIT */
/* The three clocks and random numbers: the only door to them, so that tests can see
 * where time enters. Pure code takes time as an argument instead. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* UTC, nanoseconds since 1970: what is stored and shown. May jump. */
int64_t clock_utc_ns(void);
/* For delays and timeouts: CLOCK_MONOTONIC. */
int64_t clock_mono_ns(void);
/* Since boot, sleep included: comparable with a process's start time in /proc. */
int64_t clock_boot_ns(void);

/* The first or last that there is (1677, 2262) for times beyond, as a file may have. */
static inline int64_t timespec_ns(const struct timespec *t)
{
    int64_t ns;
    if (__builtin_mul_overflow((int64_t)t->tv_sec, INT64_C(1000000000), &ns) ||
        __builtin_add_overflow(ns, (int64_t)t->tv_nsec, &ns))
        return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

/* The difference of any two times; INT64_MIN or INT64_MAX if it is beyond. */
static inline int64_t ns_between(int64_t from_ns, int64_t to_ns)
{
    int64_t ns;
    if (__builtin_sub_overflow(to_ns, from_ns, &ns))
        return to_ns < from_ns ? INT64_MIN : INT64_MAX;
    return ns;
}

/* Whether a file whose time of change was `changed_ns` would get another one if it
 * changed at `now_ns` (both UTC): file systems count time in steps, FAT in steps of two
 * seconds. */
static inline bool clock_settled(int64_t changed_ns, int64_t now_ns)
{
    return changed_ns < now_ns - 3 * INT64_C(1000000000);
}

/* From the kernel's generator: by getrandom, or where that is refused /dev/urandom.
 * Else error_sys, and nothing is to be made that others could guess. */
int random_bytes(void *out, unsigned n, struct cairn_error *error)
    __attribute__((warn_unused_result));
/* For seeds, delays and names that need not be secret: without the generator it is made
 * of the time, so that it still differs from one call to the next. */
uint64_t random_u64(void);

#endif
