/* SPDX-License-Identifier: MIT */
/* Numbers as text, both ways, in any locale: what goes through strtod has no decimal
 * point, and of what printf makes only the digits are used. */
#include "graph/expression/expression_int.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static size_t skip_digits(struct str text, size_t at)
{
    size_t end = at;
    while (end < text.len && text.ptr[end] >= '0' && text.ptr[end] <= '9')
        end++;
    return end - at;
}

/* Length of .[0-9]+ at `at`. */
static size_t skip_fraction(struct str text, size_t at)
{
    if (at >= text.len || text.ptr[at] != '.')
        return 0;
    size_t n = skip_digits(text, at + 1);
    return n ? n + 1 : 0;
}

/* Length of [eE][+-]?[0-9]+ at `at`. */
static size_t skip_exponent(struct str text, size_t at)
{
    if (at >= text.len || (text.ptr[at] != 'e' && text.ptr[at] != 'E'))
        return 0;
    size_t start = at + 1;
    if (start < text.len && (text.ptr[start] == '+' || text.ptr[start] == '-'))
        start++;
    size_t n = skip_digits(text, start);
    return n ? start + n - at : 0;
}

size_t number_scan(struct str text)
{
    size_t at = text.len && text.ptr[0] == '-' ? 1 : 0;
    size_t whole = skip_digits(text, at);
    if (!whole)
        return 0;
    at += whole;
    at += skip_fraction(text, at);
    return at + skip_exponent(text, at);
}

/* What [eE][+-]?[0-9]+ stands for; far beyond the range of a double, any value will do.
 */
static int exponent_value(struct str text)
{
    enum { MUCH = 100000 };
    int value = 0;
    for (size_t i = 1; i < text.len; i++)
        if (text.ptr[i] >= '0' && text.ptr[i] <= '9' && value < MUCH)
            value = value * 10 + (text.ptr[i] - '0');
    return text.len > 1 && text.ptr[1] == '-' ? -value : value;
}

bool number_parse(struct str text, double *out)
{
    char plain[NUMBER_BYTES + 32];
    if (text.len > NUMBER_BYTES || !text.len || number_scan(text) != text.len)
        return false;
    size_t minus = text.ptr[0] == '-' ? 1 : 0;
    size_t whole = minus + skip_digits(text, minus);
    size_t point = skip_fraction(text, whole);
    struct str power = {text.ptr + whole + point, text.len - whole - point};
    size_t places = point ? point - 1 : 0;
    memcpy(plain, text.ptr, whole);
    if (places)
        memcpy(plain + whole, text.ptr + whole + 1, places);
    snprintf(plain + whole + places, sizeof plain - whole - places, "e%d",
             exponent_value(power) - (int)places);
    double value = strtod(plain, NULL);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}

/* ---- Order ---- */

/* False if it is written with a fraction or an exponent. Zero has no digits and no
 * sign.
 */
static bool is_whole(struct str text, bool *minus, struct str *digits)
{
    size_t at = text.len && text.ptr[0] == '-' ? 1 : 0;
    *minus = at == 1;
    if (at + skip_digits(text, at) != text.len)
        return false;
    while (at < text.len && text.ptr[at] == '0')
        at++;
    *digits = (struct str){text.ptr + at, text.len - at};
    *minus = *minus && digits->len;
    return true;
}

static int compare_digits(struct str a, struct str b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return a.len ? memcmp(a.ptr, b.ptr, a.len) : 0;
}

int number_order(struct str a, struct str b)
{
    struct str left, right;
    bool below, other_below;
    if (is_whole(a, &below, &left) && is_whole(b, &other_below, &right)) {
        if (below != other_below)
            return below ? -1 : 1;
        return below ? compare_digits(right, left) : compare_digits(left, right);
    }
    double x = 0, y = 0;
    bool numbers = number_parse(a, &x) && number_parse(b, &y);
    assert(numbers);
    (void)numbers;
    return (x > y) - (x < y);
}

/* ---- As text ---- */

/* The fewest digits that read back as `number` (finite, above 0), and the power of ten
 * of the first one. */
static int shortest_figures(double number, char figures[18])
{
    enum { MOST = 17 };
    int power = 0;
    for (int n = 1; n <= MOST; n++) {
        char text[64], again[64];
        size_t kept = 0;
        snprintf(text, sizeof text, "%.*e", n - 1, number);
        const char *e = strchr(text, 'e');
        for (const char *at = text; at < e; at++)
            if (*at >= '0' && *at <= '9' && kept < MOST)
                figures[kept++] = *at;
        figures[kept] = 0;
        power = (int)strtol(e + 1, NULL, 10);
        snprintf(again, sizeof again, "%se%d", figures, power - (n - 1));
        double back = strtod(again, NULL);
        if (!(back < number) && !(back > number))
            break;
    }
    return power;
}

/* As %.17g lays it out. */
static void lay_out(const char *figures, int power, struct buf *out)
{
    enum { SMALLEST = -4, LARGEST = 16 };
    int n = (int)strlen(figures);
    if (power < SMALLEST || power > LARGEST) {
        buf_byte(out, (uint8_t)figures[0]);
        if (n > 1)
            buf_format(out, ".%s", figures + 1);
        buf_format(out, "e%c%02d", power < 0 ? '-' : '+', abs(power));
        return;
    }
    if (power < 0)
        buf_add(out, "0.0000", (size_t)(1 - power));
    for (int i = 0; i < n || i <= power; i++) {
        if (i && i == power + 1)
            buf_byte(out, '.');
        buf_byte(out, i < n ? (uint8_t)figures[i] : '0');
    }
}

void number_append(double number, struct buf *out)
{
    enum { EXACT = 1000000000 };
    char figures[18];
    if (number >= -EXACT && number <= EXACT) {
        int64_t whole = (int64_t)number;
        if (!((double)whole < number) && !((double)whole > number)) {
            buf_format(out, "%" PRId64, whole);
            return;
        }
    }
    if (!isfinite(number)) { /* neither parsing nor evaluating makes one */
        buf_text(out, number > 0 ? "inf" : number < 0 ? "-inf" : "nan");
        return;
    }
    if (number < 0)
        buf_byte(out, '-');
    int power = shortest_figures(fabs(number), figures);
    lay_out(figures, power, out);
}

void number_append_text(struct str text, double number, struct buf *out)
{
    enum { EXACT_DIGITS = 15 }; /* of a double */
    bool minus;
    struct str digits;
    if (!text.len || !is_whole(text, &minus, &digits) || digits.len <= EXACT_DIGITS) {
        number_append(number, out);
        return;
    }
    if (minus)
        buf_byte(out, '-');
    buf_str(out, digits);
}
