/* SPDX-License-Identifier: MIT */
#include "tests/support/random.h"

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
