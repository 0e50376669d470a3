/* SPDX-License-Identifier: MIT */
/* The grammar follows the YAML 1.1 type repository (bool, int, float, null, timestamp)
 * and YAML 1.2's core schema where that knows more forms (0o17, 1e3). The one-letter
 * booleans y and n of 1.1 are taken as text: hardly any parser implements them. */
#include "workflow/scalar.h"

#include "base/words.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

/* Number of leading bytes of `text` from `from` that are digits or one of `extra`. */
static size_t digit_span(struct str text, size_t from, const char *extra)
{
    size_t n = 0;
    while (from + n < text.len) {
        char c = text.ptr[from + n];
        if (!is_digit(c) && !is_one_of(c, extra))
            break;
        n++;
    }
    return n;
}

static struct str rest_after(struct str text, size_t n)
{
    return (struct str){text.ptr + n, text.len - n};
}

static struct str without_sign(struct str text)
{
    bool sign = text.len > 1 && (text.ptr[0] == '-' || text.ptr[0] == '+');
    return rest_after(text, sign);
}

static enum scalar_type simple_number(struct str text)
{
    size_t start = text.len > 1 && text.ptr[0] == '-';
    size_t digits = digit_span(text, start, "");
    size_t end = start + digits;
    if (digits == 0 || (digits > 1 && text.ptr[start] == '0'))
        return SCALAR_TEXT;
    if (end == text.len)
        return SCALAR_INTEGER;
    if (text.ptr[end] != '.')
        return SCALAR_TEXT;
    size_t decimals = digit_span(text, end + 1, "");
    return decimals && end + 1 + decimals == text.len ? SCALAR_DECIMAL : SCALAR_TEXT;
}

static bool is_prefixed(struct str text)
{
    static const char *const digits[] = {"xabcdefABCDEF", "xabcdefABCDEF", "", ""};
    static const char marks[] = "xXob";
    if (text.len < 3 || text.ptr[0] != '0')
        return false;
    const char *mark = text.ptr[1] ? strchr(marks, text.ptr[1]) : NULL;
    if (!mark)
        return false;
    char extra[24];
    snprintf(extra, sizeof extra, "_%s", digits[mark - marks]);
    return 2 + digit_span(text, 2, extra) == text.len;
}

/* 12:30, 1:02:03.5 */
static bool is_sexagesimal(struct str text)
{
    size_t at = digit_span(text, 0, "_");
    if (at == 0 || !is_digit(text.ptr[0]))
        return false;
    size_t parts = 0;
    while (at < text.len && text.ptr[at] == ':') {
        size_t digits = digit_span(text, at + 1, "");
        if (digits < 1 || digits > 2 || (digits == 2 && text.ptr[at + 1] > '5'))
            return false;
        at += 1 + digits;
        parts++;
    }
    if (parts && at < text.len && text.ptr[at] == '.')
        at += 1 + digit_span(text, at + 1, "_");
    return parts > 0 && at == text.len;
}

/* 2026-01-31, 2026-1-31T12:00:00Z, 2026-01-31 12:00:00 */
static bool is_date(struct str text)
{
    if (digit_span(text, 0, "") != 4 || text.len < 8 || text.ptr[4] != '-')
        return false;
    size_t month = digit_span(text, 5, ""), at = 5 + month;
    if (month < 1 || month > 2 || at >= text.len || text.ptr[at] != '-')
        return false;
    size_t day = digit_span(text, at + 1, "");
    at += 1 + day;
    if (day < 1 || day > 2)
        return false;
    if (at == text.len)
        return true;
    return is_one_of(text.ptr[at], "Tt \t") && digit_span(text, at, "Tt \t") > 1;
}

/* Any of 1e3, 1.5e+3, .5, 1., 1_000, +5, 0123, 01.5: digits with what only numbers
 * have.
 */
static const char *other_number(struct str signed_text)
{
    struct str text = without_sign(signed_text);
    size_t whole = digit_span(text, 0, "_");
    size_t at = whole;
    size_t decimals = 0;
    bool point = at < text.len && text.ptr[at] == '.';
    if (whole && !is_digit(text.ptr[0]))
        return NULL;
    if (point) {
        decimals = digit_span(text, at + 1, "_");
        at += 1 + decimals;
    }
    if (whole + decimals == 0)
        return NULL;
    if (at < text.len && (text.ptr[at] | 0x20) == 'e') {
        size_t sign = at + 1 < text.len && is_one_of(text.ptr[at + 1], "+-");
        size_t exponent = digit_span(text, at + 1 + sign, "");
        bool all = exponent && at + 1 + sign + exponent == text.len;
        return all ? "a number with an exponent" : NULL;
    }
    if (at != text.len)
        return NULL;
    if (memchr(text.ptr, '_', text.len))
        return "a number";
    if (text.ptr[0] == '0' && whole > 1)
        return "an octal number";
    return "a number";
}

static const char *find_typing_trap(struct str text)
{
    static const char *const specials[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const no_number[] = {".nan", ".NaN", ".NAN", NULL};
    struct str bare = without_sign(text);
    if (str_among(bare, specials))
        return "infinity";
    if (str_among(text, no_number))
        return "not-a-number";
    if (!is_digit(bare.ptr[0]) && bare.ptr[0] != '.')
        return NULL;
    if (is_prefixed(bare))
        return bare.ptr[1] == 'o'   ? "an octal number"
               : bare.ptr[1] == 'b' ? "a binary number"
                                    : "a hexadecimal number";
    if (is_sexagesimal(bare))
        return "a number in base 60";
    if (is_date(text))
        return "a date";
    return other_number(text);
}

enum scalar_type scalar_type(struct str text, const char **reads_as)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const bools[] = {"true",  "True",  "TRUE", "false",
                                        "False", "FALSE", NULL};
    static const char *const old_bools[] = {"yes", "Yes", "YES", "no", "No",
                                            "NO",  "on",  "On",  "ON", "off",
                                            "Off", "OFF", NULL};
    *reads_as = NULL;
    if (str_among(text, nulls)) {
        *reads_as = "null";
        return SCALAR_NULL;
    }
    if (str_among(text, bools)) {
        *reads_as = "a boolean";
        return SCALAR_BOOL;
    }
    if (str_among(text, old_bools)) {
        *reads_as = "a boolean";
        return SCALAR_TRAP;
    }
    enum scalar_type number = simple_number(text);
    if (number != SCALAR_TEXT) {
        *reads_as = "a number";
        return number;
    }
    *reads_as = find_typing_trap(text);
    return *reads_as ? SCALAR_TRAP : SCALAR_TEXT;
}

bool scalar_to_i64(struct str text, int64_t *out)
{
    if (simple_number(text) != SCALAR_INTEGER)
        return false;
    bool negative = text.ptr[0] == '-';
    uint64_t value;
    if (!str_to_u64(rest_after(text, negative), &value) || value > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool scalar_to_permille(struct str text, int64_t *out)
{
    const char *point = memchr(text.ptr, '.', text.len);
    struct str whole = {text.ptr, point ? (size_t)(point - text.ptr) : text.len};
    struct str decimals = rest_after(text, whole.len + (point != NULL));
    int64_t value, part = 0, scale = 100;
    if (simple_number(text) == SCALAR_TEXT || decimals.len > 3 || text.ptr[0] == '-' ||
        !scalar_to_i64(whole, &value) || value > INT64_MAX / 1000 - 1)
        return false;
    for (size_t i = 0; i < decimals.len; i++, scale /= 10)
        part += (decimals.ptr[i] - '0') * scale;
    *out = value * 1000 + part;
    return true;
}
