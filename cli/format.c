/* SPDX-License-Identifier: MIT */
/* Formatting. No locale: the C locale everywhere, so that output is the same on every
 * machine. */
#include "cli/format.h"

#include "base/utf8.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Names in rows have a column of their own up to this width; longer ones push what
 * follows them, but not that of other rows. */
#define MOST_NAME_COLUMNS 40

const char *format_duration(char out[FORMAT_MAX], int64_t ms)
{
    int64_t s = ms / 1000;
    if (ms < 0)
        snprintf(out, FORMAT_MAX, "0.00s"); /* a clock that was set back */
    else if (ms < 1000)
        snprintf(out, FORMAT_MAX, "%.2fs", (double)ms / 1000);
    else if (s < 60)
        snprintf(out, FORMAT_MAX, "%.1fs", (double)ms / 1000);
    else if (s < 3600)
        snprintf(out, FORMAT_MAX, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    else if (s < 86400)
        snprintf(out, FORMAT_MAX, "%dh%02dm", (int)(s / 3600), (int)(s / 60 % 60));
    else
        snprintf(out, FORMAT_MAX, "%lldd%02dh", (long long)(s / 86400),
                 (int)(s / 3600 % 24));
    return out;
}

const char *format_bytes(char out[FORMAT_MAX], uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes / 1024;
    size_t i = 0;
    if (bytes < 1024) {
        snprintf(out, FORMAT_MAX, "%d byte%s", (int)bytes, bytes == 1 ? "" : "s");
        return out;
    }
    while (value >= 1024 && i + 1 < COUNT_OF(units)) {
        value /= 1024;
        i++;
    }
    snprintf(out, FORMAT_MAX, "%.1f %s", value, units[i]);
    return out;
}

/* Splits so that times before 1970 keep a fraction that counts forward. */
static time_t split_time(int64_t time_ns, int *nanoseconds)
{
    int64_t s = time_ns / 1000000000, rest = time_ns % 1000000000;
    if (rest < 0) {
        rest += 1000000000;
        s--;
    }
    *nanoseconds = (int)rest;
    return (time_t)s;
}

const char *format_local(char out[FORMAT_MAX], int64_t time_ns)
{
    struct tm tm;
    int ns;
    time_t s = split_time(time_ns, &ns);
    if (time_ns == 0 || !localtime_r(&s, &tm) ||
        strftime(out, FORMAT_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(out, FORMAT_MAX, "-");
    return out;
}

const char *format_utc(char out[FORMAT_MAX], int64_t time_ns)
{
    struct tm tm;
    char seconds[32];
    int ns;
    time_t s = split_time(time_ns, &ns);
    if (!gmtime_r(&s, &tm) ||
        strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        snprintf(seconds, sizeof seconds, "1970-01-01T00:00:00");
    snprintf(out, FORMAT_MAX, "%s.%09dZ", seconds, ns);
    return out;
}

const char *format_end(char out[FORMAT_MAX], int exit_code, int signal, bool timed_out,
                       const char *text)
{
    const char *name = signal > 0 ? sigabbrev_np(signal) : NULL;
    bool more = text && text[0] != '\0';
    out[0] = '\0';
    if (more && (timed_out || signal > 0 || exit_code == 0))
        return out;
    if (more && exit_code >= 0)
        snprintf(out, FORMAT_MAX, "exit %d", exit_code);
    else if (timed_out)
        snprintf(out, FORMAT_MAX, "timed out");
    else if (signal > 0)
        snprintf(out, FORMAT_MAX, "signal %d (%s)", signal, name ? name : "unknown");
    else if (exit_code == 126)
        snprintf(out, FORMAT_MAX, "exit 126, not executable");
    else if (exit_code == 127)
        snprintf(out, FORMAT_MAX, "exit 127, command not found");
    else if (exit_code >= 0)
        snprintf(out, FORMAT_MAX, "exit %d", exit_code);
    return out;
}

/* The table of well-formed sequences in the Unicode standard (3.9, table 3-7): only
 * the second byte's range depends on the first. */
size_t utf8_length(const char *text, size_t n)
{
    uint32_t code;
    return utf8_next(text, text + n, &code);
}

bool utf8_valid(const char *text, size_t n)
{
    while (n > 0) {
        size_t length = utf8_length(text, n);
        if (length == 0)
            return false;
        text += length;
        n -= length;
    }
    return true;
}

static size_t put_hex(char *out, const char *prefix, unsigned byte)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    for (; prefix[n] != '\0'; n++)
        out[n] = prefix[n];
    out[n] = digits[byte >> 4];
    out[n + 1] = digits[byte & 15];
    return n + 2;
}

/* Code points that make a terminal or an editor show a text differently from what it
 * is: C1 controls, zero-width and direction marks, overrides and isolates, separators.
 */
size_t format_control(const char *text, size_t length, unsigned *code)
{
    const unsigned char *s = (const unsigned char *)text;
    if (length == 2 && s[0] == 0xc2 && s[1] < 0xa0) {
        *code = s[1];
        return 2;
    }
    if (length != 3 || s[0] != 0xe2)
        return 0;
    *code = 0x2000u | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    bool marks = *code >= 0x200b && *code <= 0x200f;
    bool lines = *code >= 0x2028 && *code <= 0x202e;
    bool isolates = *code >= 0x2060 && *code <= 0x206f;
    return marks || lines || isolates ? 3 : 0;
}

static size_t put_code(char *out, unsigned code)
{
    size_t n = put_hex(out, "\\u", code >> 8);
    return n + put_hex(out + n, "", code & 0xff);
}

static size_t escape_controls(char *out, const char *text, size_t n, bool breaks)
{
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)text[i];
        size_t length = utf8_length(text + i, n - i);
        unsigned code;
        if (length == 0) {
            used += put_hex(out + used, "\\x", c);
            length = 1;
        } else if (format_control(text + i, length, &code) > 0) {
            used += put_code(out + used, code);
        } else if ((c < 0x20 && c != '\t' && !(c == '\n' && breaks)) || c == 0x7f) {
            out[used++] = '^';
            out[used++] = (char)(c ^ 0x40);
        } else {
            memcpy(out + used, text + i, length);
            used += length;
        }
        i += length;
    }
    return used;
}

size_t escape_text(char *out, const char *text, size_t n)
{
    return escape_controls(out, text, n, true);
}

size_t escape_line(char *out, const char *text, size_t n)
{
    return escape_controls(out, text, n, false);
}

char *shell_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./:@%+=,-";
    size_t n = strlen(text), used = 0;
    char *word = malloc(4 * n + 3);
    if (!word)
        return NULL;
    if (n > 0 && strspn(text, plain) == n) {
        memcpy(word, text, n + 1);
        return word;
    }
    word[used++] = '\'';
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'') {
            memcpy(word + used, "'\\''", 4);
            used += 4;
        } else {
            word[used++] = text[i];
        }
    }
    word[used++] = '\'';
    word[used] = '\0';
    return word;
}

