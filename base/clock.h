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
/* Processor time of this thread. */
int64_t clock_thread_ns(void);
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
/* 2 * n digits of hex and a NUL, of n bytes: at most 32. */
int random_hex(char *out, unsigned n, struct cairn_error *error)
    __attribute__((warn_unused_result));
/* For seeds, delays and names that need not be secret: without the generator it is made
 * of the time, so that it still differs from one call to the next. */
uint64_t random_u64(void);

/* How long to wait before something is tried again:
 * delay * factor^(n - 1) before the try that follows the n-th failure. */
struct backoff {
    int64_t delay_ms;
    uint32_t factor_permille; /* 1000: always the same */
    bool jitter;    /* times a random number from one half to one and a half */
    int64_t cap_ms; /* nothing is longer, whatever else; 0: none */
};

/* Milliseconds. The factor makes it grow up to a day, or `delay_ms` if that is longer;
 * then comes the jitter, and then the cap. */
int64_t backoff_delay_ms(const struct backoff *backoff, uint32_t failures);
/* Sleeps for *pause_ns (less than a second), which is then doubled, up to longest_ns. A
 * signal only makes the next try come sooner. */
void backoff_sleep(int64_t *pause_ns, int64_t longest_ns);

#endif
