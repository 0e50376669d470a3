/* SPDX-License-Identifier: MIT */
/* How long to wait before something is tried again. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* delay * factor^(n - 1) before the try that follows the n-th failure. */
struct backoff {
    int64_t delay_ms;
    uint32_t factor_permille; /* 1000: always the same */
    bool jitter; /* times a random number from one half to one and a half */
};
/* Milliseconds. The factor makes it grow up to a day, or `delay_ms` if that is longer;
 * then comes the jitter. */
int64_t backoff_delay_ms(const struct backoff *backoff, uint32_t failures);

/* Sleeps for *pause_ns (less than a second), which is then doubled, up to longest_ns. A
 * signal only makes the next try come sooner. */
void backoff_sleep(int64_t *pause_ns, int64_t longest_ns);

#endif
