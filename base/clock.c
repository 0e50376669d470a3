/* SPDX-License-Identifier: MIT */
/* Clocks and kernel randomness. */
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    int bad = clock_gettime(id, &t);
    assert(!bad); /* the ids are constants that Linux 2.6.39 and later know */
    (void)bad;
    return timespec_ns(&t);
}

int64_t clock_utc_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_mono_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_boot_ns(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

void random_bytes(void *out, unsigned n)
{
    ssize_t got;
    assert(n <= 256); /* such requests are never cut short */
    do
        got = getrandom(out, n, 0);
    while (got < 0 && errno == EINTR);
    assert(got == (ssize_t)n);
}

uint64_t random_u64(void)
{
    uint64_t value;
    random_bytes(&value, sizeof value);
    return value;
}
