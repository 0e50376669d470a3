/* SPDX-License-Identifier: MIT */
#include "cli/terminal/terminal_text.h"

#include <stdlib.h>
#include <string.h>

#define ESC '\033'

/* ---- Lines ---- */

/* What a terminal shows of a line at its end; of one that was only returned from, what
 * stood there. */
static void last_state(const char **line, size_t *n)
{
    const char *begin = *line, *end = begin + *n;
    while (end > begin && end[-1] == '\r')
        end--;
    const char *at = end;
    while (at > begin && at[-1] != '\r')
        at--;
    *line = at;
    *n = (size_t)(end - at);
}

/* One number of a sequence: 0 where there is none. */
static unsigned take_number(const char **at, const char *end)
{
    unsigned number = 0;
    while (*at < end && **at >= '0' && **at <= '9')
        number = number < 10000 ? number * 10 + (unsigned)(*(*at)++ - '0') : 10000;
    while (*at < end && **at >= '0' && **at <= '9')
        (*at)++;
    *at += *at < end; /* the separator */
    return number;
}

/* 38;5;N and 38;2;R;G;B: what follows is not a number of its own. */
static void skip_color(const char **at, const char *end)
{
    unsigned numbers = take_number(at, end) == 5 ? 1 : 3;
    while (numbers-- > 0)
        take_number(at, end);
}

/* Text must not be hidden (8). *off: all is as at the beginning. */
static bool is_plain_sgr(const char *at, const char *end, bool *off)
{
    *off = true;
    if (at == end)
        return true;
    while (at < end) {
        unsigned number = take_number(&at, end);
        if (number == 8)
            return false;
        if (number == 38 || number == 48 || number == 58)
            skip_color(&at, end);
        *off = number == 0;
    }
    return true;
}

/* The length of a sequence that begins here and is known, else 0. *show: it passes. */
static size_t known_sequence(const char *text, size_t n, bool *show, bool *off)
{
    enum { LONGEST = 64 };
    size_t i = 2;
    if (n < 3 || text[0] != ESC || text[1] != '[')
        return 0;
    while (i < n && i < LONGEST && strchr("0123456789;:", text[i]) && text[i] != '\0')
        i++;
    if (i == n || i == LONGEST)
        return 0;
    *show = text[i] == 'm';
    if (text[i] == 'm')
        return is_plain_sgr(text + 2, text + i, off) ? i + 1 : 0;
    return text[i] == 'K' && (i == 2 || (i == 3 && text[2] == '0')) ? i + 1 : 0;
}

/* Up to the next sequence that is known. */
static size_t plain_length(const char *text, size_t n)
{
    bool show, off;
    size_t i = 0;
    while (i < n && (text[i] != ESC || !known_sequence(text + i, n - i, &show, &off)))
        i++;
    return i;
}

size_t terminal_line(char *out, const char *line, size_t n, bool color, bool *painted)
{
    static const char reset[] = "\033[0m";
    size_t used = 0;
    bool set = painted && *painted;
    last_state(&line, &n);
    while (n > 0) {
        size_t length = plain_length(line, n);
        used += escape_line(out + used, line, length);
        line += length;
        n -= length;
        bool show = false, off = false;
        length = n > 0 ? known_sequence(line, n, &show, &off) : 0;
        if (show && color) {
            memcpy(out + used, line, length);
            used += length;
            set = !off;
        }
        line += length;
        n -= length;
    }
    if (painted) {
        *painted = set;
    } else if (set) {
        memcpy(out + used, reset, sizeof reset - 1);
        used += sizeof reset - 1;
    }
    return used;
}

/* ---- Columns ---- */

static unsigned code_of(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    switch (length) {
    case 2:
        return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
    case 3:
        return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    case 4:
        return (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 |
               (s[3] & 0x3fu);
    default:
        return s[0];
    }
}

/* One of two columns on every terminal, or on some of them: then a line is a little
 * shorter than it could be. (East Asian Width W and F of Unicode 15, and emoji.) */
static bool is_wide(unsigned code)
{
    static const struct {
        unsigned first, last;
    } wide[] = {
        {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23f3},   {0x25fd, 0x25fe},
        {0x2600, 0x27bf},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b55},   {0x2e80, 0x303e},
        {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97c},
        {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},
        {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff},
        {0x1f000, 0x1f2ff}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb},
        {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
    for (size_t i = 0; i < sizeof wide / sizeof wide[0] && wide[i].first <= code; i++)
        if (code <= wide[i].last)
            return true;
    return false;
}

/* *columns: how many it takes. */
static size_t take_character(const char *text, size_t n, int *columns)
{
    size_t length = utf8_length(text, n);
    *columns = length > 1 && is_wide(code_of(text, length)) ? 2 : 1;
    return length > 0 ? length : 1;
}

int text_columns(const char *text, size_t n)
{
    int columns = 0, wide;
    for (size_t i = 0; i < n; columns += wide)
        i += take_character(text + i, n - i, &wide);
    return columns;
}

int name_column(int width, const char *name, size_t n)
{
    int columns = text_columns(name, n);
    return columns > width && columns <= MOST_NAME_COLUMNS ? columns : width;
}

int name_gap(int width, const char *name, size_t n)
{
    int columns = text_columns(name, n);
    return columns < width ? width - columns : 0;
}

size_t text_fitting(const char *text, size_t n, int columns)
{
    size_t i = 0;
    while (i < n) {
        int wide;
        size_t length = take_character(text + i, n - i, &wide);
        if ((columns -= wide) < 0)
            break;
        i += length;
    }
    return i;
}

const char *columns_cut(char *out, const char *text, int columns)
{
    size_t n = strlen(text);
    int all = text_columns(text, n);
    if (all <= columns) {
        memcpy(out, text, n + 1);
        return out;
    }
    int kept = columns > 2 ? columns - 2 : 0, tail = kept / 2;
    size_t head = text_fitting(text, n, kept - tail), skip = head;
    while (skip < n && text_columns(text + skip, n - skip) > tail) {
        int wide;
        skip += take_character(text + skip, n - skip, &wide);
    }
    memcpy(out, text, head);
    out[head] = out[head + 1] = '.';
    memcpy(out + head + 2, text + skip, n - skip + 1);
    return out;
}
