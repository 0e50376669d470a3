/* SPDX-License-Identifier: MIT */
#include "snapshot/chunks.h"

#include <pthread.h>

/* Harder to fulfil before the usual size, easier after it. The bits are high ones, on
 * which the most bytes before the place have their effect. */
#define MASK_BEFORE (((1ull << 22) - 1) << 42)
#define MASK_AFTER (((1ull << 18) - 1) << 46)

static uint64_t gears[256];

/* splitmix64 (Steele, Lea, Flood, 2014), from 0. */
static void make_gears(void)
{
    uint64_t state = 0;
    for (int i = 0; i < 256; i++) {
        uint64_t z = (state += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        gears[i] = z ^ (z >> 31);
    }
}

size_t chunk_cut(struct str content)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint8_t *bytes = (const uint8_t *)content.ptr;
    size_t most = content.len < CHUNK_MOST ? content.len : CHUNK_MOST;
    size_t usual = most < CHUNK_USUAL ? most : CHUNK_USUAL;
    uint64_t hash = 0;
    pthread_once(&once, make_gears);
    size_t at = CHUNK_LEAST;
    for (; at < usual; at++) {
        hash = (hash << 1) + gears[bytes[at]];
        if (!(hash & MASK_BEFORE))
            return at + 1;
    }
    for (; at < most; at++) {
        hash = (hash << 1) + gears[bytes[at]];
        if (!(hash & MASK_AFTER))
            return at + 1;
    }
    return most;
}
