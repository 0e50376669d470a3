/* SPDX-License-Identifier: MIT */
/* A hash map from strings to 32-bit numbers (indexes into somebody's array). Open
 * addressing, linear probing, load at most one half. Keys are borrowed: they must live
 * as long as the map. There is no removal: nothing here needs one. The hash is seeded
 * per process, so keys from a file cannot be chosen to collide. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map_slot {
    struct str key;
    uint32_t value;
    uint32_t hash;
};

struct map {
    struct map_slot *slots;
    size_t count, capacity;
    uint64_t seed;
};

#define MAP_INIT ((struct map){0})

void map_release(struct map *map);
/* Adds key with value. If the key is there already its value is left alone and put into
 * *existing. Returns 1 if added, 0 if there already, CAIRN_ENOMEM. */
int map_add(struct map *map, struct str key, uint32_t value, uint32_t *existing);
/* The value or MAP_NONE. */
uint32_t map_get(const struct map *map, struct str key);
/* Makes room for n keys at once; 0 or CAIRN_ENOMEM. */
int map_reserve(struct map *map, size_t n);

#endif
