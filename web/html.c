/* SPDX-License-Identifier: MIT */
#include "web/html.h"

#include "base/utf8.h"
#include "cli/format.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Blanks that are seen as such, and what chooses between two shapes of a character. */
static bool is_harmless(uint32_t code)
{
    return code == ' ' || code == 0xa0 || code == 0x3000 || code == 0xfe0e ||
           code == 0xfe0f;
}

static void put_code(struct buf *out, uint32_t code)
{
    if (code < 0x20 || code == 0x7f)
        buf_format(out, "^%c", (char)(code ^ 0x40));
    else
        buf_format(out, code > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)code);
}

static void put_character(struct buf *out, const char *at, size_t n, uint32_t code)
{
    switch (code) {
    case '<':
        buf_text(out, "&lt;");
        break;
    case '>':
        buf_text(out, "&gt;");
        break;
    case '&':
        buf_text(out, "&amp;");
        break;
    case '"':
        buf_text(out, "&#34;");
        break;
    case '\'':
        buf_text(out, "&#39;");
        break;
    default:
        if (utf8_is_visible(code) || is_harmless(code))
            buf_add(out, at, n);
        else
            put_code(out, code);
    }
}

static void put_text(struct buf *out, const char *text, size_t n, bool lines)
{
    const char *end = text + n;
    uint32_t code = 0;
    for (const char *at = text; at < end;) {
        size_t length = utf8_next(at, end, &code);
        if (length == 0) {
            buf_format(out, "\\x%02x", (unsigned char)*at++);
            continue;
        }
        if (lines && (code == '\n' || code == '\t'))
            buf_byte(out, (uint8_t)code);
        else
            put_character(out, at, length, code);
        at += length;
    }
}

void html_text(struct buf *out, const char *text)
{
    put_text(out, text, strlen(text), false);
}

void html_start(struct buf *out, const char *text, size_t most)
{
    size_t n = strlen(text), fit = utf8_fit((struct str){text, n}, most);
    put_text(out, text, fit, false);
    if (fit < n)
        buf_text(out, "...");
}

void html_lines(struct buf *out, const char *text, size_t n)
{
    put_text(out, text, n, true);
}

/* How a task has its text painted: by SGR, of which terminal_line leaves nothing else. */
struct paint {
    int ink; /* 1 + one of 16 colours; 0: that of the page */
    bool bold;
};

static unsigned next_number(const char **at, const char *end)
{
    unsigned number = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        number = number < 1000 ? number * 10 + (unsigned)(**at - '0') : number;
    *at += *at < end;
    return number;
}

/* What stands between "ESC [" and "m". Backgrounds, and colours that are no names, are
 * left out: nothing would keep them readable on a light and on a dark page. */
static void take_paint(struct paint *paint, const char *at, const char *end)
{
    do {
        unsigned code = next_number(&at, end);
        if (code == 38 || code == 48) {
            unsigned form = next_number(&at, end), ink = next_number(&at, end);
            for (int i = 0; form == 2 && i < 2; i++)
                (void)next_number(&at, end);
            if (code == 38)
                paint->ink = form == 5 && ink < 16 ? (int)ink + 1 : 0;
        } else if (code == 0) {
            *paint = (struct paint){0, false};
        } else if (code == 1 || code == 22) {
            paint->bold = code == 1;
        } else if (code >= 30 && code <= 39) {
            paint->ink = code < 38 ? (int)code - 29 : 0;
        } else if (code >= 90 && code <= 97) {
            paint->ink = (int)code - 90 + 9;
        }
    } while (at < end);
}

static void put_painted(struct buf *out, const char *text, size_t n,
                        const struct paint *paint)
{
    bool span = n > 0 && (paint->ink > 0 || paint->bold);
    if (span && paint->ink > 0)
        buf_format(out, "<span class=\"ink%d%s\">", paint->ink - 1,
                   paint->bold ? " bold" : "");
    else if (span)
        buf_text(out, "<span class=\"bold\">");
    html_lines(out, text, n);
    if (span)
        buf_text(out, "</span>");
}

/* One line as terminal_line has made it. */
static void put_line(struct buf *out, const char *line, size_t n, struct paint *paint)
{
    const char *end = line + n;
    while (line < end) {
        const char *escape = memchr(line, '\033', (size_t)(end - line));
        const char *stop = escape ? memchr(escape, 'm', (size_t)(end - escape)) : NULL;
        put_painted(out, line, (size_t)((escape ? escape : end) - line), paint);
        if (!stop)
            return;
        take_paint(paint, escape + 2, stop);
        line = stop + 1;
    }
}

void html_log(struct buf *out, const char *text, size_t n)
{
    struct paint paint = {0, false};
    bool painted = false;
    char *line = malloc(TERMINAL_TEXT_ROOM(n));
    if (!line) {
        out->failed = true;
        return;
    }
    for (size_t at = 0, length; at < n; at += length + 1) {
        const char *end = memchr(text + at, '\n', n - at);
        length = end ? (size_t)(end - (text + at)) : n - at;
        put_line(out, line, terminal_line(line, text + at, length, true, &painted),
                 &paint);
        buf_byte(out, '\n');
    }
    free(line);
}

void html_address(struct buf *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_.~-";
    for (; *text; text++) {
        if (strchr(plain, *text))
            buf_byte(out, (uint8_t)*text);
        else
            buf_format(out, "%%%02X", (unsigned char)*text);
    }
}

void html_time(struct buf *out, int64_t time_ns)
{
    char text[FORMAT_MAX];
    if (time_ns == 0)
        return;
    format_utc(text, time_ns);
    buf_format(out, "<time datetime=\"%.19sZ\">%.10s %.8s UTC</time>", text, text,
               text + strlen("2026-11-23T"));
}
