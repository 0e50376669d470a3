/* SPDX-License-Identifier: MIT */
/* Formatting. No locale: the C locale everywhere, so that output is the same on every
 * machine. */
#include "cli/format.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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
    while (value >= 1024 && i + 1 < sizeof units / sizeof units[0]) {
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
    const unsigned char *s = (const unsigned char *)text;
    unsigned char low = 0x80, high = 0xbf;
    size_t need;
    if (n == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    need = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] == 0xe0)
        low = 0xa0;
    else if (s[0] == 0xed)
        high = 0x9f;
    else if (s[0] == 0xf0)
        low = 0x90;
    else if (s[0] == 0xf4)
        high = 0x8f;
    if (n < need || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    return need;
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
