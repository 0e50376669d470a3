/* SPDX-License-Identifier: MIT */
/* Repeatable random numbers: splitmix64. */
#include "flow.h"

uint32_t rng_below(struct rng *rng, uint32_t n)
{
    uint64_t x = rng->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ (x >> 31)) % n);
}

bool rng_one_in(struct rng *rng, uint32_t n)
{
    return rng_below(rng, n) == 0;
}
