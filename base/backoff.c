/* SPDX-License-Identifier: MIT */
#include "base/backoff.h"

#include "base/clock.h"

#include <assert.h>
#include <time.h>

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
    return (int64_t)delay;
}

void backoff_sleep(int64_t *pause_ns, int64_t longest_ns)
{
    assert(*pause_ns >= 0 && *pause_ns < 1000000000);
    nanosleep(&(struct timespec){.tv_nsec = (long)*pause_ns}, NULL);
    *pause_ns = *pause_ns * 2 < longest_ns ? *pause_ns * 2 : longest_ns;
}
