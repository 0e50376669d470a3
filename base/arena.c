/* SPDX-License-Identifier: MIT */
/* Blocks grow from 4 KiB to 1 MiB; what is larger gets a block of its own. */
#include "base/arena.h"

#include <stdlib.h>

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
