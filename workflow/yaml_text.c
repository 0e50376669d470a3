/* SPDX-License-Identifier: MIT */
/* Encoding checks, and JSON's surrogate pairs. The JSON scanner knows only where
 * strings begin and end; libyaml checks the grammar. It gives up ("not JSON") on
 * anything that JSON cannot hold, so YAML text, where quotes mean other things, is
 * never touched. */
#include "workflow/yaml_text.h"

#include "base/utf8.h"

#include <stdio.h>

static bool is_allowed(uint32_t code)
{
    if (code < 0x20)
        return code == '\t' || code == '\n' || code == '\r';
    if (code >= 0x7f && code < 0xa0)
        return false;
    return code != 0x2028 && code != 0x2029 && code != 0xfeff && code != 0xfffe &&
           code != 0xffff;
}

int yaml_text_check(const struct diagnostic *diagnostic)
{
    struct str text = diagnostic->source->text;
    const char *at = text.ptr, *end = at + text.len;
    while (at < end) {
        if (*at >= 0x20 && *at < 0x7f) {
            at++;
            continue;
        }
        uint32_t code = 0;
        size_t length = utf8_next(at, end, &code);
        if (length && is_allowed(code)) {
            at += length;
            continue;
        }
        struct position place =
            source_position(diagnostic->source, (size_t)(at - text.ptr));
        if (!length)
            return diagnose(diagnostic, place,
                            "the file is not UTF-8 text (byte 0x%02x)", (uint8_t)*at);
        return diagnose(diagnostic, place,
                        "the character U+%04X cannot stand in a workflow file; write "
                        "\"\\u%04x\" in double quotes",
                        code, code);
    }
    return 0;
}

/* ---- JSON ---- */

struct json_scan {
    const char *at, *end;
    unsigned depth;
    char before; /* last character that is not blank, outside strings; 0 at the start */
};

static bool read_hex4(const char *at, const char *end, uint32_t *value)
{
    *value = 0;
    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (uint32_t)((c | 0x20) - 'a') + 10;
        else
            return false;
        *value = *value << 4 | digit;
    }
    return true;
}

enum { PAIR = 12 }; /* length of \ud83d\ude00 */

static bool is_pair(const char *at, const char *end, uint32_t *code)
{
    uint32_t high, low;
    if (end - at < PAIR || memcmp(at, "\\u", 2) != 0 || memcmp(at + 6, "\\u", 2) != 0)
        return false;
    if (!read_hex4(at + 2, end, &high) || !read_hex4(at + 8, end, &low) ||
        high < 0xd800 || high > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return false;
    *code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* The end of the string whose opening quote is at `at`, NULL if it has none. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && (unsigned char)*at >= 0x20; at++) {
        if (*at == '"')
            return at + 1;
        if (*at == '\\')
            at++;
    }
    return NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Steps over one character outside strings; false if JSON has no such thing there. */
static bool scan_mark(struct json_scan *scan)
{
    char c = *scan->at++;
    if (is_blank(c))
        return true;
    bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                  (c >= 'A' && c <= 'Z') || c == '+' || c == '-' || c == '.';
    if (c == '{' || c == '[')
        scan->depth++;
    else if ((c == '}' || c == ']') && scan->depth)
        scan->depth--;
    else if (!scan->depth || (!letter && c != ':' && c != ','))
        return false;
    scan->before = c;
    return true;
}

/* Steps over a string; its extent is in *from and scan->at. */
static bool scan_string(struct json_scan *scan, const char **from)
{
    *from = scan->at;
    const char *stop = string_end(scan->at, scan->end);
    if (!stop || !scan->before || !strchr("{[,:", scan->before))
        return false;
    scan->at = stop;
    scan->before = '"';
    return true;
}

/* Whether the text has JSON's shape; counts what must be rewritten. */
static bool inspect_json(struct str text, uint32_t *pairs, bool *tabs)
{
    struct json_scan scan = {text.ptr, text.ptr + text.len, 0, 0};
    *pairs = 0;
    *tabs = false;
    while (scan.at < scan.end) {
        if (*scan.at != '"') {
            *tabs |= *scan.at == '\t' && !scan.depth;
            if (!scan_mark(&scan))
                return false;
            continue;
        }
        const char *at;
        uint32_t code;
        if (!scan_string(&scan, &at))
            return false;
        while (at < scan.at) {
            bool pair = is_pair(at, scan.at, &code);
            *pairs += pair;
            at += pair ? PAIR : *at == '\\' ? 2 : 1;
        }
    }
    return true;
}

struct writer {
    char *out;
    size_t used;
    uint32_t characters;
    struct yaml_text *text;
};

static void write_byte(struct writer *writer, char byte)
{
    writer->out[writer->used++] = byte;
    writer->characters += ((uint8_t)byte & 0xc0) != 0x80;
}

static void write_string(struct writer *writer, const char *at, const char *end)
{
    while (at < end) {
        uint32_t code;
        if (is_pair(at, end, &code)) {
            snprintf(writer->out + writer->used, PAIR, "\\U%08x", code);
            writer->used += PAIR - 2;
            writer->characters += PAIR - 2;
            writer->text->pairs[writer->text->n_pairs++] = writer->characters;
            at += PAIR;
            continue;
        }
        if (*at == '\\')
            write_byte(writer, *at++);
        write_byte(writer, *at++);
    }
}

static void rewrite_json(struct writer *writer, struct str text)
{
    struct json_scan scan = {text.ptr, text.ptr + text.len, 0, 0};
    while (scan.at < scan.end) {
        const char *from;
        if (*scan.at == '"') {
            scan_string(&scan, &from);
            write_string(writer, from, scan.at);
        } else {
            write_byte(writer, *scan.at == '\t' && !scan.depth ? ' ' : *scan.at);
            scan_mark(&scan);
        }
    }
}

int yaml_text_prepare(struct yaml_text *out, struct str text, struct arena *arena,
                      struct cairn_error *error)
{
    uint32_t pairs;
    bool tabs;
    *out = (struct yaml_text){.text = text};
    if (!inspect_json(text, &pairs, &tabs) || (!pairs && !tabs))
        return 0;
    struct writer writer = {.text = out};
    writer.out = arena_take(arena, text.len + 1, 1);
    out->pairs = arena_take(arena, pairs, sizeof *out->pairs);
    if (!writer.out || !out->pairs)
        return error_nomem(error);
    rewrite_json(&writer, text);
    out->text = (struct str){writer.out, writer.used};
    return 0;
}

/* How many pairs end at or before a character. */
static uint32_t pairs_until(const struct yaml_text *text, size_t index)
{
    uint32_t low = 0, high = text->n_pairs;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (text->pairs[middle] <= index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t yaml_text_column(const struct yaml_text *text, size_t index, size_t column)
{
    uint32_t pairs = pairs_until(text, index) - pairs_until(text, index - column);
    return (uint32_t)column + 2 * pairs;
}
