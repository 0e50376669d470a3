/* SPDX-License-Identifier: MIT */
/* The hash is wyhash-like folding of 8-byte words (W. Yi, public domain). */
#include "base/map.h"

#include "base/clock.h"

#include <stdlib.h>

static uint64_t multiply_and_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t hash_of(const struct map *map, struct str key)
{
    uint64_t hash = map->seed ^ (key.len * 0x9e3779b97f4a7c15u);
    size_t i = 0;
    for (; i + 8 <= key.len; i += 8) {
        uint64_t word;
        memcpy(&word, key.ptr + i, 8);
        hash = multiply_and_fold(hash ^ word, 0xa0761d6478bd642fu);
    }
    uint64_t last = 0;
    if (i < key.len)
        memcpy(&last, key.ptr + i, key.len - i);
    hash = multiply_and_fold(hash ^ last, 0xe7037ed1a0b428dbu);
    return (uint32_t)(hash ^ (hash >> 32));
}

void map_release(struct map *map)
{
    free(map->slots);
    *map = MAP_INIT;
}

static struct map_slot *find_slot(const struct map *map, struct str key, uint32_t hash)
{
    size_t mask = map->capacity - 1;
    size_t at = hash & mask;
    while (map->slots[at].key.ptr) {
        if (map->slots[at].hash == hash && str_equal(map->slots[at].key, key))
            break;
        at = (at + 1) & mask;
    }
    return &map->slots[at];
}

/* Asked for once: a map for each task of a file is usual. */
static uint64_t seed_of_process(void)
{
    static _Atomic uint64_t seed;
    if (!seed)
        seed = random_u64() | 1;
    return seed;
}

static int resize_table(struct map *map, size_t capacity)
{
    struct map old = *map;
    struct map_slot *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return CAIRN_ENOMEM;
    if (!map->seed)
        map->seed = seed_of_process();
    map->slots = slots;
    map->capacity = capacity;
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].key.ptr)
            *find_slot(map, old.slots[i].key, old.slots[i].hash) = old.slots[i];
    free(old.slots);
    return 0;
}

int map_reserve(struct map *map, size_t n)
{
    size_t capacity = map->capacity ? map->capacity : 16;
    while (capacity / 2 < n)
        capacity *= 2;
    return capacity == map->capacity ? 0 : resize_table(map, capacity);
}

int map_add(struct map *map, struct str key, uint32_t value, uint32_t *existing)
{
    if (map_reserve(map, map->count + 1))
        return CAIRN_ENOMEM;
    uint32_t hash = hash_of(map, key);
    struct map_slot *slot = find_slot(map, key, hash);
    if (slot->key.ptr) {
        if (existing)
            *existing = slot->value;
        return 0;
    }
    *slot = (struct map_slot){{key.ptr ? key.ptr : "", key.len}, value, hash};
    map->count++;
    return 1;
}

uint32_t map_get(const struct map *map, struct str key)
{
    if (!map->count)
        return MAP_NONE;
    const struct map_slot *slot = find_slot(map, key, hash_of(map, key));
    return slot->key.ptr ? slot->value : MAP_NONE;
}
