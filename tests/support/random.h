/* SPDX-License-Identifier: MIT */
/* Numbers that look random, and are the same everywhere for one seed; and how many
 * rounds CAIRN_TEST_LEVEL asks for: quick, brief (under sanitizers), short or full. */
#ifndef TESTS_SUPPORT_RANDOM_H
#define TESTS_SUPPORT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

uint64_t help_next(uint64_t *seed);
uint32_t help_below(uint64_t *seed, uint32_t n); /* below n */

bool help_in_full(void);
int help_stride(void); /* from one case to the next: 1, for brief 5, for quick 29 */
int help_rounds(int usual, int full); /* with `usual` divided by the stride */

#endif
