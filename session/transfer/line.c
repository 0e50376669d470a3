/* SPDX-License-Identifier: MIT */
#include "session/transfer/line.h"

#include "base/words.h"

/* ---- Writing ---- */

static const char base64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_string(struct buf *line, struct str text)
{
    buf_byte(line, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20)
            buf_format(line, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            buf_format(line, "\\%c", c);
        else
            buf_byte(line, c);
    }
    buf_byte(line, '"');
}

static void put_key(struct buf *line, const char *key)
{
    buf_byte(line, ',');
    put_string(line, str_of(key));
    buf_byte(line, ':');
}

void line_begin(struct buf *line, const char *type)
{
    buf_text(line, "{\"type\":");
    put_string(line, str_of(type));
}

void line_text(struct buf *line, const char *key, struct str text)
{
    put_key(line, key);
    put_string(line, text);
}

void line_number(struct buf *line, const char *key, uint64_t number)
{
    put_key(line, key);
    buf_format(line, "%llu", (unsigned long long)number);
}

void line_time(struct buf *line, const char *key, int64_t time_ns)
{
    char text[24];
    line_text(line, key, str_decimal(time_ns, text));
}

void line_digest(struct buf *line, const char *key, const struct digest *digest)
{
    char hex[DIGEST_HEX_SIZE];
    digest_hex(digest, hex);
    line_text(line, key, str_of(hex));
}

void line_bytes(struct buf *line, const char *key, struct str bytes)
{
    put_key(line, key);
    buf_byte(line, '"');
    for (size_t i = 0; i < bytes.len; i += 3) {
        uint32_t left = bytes.len - i > 2 ? 3 : (uint32_t)(bytes.len - i), word = 0;
        for (uint32_t k = 0; k < 3; k++)
            word = word << 8 | (k < left ? (unsigned char)bytes.ptr[i + k] : 0);
        for (uint32_t k = 0; k < 4; k++)
            buf_byte(line,
                     k <= left ? (uint8_t)base64[word >> (18 - 6 * k) & 63] : '=');
    }
    buf_byte(line, '"');
}

void line_end(struct buf *line)
{
    buf_text(line, "}\n");
}

/* ---- Reading ---- */

struct scan {
    char *at, *end;
};

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r'))
        scan->at++;
}

static bool take(struct scan *scan, char c)
{
    skip_blanks(scan);
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

static bool take_hex4(struct scan *scan, uint32_t *code)
{
    *code = 0;
    if (scan->end - scan->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int value = hex_digit(*scan->at++);
        if (value < 0)
            return false;
        *code = *code << 4 | (uint32_t)value;
    }
    return true;
}

static char *put_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    if (code >= 0x10000) {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 63));
    } else if (code >= 0x800) {
        *out++ = (char)(0xe0 | code >> 12);
    }
    if (code >= 0x800)
        *out++ = (char)(0x80 | (code >> 6 & 63));
    else
        *out++ = (char)(0xc0 | code >> 6);
    *out++ = (char)(0x80 | (code & 63));
    return out;
}

