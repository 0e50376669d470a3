/* SPDX-License-Identifier: MIT */
/* Texts that may be stored, since no secret is in them: a type of its own, so that the
 * compiler refuses any other text in their place. There are three ways to one, and
 * tests/lint/layers.sh sees to it that nobody goes another:
 *
 *   outside_take   (secrets/outside.h) of a text from outside
 *   clean_stored   in storage/: of what was stored already, and copies of that
 *   CLEAN          of our own words */
#ifndef BASE_CLEAN_H
#define BASE_CLEAN_H

#include "base/memory.h"

struct clean {
    const char *ptr;
    size_t len;
};

#define CLEAN(literal) ((struct clean){"" literal, sizeof(literal) - 1})

static inline struct clean clean_stored(struct str text)
{
    return (struct clean){text.ptr, text.len};
}
static inline struct str clean_str(struct clean text)
{
    return (struct str){text.ptr, text.len};
}
/* As arena_str. */
static inline struct clean clean_copy(struct arena *arena, struct clean text)
{
    return clean_stored(arena_str(arena, clean_str(text)));
}

#endif
