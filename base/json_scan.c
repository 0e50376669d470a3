/* SPDX-License-Identifier: MIT */
#include "base/json_scan.h"

#include <stdio.h>
#include <string.h>

/* What may come next. */
enum expects {
    EXPECTS_VALUE,
    EXPECTS_VALUE_OR_END, /* behind [ */
    EXPECTS_KEY,
    EXPECTS_KEY_OR_END, /* behind { */
    EXPECTS_COMMA,      /* or the end of what is open */
    EXPECTS_NOTHING,
    EXPECTS_GAVE_UP,
    EXPECTS_TOO_DEEP
};

struct json_scan json_scan_of(struct str text)
{
    text = str_without_mark(text);
    return (struct json_scan){.at = text.ptr,
                              .end = text.ptr ? text.ptr + text.len : text.ptr};
}

static void skip_space(struct json_scan *in)
{
    while (in->at < in->end && strchr(" \t\n\r", *in->at) && *in->at)
        in->at++;
}

static enum json_token give_up(struct json_scan *in)
{
    in->ended = in->expects == EXPECTS_NOTHING;
    if (in->expects < EXPECTS_GAVE_UP)
        in->expects = EXPECTS_GAVE_UP;
    return JSON_BAD;
}

static bool in_object(const struct json_scan *in)
{
    uint32_t top = in->depth - 1;
    return in->depth && in->objects[top / 8] >> top % 8 & 1;
}

/* Without the byte or the word that is wrong: that may be a secret. */
void json_why(const struct json_scan *in, struct str text, char out[JSON_WHY_BYTES])
{
    size_t at = in->at < in->end ? (size_t)(in->at - text.ptr) : text.len;
    size_t line = 1;
    char what[96] = "it is not valid JSON";
    for (size_t i = 0; i < at; i++)
        line += text.ptr[i] == '\n';
    if (in->expects == EXPECTS_TOO_DEEP)
        snprintf(what, sizeof what, "it is nested more than %d levels deep",
                 JSON_DEPTH_MOST);
    else if (in->ended)
        snprintf(what, sizeof what,
                 "it is not whole: there is more text after its end");
    else if (at == text.len)
        snprintf(what, sizeof what, "it is not whole: it ends too early");
    snprintf(out, JSON_WHY_BYTES, "%s (byte %zu, line %zu)", what, at + 1, line);
}

static void value_done(struct json_scan *in)
{
    in->expects = in->depth ? EXPECTS_COMMA : EXPECTS_NOTHING;
}

/* ---- Values ---- */

static enum json_token open_one(struct json_scan *in, bool object)
{
    uint32_t top = in->depth;
    if (top == JSON_DEPTH_MOST) {
        in->at--;
        in->expects = EXPECTS_TOO_DEEP;
        return JSON_BAD;
    }
    uint8_t bit = (uint8_t)(1u << top % 8);
    in->objects[top / 8] =
        (uint8_t)(object ? in->objects[top / 8] | bit : in->objects[top / 8] & ~bit);
    in->depth++;
    in->expects = object ? EXPECTS_KEY_OR_END : EXPECTS_VALUE_OR_END;
    return object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_token close_one(struct json_scan *in, bool object)
{
    if (!in->depth || in_object(in) != object)
        return give_up(in);
    in->depth--;
    value_done(in);
    return object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* How long an escape is; 0: it is none. */
static size_t escape_length(const char *at, const char *end)
{
    if (end - at < 2)
        return 0;
    if (at[1] != 'u')
        return at[1] && strchr("\"\\/bfnrt", at[1]) ? 2 : 0;
    bool whole = end - at >= 6;
    for (int i = 2; i < 6 && whole; i++)
        whole = is_hex(at[i]);
    return whole ? 6 : 0;
}

/* Behind the first quote. */
static bool read_string(struct json_scan *in)
{
    const char *start = in->at;
    while (in->at < in->end && *in->at != '"') {
        size_t n = *in->at == '\\' ? escape_length(in->at, in->end) : 1;
        if (!n || (unsigned char)*in->at < 0x20)
            return false;
        in->at += n;
    }
    in->raw = (struct str){start, (size_t)(in->at - start)};
    bool closed = in->at < in->end;
    in->at += closed;
    return closed;
}

static bool skip_digits(struct json_scan *in)
{
    const char *start = in->at;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9')
        in->at++;
    return in->at > start;
}

static bool skip_one_of(struct json_scan *in, const char *set)
{
    bool there = in->at < in->end && *in->at && strchr(set, *in->at);
    in->at += there;
    return there;
}

static enum json_token read_number(struct json_scan *in)
{
    const char *start = in->at;
    skip_one_of(in, "-");
    bool good = skip_one_of(in, "0") || skip_digits(in);
    if (good && skip_one_of(in, "."))
        good = skip_digits(in);
    if (good && skip_one_of(in, "eE")) {
        skip_one_of(in, "+-");
        good = skip_digits(in);
    }
    in->raw = (struct str){start, (size_t)(in->at - start)};
    return good ? JSON_NUMBER : JSON_BAD;
}

static enum json_token read_word(struct json_scan *in)
{
    static const struct {
        const char *word;
        enum json_token token;
    } words[] = {{"true", JSON_TRUE}, {"false", JSON_FALSE}, {"null", JSON_NULL}};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(in->end - in->at) < n || memcmp(in->at, words[i].word, n) != 0)
            continue;
        in->raw = (struct str){in->at, n};
        in->at += n;
        return words[i].token;
    }
    return JSON_BAD;
}

