/* SPDX-License-Identifier: MIT */
/* UTF-8 as RFC 3629 has it: at most four bytes, up to U+10FFFF, no surrogates, each
 * character in its shortest form. */
#include "base/utf8.h"

static size_t sequence_length(uint8_t lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef)
        return 3;
    if (lead >= 0xf0 && lead <= 0xf4)
        return 4;
    return 0;
}

size_t utf8_next(const char *at, const char *end, uint32_t *code)
{
    static const uint8_t lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (at == end)
        return 0;
    size_t length = sequence_length((uint8_t)*at);
    if (!length || length > (size_t)(end - at))
        return 0;
    uint32_t value = (uint8_t)*at & lead_bits[length];
    for (size_t i = 1; i < length; i++) {
        if (((uint8_t)at[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | ((uint8_t)at[i] & 0x3f);
    }
    if (value < smallest[length] || value > 0x10ffff ||
        (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return length;
}

bool utf8_is_visible(uint32_t code)
{
    /* Unicode 15: blanks (Zs), separators, format characters (Cf), variation selectors,
     * what is filled or reserved and has no shape, private use, no characters. */
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0, 0x20},          {0x7f, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},
        {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
        {0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x1680, 0x1680},
        {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},   {0x2028, 0x202f},
        {0x205f, 0x206f},   {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},
        {0xe000, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
        {0x110cd, 0x110cd}, {0x13430, 0x1345f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0x1fffe, 0x1ffff}, {0x2fffe, 0x2ffff}, {0x3fffe, 0x10ffff}};
    for (size_t i = 0; i < COUNT_OF(hidden); i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return false;
    return true;
}

size_t utf8_fit(struct str text, size_t max)
{
    if (text.len <= max)
        return text.len;
    size_t fit = max;
    while (fit > 0 && max - fit < 4 && ((uint8_t)text.ptr[fit] & 0xc0) == 0x80)
        fit--;
    return fit;
}

struct str utf8_skip_rest(struct str text)
{
    size_t n = 0;
    while (n < 3 && n < text.len && ((uint8_t)text.ptr[n] & 0xc0) == 0x80)
        n++;
    return (struct str){text.ptr + n, text.len - n};
}

bool utf8_is_text(struct str text)
{
    if (!text.len) /* nothing is added to a NULL pointer */
        return true;
    const char *at = text.ptr, *end = text.ptr + text.len;
    uint32_t code = 1;
    for (size_t n = 1; at < end && n && code; at += n)
        n = utf8_next(at, end, &code);
    return at == end && code;
}

bool utf8_is_printable(struct str text)
{
    const char *at = text.ptr, *end = at + text.len;
    uint32_t code = 0;
    while (at < end) {
        size_t n = utf8_next(at, end, &code);
        if (!n || code < 0x20 || code == 0x7f)
            return false;
        at += n;
    }
    return true;
}