/* Behind \u: a character, or the first half of a pair and \u with the second. */
static bool take_code(struct scan *scan, char **out)
{
    uint32_t code, low;
    if (!take_hex4(scan, &code) || code == 0 || (code >= 0xdc00 && code < 0xe000))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (scan->end - scan->at < 6 || *scan->at++ != '\\' || *scan->at++ != 'u' ||
            !take_hex4(scan, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    *out = put_utf8(*out, code);
    return true;
}

static bool take_escape(struct scan *scan, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (scan->at == scan->end)
        return false;
    char c = *scan->at++;
    if (c == 'u')
        return take_code(scan, out);
    const char *found = c ? strchr(names, c) : NULL;
    if (!found)
        return false;
    *(*out)++ = values[found - names];
    return true;
}

/* Decoded where it stands: it only becomes shorter. */
static bool take_string(struct scan *scan, struct str *text)
{
    if (!take(scan, '"'))
        return false;
    char *begin = scan->at, *out = begin;
    while (scan->at < scan->end && *scan->at != '"') {
        char c = *scan->at++;
        if ((unsigned char)c < 0x20)
            return false;
        if (c != '\\')
            *out++ = c;
        else if (!take_escape(scan, &out))
            return false;
    }
    *text = (struct str){begin, (size_t)(out - begin)};
    return take(scan, '"');
}

static bool take_number(struct scan *scan, struct str *text)
{
    uint64_t number;
    skip_blanks(scan);
    char *begin = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    *text = (struct str){begin, (size_t)(scan->at - begin)};
    return str_to_u64(*text, &number);
}

static bool take_member(struct scan *scan, struct line *line)
{
    size_t n = line->n;
    if (n == LINE_MEMBERS_MOST || !take_string(scan, &line->at[n].key) ||
        !take(scan, ':'))
        return false;
    skip_blanks(scan);
    line->at[n].is_text = scan->at < scan->end && *scan->at == '"';
    line->n++;
    return line->at[n].is_text ? take_string(scan, &line->at[n].value)
                               : take_number(scan, &line->at[n].value);
}

bool line_parse(char *bytes, size_t n, struct line *line)
{
    struct scan scan;
    scan.at = bytes;
    scan.end = bytes + n;
    line->n = 0;
    if (!take(&scan, '{'))
        return false;
    do {
        if (!take_member(&scan, line))
            return false;
    } while (take(&scan, ','));
    bool closed = take(&scan, '}');
    skip_blanks(&scan);
    return closed && scan.at == scan.end;
}

static bool find(const struct line *line, const char *key, bool is_text,
                 struct str *value)
{
    for (size_t i = 0; i < line->n; i++)
        if (str_equal(line->at[i].key, str_of(key)) && line->at[i].is_text == is_text) {
            *value = line->at[i].value;
            return true;
        }
    return false;
}

bool line_get_text(const struct line *line, const char *key, struct str *text)
{
    return find(line, key, true, text);
}

bool line_get_number(const struct line *line, const char *key, uint64_t *number)
{
    struct str text;
    return find(line, key, false, &text) && str_to_u64(text, number);
}

bool line_get_time(const struct line *line, const char *key, int64_t *time_ns)
{
    struct str text;
    uint64_t number;
    if (!find(line, key, true, &text))
        return false;
    bool negative = text.len > 0 && text.ptr[0] == '-';
    if (!str_to_u64((struct str){text.ptr + negative, text.len - negative}, &number) ||
        number > INT64_MAX)
        return false;
    *time_ns = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

bool line_get_digest(const struct line *line, const char *key, struct digest *digest)
{
    struct str text;
    if (!find(line, key, true, &text) || text.len != 2 * sizeof digest->bytes)
        return false;
    for (size_t i = 0; i < sizeof digest->bytes; i++) {
        int high = hex_digit(text.ptr[2 * i]), low = hex_digit(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        digest->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static int base64_value(char c)
{
    const char *found = c ? strchr(base64, c) : NULL;
    return found ? (int)(found - base64) : -1;
}

/* Four characters to up to three bytes; only the last four may have padding. */
static bool take_quad(const char *quad, bool last, struct buf *bytes)
{
    int padding = last ? (quad[3] == '=') + (quad[3] == '=' && quad[2] == '=') : 0;
    uint32_t word = 0;
    for (int k = 0; k < 4; k++) {
        int value = k < 4 - padding ? base64_value(quad[k]) : 0;
        if (value < 0)
            return false;
        word = word << 6 | (uint32_t)value;
    }
    if (word & ((1u << (8 * padding)) - 1))
        return false;
    for (int k = 0; k < 3 - padding; k++)
        buf_byte(bytes, (uint8_t)(word >> (16 - 8 * k)));
    return true;
}

bool line_get_bytes(const struct line *line, const char *key, struct buf *bytes)
{
    struct str text;
    if (!find(line, key, true, &text) || text.len % 4)
        return false;
    for (size_t i = 0; i < text.len; i += 4)
        if (!take_quad(text.ptr + i, i + 4 == text.len, bytes))
            return false;
    return !bytes->failed;
}
