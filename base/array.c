/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <stdlib.h>

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
