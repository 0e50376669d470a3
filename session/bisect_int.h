/* SPDX-License-Identifier: MIT */
/* Which of many in a line to try next, to find the first bad one. Pure. */
#ifndef SESSION_BISECT_INT_H
#define SESSION_BISECT_INT_H

#include <stdbool.h>
#include <stddef.h>

/* Number `good` is known to be good, number `bad` > `good` to be bad, and with each
 * answer they come closer. */
struct bisection {
    size_t good, bad;
    bool *skipped; /* [bad + 1], of the caller */
};

/* The one in the middle, or, where that was skipped, the nearest one to it that was
 * not. False: none is left to be tried. */
bool bisection_next(const struct bisection *bisection, size_t *at);

#endif
