/* SPDX-License-Identifier: MIT */
/* Numbers that look random, and are the same everywhere for one seed. */
#ifndef TESTS_SUPPORT_RANDOM_H
#define TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

uint64_t help_next(uint64_t *seed);
uint32_t help_below(uint64_t *seed, uint32_t n); /* below n */

#endif
