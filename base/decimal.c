/* SPDX-License-Identifier: MIT */
#include "base/decimal.h"

#include <stdio.h>

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

const char *u64_text(uint64_t number, char out[24])
{
    snprintf(out, 24, "%llu", (unsigned long long)number);
    return out;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How many bytes of the text, from `at` on, are digits, or are none. */
static size_t span(struct str text, size_t at, bool digits)
{
    size_t n = 0;
    while (at + n < text.len && is_digit(text.ptr[at + n]) == digits)
        n++;
    return n;
}

/* The decimals at `at`, as so many of the unit. False: that is no whole number of ms. */
static bool add_decimals(struct str text, size_t at, size_t n, int64_t unit,
                         int64_t *ms)
{
    enum { DECIMALS_MOST = 9 };
    uint64_t value;
    int64_t ten = 1;
    if (n > DECIMALS_MOST || !str_to_u64((struct str){text.ptr + at, n}, &value))
        return false;
    for (size_t i = 0; i < n; i++)
        ten *= 10;
    int64_t parts = (int64_t)value * unit; /* below 10^9 days in ms */
    *ms += parts / ten;
    return parts % ten == 0;
}

bool str_to_duration_ms(struct str text, int64_t *out)
{
    static const struct {
        struct str name;
        int64_t ms;
    } units[] = {{{"d", 1}, 86400000},
                 {{"h", 1}, 3600000},
                 {{"m", 1}, 60000},
                 {{"s", 1}, 1000},
                 {{"ms", 2}, 1}};
    enum { UNITS = COUNT_OF(units) };
    const int64_t most = INT64_C(36500) * 86400000;
    int64_t sum = 0;
    size_t at = 0, unit = 0;
    while (at < text.len) {
        uint64_t value;
        int64_t ms;
        size_t digits = span(text, at, true), decimals = 0, from = at + digits;
        if (!str_to_u64((struct str){text.ptr + at, digits}, &value))
            return false;
        at = from;
        if (at < text.len && text.ptr[at] == '.') {
            decimals = span(text, ++at, true);
            from = at;
            at += decimals;
            if (!decimals)
                return false;
        }
        struct str name = {text.ptr + at, span(text, at, false)};
        at += name.len;
        while (unit < UNITS && !str_equal(name, units[unit].name))
            unit++;
        if (unit == UNITS || value > (uint64_t)most ||
            __builtin_mul_overflow((int64_t)value, units[unit].ms, &ms) ||
            (decimals && !add_decimals(text, from, decimals, units[unit].ms, &ms)) ||
            __builtin_add_overflow(sum, ms, &sum) || sum > most)
            return false;
        unit++;
    }
    *out = sum;
    return text.len > 0;
}