static enum json_token read_value(struct json_scan *in)
{
    char first = *in->at;
    in->raw = (struct str){in->at, 1};
    if (first == '{' || first == '[') {
        in->at++;
        return open_one(in, first == '{');
    }
    enum json_token token = JSON_BAD;
    if (first == '"') {
        in->at++;
        token = read_string(in) ? JSON_STRING : JSON_BAD;
    } else {
        token = first == '-' || (first >= '0' && first <= '9') ? read_number(in)
                                                               : read_word(in);
    }
    if (token == JSON_BAD)
        return give_up(in);
    value_done(in);
    return token;
}

static enum json_token read_key(struct json_scan *in)
{
    if (*in->at != '"')
        return give_up(in);
    in->at++;
    bool good = read_string(in);
    struct str raw = in->raw;
    skip_space(in);
    if (!good || !skip_one_of(in, ":"))
        return give_up(in);
    in->raw = raw;
    in->expects = EXPECTS_VALUE;
    return JSON_KEY;
}

/* ---- The next one ---- */

/* A comma, where one must be. */
static bool pass_comma(struct json_scan *in)
{
    if (in->expects != EXPECTS_COMMA)
        return true;
    if (!skip_one_of(in, ","))
        return false;
    in->expects = in_object(in) ? EXPECTS_KEY : EXPECTS_VALUE;
    skip_space(in);
    return in->at < in->end;
}

enum json_token json_next(struct json_scan *in)
{
    skip_space(in);
    if (in->expects == EXPECTS_NOTHING && in->at == in->end)
        return JSON_END;
    if (in->at == in->end || in->expects >= EXPECTS_NOTHING)
        return give_up(in);
    bool object = in_object(in);
    bool may_end =
        in->depth && in->expects != EXPECTS_VALUE && in->expects != EXPECTS_KEY;
    if (may_end && *in->at == (object ? '}' : ']')) {
        in->raw = (struct str){in->at++, 1};
        return close_one(in, object);
    }
    if (!pass_comma(in))
        return give_up(in);
    return in->expects == EXPECTS_KEY || in->expects == EXPECTS_KEY_OR_END
               ? read_key(in)
               : read_value(in);
}

/* ---- Strings and numbers ---- */

static uint32_t hex_at(const char *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

static void put_code(uint32_t code, struct buf *out)
{
    if (code < 0x80) {
        buf_byte(out, (uint8_t)code);
        return;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
    buf_byte(out, (uint8_t)(leads[more] | code >> 6 * more));
    while (more-- > 0)
        buf_byte(out, (uint8_t)(0x80 | (code >> 6 * more & 0x3f)));
}

/* \uXXXX, with its second half if it has one. Returns how many bytes it took. */
static size_t put_unicode(const char *at, const char *end, struct buf *out)
{
    enum { REPLACEMENT = 0xfffd };
    uint32_t code = hex_at(at + 2), low = 0;
    if (code < 0xd800 || code > 0xdfff) {
        put_code(code, out);
        return 6;
    }
    if (code < 0xdc00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u')
        low = hex_at(at + 8);
    if (low < 0xdc00 || low > 0xdfff) {
        put_code(REPLACEMENT, out);
        return 6;
    }
    put_code(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), out);
    return 12;
}

void json_unescape(struct str raw, struct buf *out)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    if (!raw.len) /* of no bytes, the pointer may be NULL */
        return;
    const char *at = raw.ptr, *end = raw.ptr + raw.len;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t n = slash ? escape_length(slash, end) : 0;
        buf_add(out, at, (size_t)((n ? slash : end) - at));
        if (!n)
            return;
        const char *known = slash[1] != 'u' ? strchr(from, slash[1]) : NULL;
        if (n == 2)
            buf_byte(out, (uint8_t)(known ? to[known - from] : slash[1]));
        else
            n = put_unicode(slash, end, out);
        at = slash + n;
    }
}

void json_escape(struct str bytes, struct buf *out)
{
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        if (c == '"' || c == '\\')
            buf_byte(out, '\\');
        if (c < 0x20)
            buf_format(out, "\\u%04x", c);
        else
            buf_byte(out, c);
    }
}

uint64_t json_count(struct str raw)
{
    uint64_t value = 0;
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.ptr[i] < '0' || raw.ptr[i] > '9' || value > UINT64_MAX / 10 - 1)
            return 0;
        value = value * 10 + (uint64_t)(raw.ptr[i] - '0');
    }
    return value;
}
