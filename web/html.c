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

void html_log(struct buf *out, const char *text, size_t n)
{
    char *line = malloc(TERMINAL_TEXT_ROOM(n));
    if (!line) {
        out->failed = true;
        return;
    }
    for (size_t at = 0, length; at < n; at += length + 1) {
        const char *end = memchr(text + at, '\n', n - at);
        length = end ? (size_t)(end - (text + at)) : n - at;
        html_lines(out, line, terminal_line(line, text + at, length, false, NULL));
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
