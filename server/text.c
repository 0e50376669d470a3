/* SPDX-License-Identifier: MIT */
#include "server/text.h"

#include <stdarg.h>
#include <string.h>

static bool make_room(struct text *text, size_t n)
{
    size_t room = text->room ? text->room : 256;
    char *bytes;
    if (text->failed || n > SIZE_MAX / 4 - text->n) {
        text->failed = true;
        return false;
    }
    while (room - text->n <= n)
        room *= 2;
    if (room == text->room)
        return true;
    bytes = realloc(text->bytes, room);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->room = room;
    return true;
}

void text_add(struct text *text, const char *bytes, size_t n)
{
    if (n == 0 || !make_room(text, n))
        return;
    memcpy(text->bytes + text->n, bytes, n);
    text->n += n;
    text->bytes[text->n] = '\0';
}

void text_put(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_format(struct text *text, const char *format, ...)
{
    va_list list;
    int n;
    va_start(list, format);
    n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (n < 0 || !make_room(text, (size_t)n + 1)) {
        text->failed = true;
        return;
    }
    va_start(list, format);
    vsnprintf(text->bytes + text->n, (size_t)n + 1, format, list);
    va_end(list);
    text->n += (size_t)n;
}

void text_cut(struct text *text, size_t n)
{
    if (n == 0)
        return;
    text->n -= n;
    memmove(text->bytes, text->bytes + n, text->n);
    text->bytes[text->n] = '\0';
}

const char *text_get(const struct text *text)
{
    return text->bytes ? text->bytes : "";
}

char *text_take(struct text *text)
{
    char *bytes = NULL;
    if (!text->failed)
        bytes = text->bytes ? text->bytes : strdup("");
    if (!bytes)
        free(text->bytes);
    *text = (struct text){NULL, 0, 0, false};
    return bytes;
}

void text_release(struct text *text)
{
    free(text->bytes);
    *text = (struct text){NULL, 0, 0, false};
}

/* ---- JSON ---- */

/* No string ends in one of these: its last byte is a quote. */
static void put_comma(struct text *text)
{
    char last = text->n > 0 ? text->bytes[text->n - 1] : '{';
    if (last != '{' && last != '[' && last != ':')
        text_add(text, ",", 1);
}

void text_open(struct text *text, char brace)
{
    put_comma(text);
    text_add(text, &brace, 1);
}

void text_close(struct text *text, char brace)
{
    text_add(text, &brace, 1);
}

/* The length of the UTF-8 character that begins here, 0 if none does. */
static size_t character_length(const unsigned char *at, size_t n)
{
    size_t length = at[0] < 0x80             ? 1
                    : (at[0] & 0xe0) == 0xc0 ? 2
                    : (at[0] & 0xf0) == 0xe0 ? 3
                    : (at[0] & 0xf8) == 0xf0 ? 4
                                             : 0;
    unsigned code;
    if (length < 2 || length > n)
        return length == 1 ? 1 : 0;
    code = at[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    if (code < (length == 2   ? 0x80u
                : length == 3 ? 0x800u
                              : 0x10000u) ||
        (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
        return 0;
    return length;
}

void text_bytes(struct text *text, const char *bytes, size_t n)
{
    const unsigned char *at = (const unsigned char *)bytes;
    put_comma(text);
    text_add(text, "\"", 1);
    for (size_t i = 0; i < n;) {
        size_t length = character_length(at + i, n - i);
        if (length == 0)
            text_put(text, "\xef\xbf\xbd");
        else if (at[i] < 0x20 || at[i] == 0x7f)
            text_format(text, "\\u%04x", at[i]);
        else if (at[i] == '"' || at[i] == '\\')
            text_format(text, "\\%c", at[i]);
        else
            text_add(text, bytes + i, length);
        i += length ? length : 1;
    }
    text_add(text, "\"", 1);
}

void text_string(struct text *text, const char *string)
{
    text_bytes(text, string, strlen(string));
}

void text_key(struct text *text, const char *key)
{
    text_string(text, key);
    text_add(text, ":", 1);
}

void text_int(struct text *text, int64_t number)
{
    put_comma(text);
    text_format(text, "%lld", (long long)number);
}

void text_real(struct text *text, double number)
{
    put_comma(text);
    text_format(text, "%.16g", number);
}

void text_bool(struct text *text, bool value)
{
    put_comma(text);
    text_put(text, value ? "true" : "false");
}

void text_raw(struct text *text, const char *json, size_t n)
{
    put_comma(text);
    text_add(text, json, n);
}

void text_pair(struct text *text, const char *key, const char *string)
{
    text_key(text, key);
    text_string(text, string);
}