const char *operand_dashes(const char *text)
{
    return text[0] == '-' ? " --" : "";
}

const char *path_dot(const char *path)
{
    return path[0] == '-' ? "./" : "";
}

size_t shell_behind(const char *words, size_t n, size_t i)
{
    const char *quote =
        words[i] == '\'' ? memchr(words + i + 1, '\'', n - i - 1) : NULL;
    if (quote)
        return (size_t)(quote - words) + 1;
    return i + 1 + (words[i] == '\\' && i + 1 < n);
}

size_t shell_options_end(const char *words, size_t n)
{
    static const char *const ends[] = {" -- ", " | ", " >", " && ", " &"};
    for (size_t i = 0; i < n; i = shell_behind(words, n, i))
        for (size_t k = 0; k < COUNT_OF(ends); k++)
            if (strncmp(words + i, ends[k], strlen(ends[k])) == 0)
                return i;
    return n;
}

char *quoted_value(const char *text)
{
    static const char letters[] = "\"\"\\\\\nn\tt\rr";
    size_t n = strlen(text), used = 0;
    char *word = malloc(4 * n + 3);
    bool plain = n > 0;
    if (!word)
        return NULL;
    for (size_t i = 0; i < n && plain; i++)
        plain = (unsigned char)text[i] > ' ' && text[i] != 0x7f && text[i] != '"';
    if (plain) {
        memcpy(word, text, n + 1);
        return word;
    }
    word[used++] = '"';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        size_t k = 0;
        while (letters[k] != '\0' && letters[k] != text[i])
            k += 2;
        if (letters[k] != '\0') {
            word[used++] = '\\';
            word[used++] = letters[k + 1];
        } else if (c < ' ' || c == 0x7f) {
            used += put_hex(word + used, "\\x", c);
        } else {
            word[used++] = text[i];
        }
    }
    word[used++] = '"';
    word[used] = '\0';
    return word;
}

int length_trimmed(const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    return (int)n;
}

const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

int64_t now_ms(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t wall_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_REALTIME, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void sleep_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000),
                         .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

size_t text_fit(const char *text, size_t most)
{
    size_t n = strnlen(text, most + 1), at = 0;
    if (n <= most)
        return n;
    while (at < n) {
        size_t length = utf8_length(text + at, n - at);
        length = length > 0 ? length : 1;
        if (at + length > most)
            break;
        at += length;
    }
    return at;
}

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
    for (size_t i = 0; i < COUNT_OF(wide) && wide[i].first <= code; i++)
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
