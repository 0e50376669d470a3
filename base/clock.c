/* SPDX-License-Identifier: MIT */
/* Clocks, kernel randomness, pauses. */
#include "base/clock.h"

#include "base/words.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

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

int64_t clock_thread_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_boot_ns(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

static bool ask_kernel(void *out, unsigned n)
{
    ssize_t got;
    assert(n <= 256); /* such requests are never cut short */
    do
        got = getrandom(out, n, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)n;
}

/* A sandbox may refuse the call and have the device. */
static bool read_device(void *out, unsigned n)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t got;
    if (fd < 0)
        return false;
    do
        got = read(fd, out, n);
    while (got < 0 && errno == EINTR);
    int sys = got < 0 ? errno : EIO;
    close(fd);
    errno = sys;
    return got == (ssize_t)n;
}

int random_bytes(void *out, unsigned n, struct cairn_error *error)
{
    if (ask_kernel(out, n) || read_device(out, n))
        return 0;
    return error_sys(error, errno,
                     "neither getrandom nor /dev/urandom gives random numbers");
}

int random_hex(char *out, unsigned n, struct cairn_error *error)
{
    uint8_t bytes[32];
    assert(n <= sizeof bytes);
    int rc = random_bytes(bytes, n, error);
    if (!rc)
        hex_of_bytes(bytes, n, out);
    return rc;
}

/* The finalizer of splitmix64, S. Vigna. */
static uint64_t mix_bits(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t random_u64(void)
{
    static _Atomic uint64_t calls;
    uint64_t value;
    if (!random_bytes(&value, sizeof value, NULL))
        return value;
    uint64_t call = atomic_fetch_add(&calls, 1);
    return mix_bits((uint64_t)clock_boot_ns() ^ ((uint64_t)getpid() << 40) ^
                    (call * 0x9e3779b97f4a7c15u));
}

int64_t backoff_delay_ms(const struct backoff *backoff, uint32_t failures)
{
    enum { DAY_MS = 86400000 };
    double delay = (double)backoff->delay_ms;
    double most = delay > DAY_MS ? delay : DAY_MS;
    for (uint32_t i = 1; i < failures && delay < most; i++)
        delay *= backoff->factor_permille / 1000.0;
    if (delay > most)
        delay = most;
    if (backoff->jitter)
        delay *= 0.5 + (double)(random_u64() >> 11) / (double)(1ull << 53);
    if (backoff->cap_ms && delay > (double)backoff->cap_ms)
        return backoff->cap_ms;
    return (int64_t)delay;
}

void backoff_sleep(int64_t *pause_ns, int64_t longest_ns)
{
    assert(*pause_ns >= 0 && *pause_ns < 1000000000);
    nanosleep(&(struct timespec){.tv_nsec = (long)*pause_ns}, NULL);
    *pause_ns = *pause_ns * 2 < longest_ns ? *pause_ns * 2 : longest_ns;
}
