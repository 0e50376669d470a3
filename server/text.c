/* SPDX-License-Identifier: MIT */
#include "server/text.h"

#include "base/utf8.h"

void text_cut(struct buf *text, size_t n)
{
    if (n == 0)
        return;
    text->size -= n;
    memmove(text->data, text->data + n, text->size);
    text->data[text->size] = '\0';
}

const char *text_get(const struct buf *text)
{
    return text->data ? text->data : "";
}

char *text_take(struct buf *text)
{
    char *bytes = NULL;
    if (!text->failed)
        bytes = text->data ? text->data : strdup("");
    if (!bytes)
        free(text->data);
    *text = BUF_INIT;
    return bytes;
}

/* ---- JSON ---- */

/* No string ends in one of these: its last byte is a quote. */
static void put_comma(struct buf *text)
{
    char last = text->size > 0 ? text->data[text->size - 1] : '{';
    if (last != '{' && last != '[' && last != ':')
        buf_byte(text, ',');
}

void text_open(struct buf *text, char brace)
{
    put_comma(text);
    buf_byte(text, (uint8_t)brace);
}

void text_close(struct buf *text, char brace)
{
    buf_byte(text, (uint8_t)brace);
}

void text_bytes(struct buf *text, const char *bytes, size_t n)
{
    const char *end = bytes + n;
    uint32_t code;
    put_comma(text);
    buf_byte(text, '"');
    for (size_t length; bytes < end; bytes += length ? length : 1) {
        length = utf8_next(bytes, end, &code);
        if (length == 0)
            buf_text(text, "\xef\xbf\xbd");
        else if (code < 0x20 || code == 0x7f)
            buf_format(text, "\\u%04x", code);
        else if (code == '"' || code == '\\')
            buf_format(text, "\\%c", (char)code);
        else
            buf_add(text, bytes, length);
    }
    buf_byte(text, '"');
}

void text_string(struct buf *text, const char *string)
{
    text_bytes(text, string, strlen(string));
}

void text_key(struct buf *text, const char *key)
{
    text_string(text, key);
    buf_byte(text, ':');
}

void text_int(struct buf *text, int64_t number)
{
    put_comma(text);
    buf_format(text, "%lld", (long long)number);
}

void text_real(struct buf *text, double number)
{
    put_comma(text);
    buf_format(text, "%.16g", number);
}

void text_bool(struct buf *text, bool value)
{
    put_comma(text);
    buf_text(text, value ? "true" : "false");
}

void text_raw(struct buf *text, const char *json, size_t n)
{
    put_comma(text);
    buf_add(text, json, n);
}

void text_pair(struct buf *text, const char *key, const char *string)
{
    text_key(text, key);
    text_string(text, string);
}
