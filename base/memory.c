/* SPDX-License-Identifier: MIT */
/* Arenas, arrays and maps. */
#include "base/memory.h"

#include "base/clock.h"

#include <stdlib.h>

/* Blocks grow from 4 KiB to 1 MiB; what is larger gets a block of its own. */

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { BLOCK_MIN = 1, BLOCK_MAX = 1, ALIGN = 16 }; /* sanitizers see where each ends */
#else
enum { BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20, ALIGN = 16 };
#endif

struct arena_block {
    struct arena_block *next;
    size_t padding;
    char data[];
};

void arena_release(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    *arena = ARENA_INIT;
}

static bool add_block(struct arena *arena, size_t need)
{
    size_t size = arena->size ? arena->size * 2 : BLOCK_MIN;
    if (size > BLOCK_MAX)
        size = BLOCK_MAX;
    if (size < need)
        size = need;
    struct arena_block *block = calloc(1, sizeof *block + size);
    if (!block)
        return false;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = 0;
    arena->size = size;
    arena->total += sizeof *block + size;
    return true;
}

static char *take_aligned(struct arena *arena, size_t n, size_t align)
{
    size_t start = (arena->used + align - 1) / align * align;
    if (arena->failed)
        return NULL;
    if (!arena->blocks || start > arena->size || n > arena->size - start) {
        if (!add_block(arena, n)) {
            arena->failed = true;
            return NULL;
        }
        start = 0;
    }
    arena->used = start + n;
    return arena->blocks->data + start;
}

void *arena_take(struct arena *arena, size_t count, size_t size)
{
    static char none[ALIGN] __attribute__((aligned(ALIGN)));
    size_t n;
    if (__builtin_mul_overflow(count, size, &n) || n > SIZE_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    if (!n)
        return arena->failed ? NULL : none;
    return take_aligned(arena, n, ALIGN);
}

char *arena_text(struct arena *arena, struct str text)
{
    char *copy = take_aligned(arena, text.len + 1, 1);
    if (copy && text.len)
        memcpy(copy, text.ptr, text.len);
    return copy;
}

struct str arena_str(struct arena *arena, struct str text)
{
    if (!text.len && !arena->failed)
        return STR("");
    char *copy = arena_text(arena, text);
    return (struct str){copy, copy ? text.len : 0};
}

/* Appended to a buffer, then copied. */
static struct str join(struct arena *arena, struct str a, struct str b,
                       void (*append)(struct buf *buf, struct str text))
{
    struct buf text = BUF_INIT;
    append(&text, a);
    append(&text, b);
    arena->failed |= text.failed;
    struct str copy = arena_str(arena, buf_view(&text));
    buf_release(&text);
    return copy;
}

struct str arena_join(struct arena *arena, struct str a, struct str b)
{
    return join(arena, a, b, buf_str);
}

struct str arena_path(struct arena *arena, struct str dir, struct str name)
{
    return join(arena, dir, name, buf_path);
}

void *array_room(void *array, size_t n, size_t *capacity, size_t size)
{
    enum { FIRST = 16 };
    size_t more = *capacity ? 2 * *capacity : FIRST, bytes;
    if (n < *capacity)
        return array;
    void *moved =
        __builtin_mul_overflow(more, size, &bytes) ? NULL : realloc(array, bytes);
    if (moved)
        *capacity = more;
    return moved;
}

bool array_extend(void *array, size_t before, size_t n, size_t size)
{
    char *at;
    size_t bytes;
    memcpy(&at, array, sizeof at);
    if (!at)
        return true;
    at = __builtin_mul_overflow(n ? n : 1, size, &bytes) ? NULL : realloc(at, bytes);
    if (!at)
        return false;
    if (n > before)
        memset(at + before * size, 0, (n - before) * size);
    memcpy(array, &at, sizeof at);
    return true;
}

/* The hash is wyhash-like folding of 8-byte words (W. Yi, public domain). */

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
