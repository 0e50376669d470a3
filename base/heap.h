/* SPDX-License-Identifier: MIT */
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
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* NAME_push(at, &n, entry): at[n] must be there.
 * NAME_pop(at, &n): takes the first of n > 0 entries. */
#define HEAP_OF(name, type, before)                                      \
    static inline void name##_push(type *at, uint32_t *n, type entry)    \
    {                                                                    \
        uint32_t i = (*n)++;                                             \
        for (; i > 0 && before(entry, at[(i - 1) / 2]); i = (i - 1) / 2) \
            at[i] = at[(i - 1) / 2];                                     \
        at[i] = entry;                                                   \
    }                                                                    \
    static inline type name##_pop(type *at, uint32_t *n)                 \
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
