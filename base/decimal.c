/* SPDX-License-Identifier: MIT */
#include "base/decimal.h"

bool str_to_u64(struct str text, uint64_t *out)
{
    uint64_t value = 0;
    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c < '0' || c > '9')
            return false;
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(c - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}

struct str str_decimal(int64_t number, char out[24])
{
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char *end = out + 24, *at = end;
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    return (struct str){at, (size_t)(end - at)};
}
