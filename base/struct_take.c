/* SPDX-License-Identifier: MIT */
/* Structs of callers, whatever version of the headers they were compiled with. */
#include "base/struct_take.h"

#include <stdint.h>
#include <string.h>

/* More is no size but whatever was in the memory, and is not read. */
enum { STRUCT_BYTES_MOST = 4096 };

int struct_take(void *whole, size_t known, size_t first, const void *given,
                const char *tag, struct cairn_error *error)
{
    const uint8_t *from = given;
    size_t size;
    memset(whole, 0, known);
    if (!given)
        return 0;
    memcpy(&size, given, sizeof size);
    size_t bytes = size ? size : first;
    if (bytes < sizeof size || bytes > STRUCT_BYTES_MOST)
        return error_set(
            error, CAIRN_EUSAGE,
            "`size` of struct %s is %zu, which no version of it has: set it "
            "to sizeof of the struct",
            tag, size);
    for (size_t i = known; i < bytes; i++)
        if (from[i])
            return error_set(error, CAIRN_EUSAGE,
                             "struct %s has %zu bytes in the program and %zu in this "
                             "library, and something is set in those that the library "
                             "does not know: use the library that the program was "
                             "compiled with, or a later one",
                             tag, bytes, known);
    memcpy(whole, given, bytes < known ? bytes : known);
    memcpy(whole, &known, sizeof known);
    return 0;
}

int struct_take_all(void *whole, size_t known, size_t first, const void *given,
                    size_t n, const char *tag, struct cairn_error *error)
{
    size_t size = 0, each = 0;
    int rc = 0;
    if (n)
        memcpy(&size, given, sizeof size);
    for (size_t i = 0; i < n && !rc; i++) {
        const uint8_t *at = (const uint8_t *)given + i * (size ? size : first);
        rc = struct_take((uint8_t *)whole + i * known, known, first, at, tag, error);
        if (!rc)
            memcpy(&each, at, sizeof each);
        if (!rc && each != size)
            rc = error_set(error, CAIRN_EUSAGE,
                           "`size` of struct %s is %zu in one of an array, and %zu in "
                           "the first",
                           tag, each, size);
    }
    return rc;
}

void struct_give(void *given, size_t known, size_t first, const void *whole)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    size_t bytes = size ? size : first, at = sizeof size;
    memcpy((uint8_t *)given + at, (const uint8_t *)whole + at,
           (bytes < known ? bytes : known) - at);
}
