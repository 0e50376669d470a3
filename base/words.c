/* SPDX-License-Identifier: MIT */
#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>

void hex_of_bytes(const void *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[byte[i] >> 4];
        *out++ = digits[byte[i] & 15];
    }
    *out = 0;
}

int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* ---- Numbers and durations ---- */

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

bool digits_take(const char **at, char end, uint64_t most, uint64_t *out)
{
    char *stop;
    if (**at < '0' || **at > '9')
        return false;
    *out = strtoull(*at, &stop, 10);
    *at = *stop ? stop + 1 : stop;
    return *stop == end && *out <= most;
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

/* The decimals at `at`, as so many of the unit. False: that is not a whole number of
 * ms. */
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

/* ---- Names ---- */

/* All bytes are lower-case letters, digits, '_', or one of `extra`, and upper-case
 * letters if `upper`. */
static bool made_of(struct str text, bool upper, const char *extra)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                    (upper && c >= 'A' && c <= 'Z') || (c && strchr(extra, c));
        if (!fine)
            return false;
    }
    return text.len > 0;
}

bool str_to_bytes(struct str text, uint64_t most, uint64_t *out)
{
    static const char units[] = "KMGT";
    uint64_t size = 0;
    size_t digits = 0;
    unsigned shift = 0;
    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        digits++;
    struct str rest = {text.ptr + digits, text.len - digits};
    const char *unit =
        rest.len ? memchr(units, rest.ptr[0] & ~0x20, sizeof units - 1) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        rest = (struct str){rest.ptr + 1, rest.len - 1};
        if (str_equal(rest, STR("iB")) || str_equal(rest, STR("B")))
            rest.len = 0;
    }
    if (rest.len || !str_to_u64((struct str){text.ptr, digits}, &size) ||
        size > most >> shift)
        return false;
    *out = size << shift;
    return true;
}

bool str_is_id(struct str text)
{
    return made_of(text, true, ".-") && text.ptr[0] != '.' && text.ptr[0] != '-';
}

bool str_is_key(struct str text)
{
    return made_of(text, false, "") && !(text.ptr[0] >= '0' && text.ptr[0] <= '9');
}

bool str_is_env_name(struct str text)
{
    return made_of(text, true, "") && !(text.ptr[0] >= '0' && text.ptr[0] <= '9');
}

/* ---- Words of a shell ---- */

static bool is_plain(struct str text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_@%+=:,./-";
    size_t n = 0;
    while (n < text.len && memchr(plain, text.ptr[n], sizeof plain - 1))
        n++;
    return text.len && n == text.len;
}

void buf_shell_word(struct buf *buf, struct str text)
{
    if (is_plain(text)) {
        buf_str(buf, text);
        return;
    }
    buf_byte(buf, '\'');
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\'')
            buf_text(buf, "'\\''");
        else
            buf_byte(buf, (uint8_t)text.ptr[i]);
    buf_byte(buf, '\'');
}

const char *shell_word_in(char *out, size_t size, struct str text)
{
    size_t used = 0;
    if (SHELL_WORD_ROOM(text.len) > size)
        return "NAME";
    const char *quote = is_plain(text) ? "" : "'";
    used += (size_t)snprintf(out, size, "%s", quote);
    for (size_t i = 0; i < text.len; i++)
        used += text.ptr[i] == '\''
                    ? (size_t)snprintf(out + used, size - used, "'\\''")
                    : (size_t)snprintf(out + used, size - used, "%c", text.ptr[i]);
    snprintf(out + used, size - used, "%s", quote);
    return out;
}
