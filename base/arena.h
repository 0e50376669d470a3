/* SPDX-License-Identifier: MIT */
/* An arena: many small allocations, freed together. Memory is zeroed and aligned to 16
 * bytes (arena_text: not aligned); nothing may be written to what has no size. A failed
 * allocation returns NULL and sets `failed`, which sticks, so a builder may check once
 * at its end. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
