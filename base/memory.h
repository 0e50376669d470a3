/* SPDX-License-Identifier: MIT */
/* Memory: arenas, arrays that grow, hash maps, heaps. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include "base/str.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An arena: many small allocations, freed together. Memory is zeroed and aligned to 16
 * bytes (arena_text: not aligned); nothing may be written to what has no size. A failed
 * allocation returns NULL and sets `failed`, which sticks, so a builder may check once
 * at its end. */

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t used, size; /* of the newest block */
    size_t total;      /* bytes taken from the system */
    bool failed;
};

#define ARENA_INIT ((struct arena){0})

void arena_release(struct arena *arena);
void *arena_take(struct arena *arena, size_t count, size_t size);
/* A NUL-terminated copy; len excludes the NUL. */
struct str arena_str(struct arena *arena, struct str text);
char *arena_text(struct arena *arena, struct str text);
/* The same of two texts, one behind the other; of `name` as it is named from the
 * directory `dir` (buf_path), which may be empty. */
struct str arena_join(struct arena *arena, struct str a, struct str b);
struct str arena_path(struct arena *arena, struct str dir, struct str name);

/* Room for one more element of `size` bytes behind the `n` that `array` has; `capacity`
 * (in elements; 0 with a NULL array) is doubled when they fill it. The array, which may
 * have moved; NULL: out of memory, and nothing has changed. */
void *array_room(void *array, size_t n, size_t *capacity, size_t size);
/* An array of `n` elements in place of one of `before`, which may be NULL and then stays
 * so; what is new is zero. False: out of memory, and nothing has changed. `array` is the
 * address of the pointer. */
bool array_extend(void *array, size_t before, size_t n, size_t size);

/* A hash map from strings to 32-bit numbers (indexes into somebody's array). Open
 * addressing, linear probing, load at most one half. Keys are borrowed: they must live
 * as long as the map. There is no removal: nothing here needs one. The hash is seeded
 * per process, so keys from a file cannot be chosen to collide. */

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

/* A binary heap of small structs, made for one type and one order by
 *
 *     static inline bool before(struct entry a, struct entry b);
 *     HEAP_OF(queue, struct entry, before)
 *
 * which defines queue_push and queue_pop. These are functions of their own, so that the
 * order is inlined: a heap with a comparison behind a pointer costs the ready queue of
 * a wide graph several times as much. The entries lie in one array, so they should
 * carry what they are ordered by.
 *
 * The caller owns the array and sees to its room. Entries of which neither comes before
 * the other leave in no particular order. */

/* NAME_push(at, &n, entry): at[n] must be there.
 * NAME_pop(at, &n): takes the first of n > 0 entries. */
#define HEAP_OF(name, type, before)                                      \
    static inline void name##_push(type at[], uint32_t *n, type entry)   \
    {                                                                    \
        uint32_t i = (*n)++;                                             \
        for (; i > 0 && before(entry, at[(i - 1) / 2]); i = (i - 1) / 2) \
            at[i] = at[(i - 1) / 2];                                     \
        at[i] = entry;                                                   \
    }                                                                    \
    static inline type name##_pop(type at[], uint32_t *n)                \
    {                                                                    \
        assert(*n > 0);                                                  \
        type top = at[0], last = at[--*n];                               \
        uint32_t i = 0;                                                  \
        for (;;) {                                                       \
            uint32_t child = 2 * i + 1;                                  \
            if (child >= *n)                                             \
                break;                                                   \
            if (child + 1 < *n && before(at[child + 1], at[child]))      \
                child++;                                                 \
            if (!before(at[child], last))                                \
                break;                                                   \
            at[i] = at[child];                                           \
            i = child;                                                   \
        }                                                                \
        at[i] = last;                                                    \
        return top;                                                      \
    }

#endif
