/* SPDX-License-Identifier: MIT */
/* Arrays that grow. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/* Room for one more element of `size` bytes behind the `n` that `array` has; `capacity`
 * (in elements; 0 with a NULL array) is doubled when they fill it. The array, which may
 * have moved; NULL: out of memory, and nothing has changed. */
void *array_room(void *array, size_t n, size_t *capacity, size_t size);

#endif
