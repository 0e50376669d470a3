/* SPDX-License-Identifier: MIT */
#include "tests/support/random.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

uint64_t help_next(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u); /* splitmix64, S. Vigna */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t help_below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(help_next(seed) >> 32) % n;
}

static bool level_is(const char *name)
{
    const char *level = getenv("CAIRN_TEST_LEVEL");
    return level && strcmp(level, name) == 0;
}

int help_stride(void)
{
    return level_is("quick") ? 29 : level_is("brief") ? 5 : 1;
}

bool help_in_full(void)
{
    return level_is("full");
}

int help_rounds(int usual, int full)
{
    int rounds = help_in_full() ? full : usual / help_stride();
    return rounds > 1 ? rounds : 1;
}
