/* SPDX-License-Identifier: MIT */
/* Lines and columns. Only used when something is wrong: these searches start at the
 * beginning of the text. */
#include "workflow/diagnostic.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

/* The length of the line break at `at`, 0 if there is none. */
static size_t line_break(const char *at, const char *end)
{
    if (*at == '\n')
        return 1;
    if (*at != '\r')
        return 0;
    return at + 1 < end && at[1] == '\n' ? 2 : 1;
}

const struct source *source_of_line(const struct source *source, uint32_t line)
{
    while (source->more && line > source->more->before)
        source = source->more;
    return source;
}

struct str source_line(const struct source *source, uint32_t line)
{
    if (!line) /* nowhere in particular */
        return (struct str){NULL, 0};
    source = source_of_line(source, line);
    line -= line > source->before ? source->before : 0;
    const char *at = source->text.ptr, *end = at + source->text.len;
    uint32_t now = 1;
    while (at < end && now < line) {
        size_t length = line_break(at, end);
        at += length ? length : 1;
        now += length > 0;
    }
    if (now < line || at == end)
        return (struct str){NULL, 0};
    const char *stop = at;
    while (stop < end && !line_break(stop, end))
        stop++;
    return (struct str){at, (size_t)(stop - at)};
}

struct position source_position(const struct source *source, size_t offset)
{
    const char *at = source->text.ptr, *end = at + source->text.len;
    const char *target = at + offset;
    struct position position = {source->before + 1, 1};
    while (at < target) {
        size_t length = line_break(at, end);
        if (length) {
            position = (struct position){position.line + 1, 1};
            at += length;
            continue;
        }
        uint32_t code;
        length = utf8_next(at, end, &code);
        at += length ? length : 1;
        position.column++;
    }
    return position;
}

static size_t offset_of(const struct source *source, struct position position)
{
    struct str line = source_line(source, position.line);
    if (!line.ptr)
        return source->text.len;
    const char *at = line.ptr, *end = at + line.len;
    for (uint32_t column = 1; column < position.column && at < end; column++) {
        uint32_t code;
        size_t length = utf8_next(at, end, &code);
        at += length ? length : 1;
    }
    return (size_t)(at - source->text.ptr);
}

/* How often `needle` occurs in `text` before `offset`. */
static size_t count_before(struct str text, struct str needle, size_t offset)
{
    size_t n = 0;
    for (size_t i = 0; i < offset && i + needle.len <= text.len; i++)
        n += memcmp(text.ptr + i, needle.ptr, needle.len) == 0;
    return n;
}

struct position source_inside(const struct source *source, struct position start,
                              struct str content, size_t offset, size_t length)
{
    struct str needle = {content.ptr + offset, length};
    if (length == 0 || start.line == 0)
        return start;
    size_t skip = count_before(content, needle, offset);
    source = source_of_line(source, start.line);
    for (size_t i = offset_of(source, start); i + length <= source->text.len; i++)
        if (memcmp(source->text.ptr + i, needle.ptr, length) == 0 && skip-- == 0)
            return source_position(source, i);
    return start;
}

/* Composing error text. Sizes: name 160 + numbers 24 + message 400 + line 300 + caret
 * 90 bytes stay below the 1024 of struct cairn_error. Nothing here allocates. */

enum { NAME_MAX_BYTES = 160, MESSAGE_BYTES = 400, WINDOW = 70, WORD_BYTES = 60 };

int shown_length(struct str text)
{
    return (int)utf8_fit(text, WORD_BYTES);
}

struct hint hint_nearest(struct str word, const struct str *candidates, size_t n)
{
    struct hint hint = {""};
    if (word.len < 2) /* everything of one letter is near */
        return hint;
    struct str best = str_nearest(word, candidates, n);
    if (best.len)
        snprintf(hint.text, sizeof hint.text, "; did you mean `%.*s`?", SHOWN(best));
    return hint;
}

/* A message is one line, whatever the file's text that it quotes. */
static void clean_line(char *text)
{
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
}

static uint32_t count_columns(struct str line)
{
    struct source one = {.text = line};
    return source_position(&one, line.len).column;
}

/* Copies columns [first, first + WINDOW) of the line. */
static size_t copy_window(char *out, struct str line, uint32_t first)
{
    const char *at = line.ptr, *end = at + line.len;
    size_t used = 0;
    for (uint32_t column = 1; at < end && column < first + WINDOW; column++) {
        uint32_t code;
        size_t length = utf8_next(at, end, &code);
        bool printable = length > 0 && code >= 0x20 && code != 0x7f;
        if (column >= first && printable) {
            memcpy(out + used, at, length);
            used += length;
        } else if (column >= first)
            out[used++] = length && code == '\t' ? ' ' : '?';
        at += length ? length : 1;
    }
    out[used] = 0;
    return used;
}

/* "\n   7 | text\n     | ^" */
static void add_snippet(char *out, size_t size, struct str line, struct position at)
{
    char window[WINDOW * 4 + 1];
    uint32_t columns = count_columns(line);
    uint32_t column = at.column > columns ? columns : at.column;
    uint32_t first = 1;
    if (columns > WINDOW && column > WINDOW - 20)
        first = column - WINDOW / 2;
    copy_window(window, line, first);
    const char *before = first > 1 ? "..." : "";
    const char *after = columns > first + WINDOW ? "..." : "";
    char number[16];
    snprintf(number, sizeof number, "%4u", at.line);
    snprintf(out, size, "\n%s | %s%s%s\n%*s | %*s^", number, before, window, after,
             (int)strlen(number), "", (int)(column - first + strlen(before)), "");
}

static int fill_error(const struct diagnostic *diagnostic, int code, struct position at,
                      const char *format, va_list args)
{
    struct cairn_error *error = diagnostic->error;
    if (diagnostic->place)
        *diagnostic->place = at;
    if (!error)
        return code;
    char message[MESSAGE_BYTES + 8];
    int n = vsnprintf(message, sizeof message, format, args);
    if (n > MESSAGE_BYTES) {
        struct str whole = {message, sizeof message - 1};
        message[utf8_fit(whole, MESSAGE_BYTES)] = 0;
    }
    clean_line(message);
    const struct source *source = source_of_line(diagnostic->source, at.line);
    struct str line = source_line(source, at.line);
    const char *name = source->name;
    if (strlen(name) > NAME_MAX_BYTES)
        name += strlen(name) - NAME_MAX_BYTES;
    error->code = code;
    error->sys = 0;
    if (at.line == 0) {
        snprintf(error->text, sizeof error->text, "%s: %s", name, message);
        return code;
    }
    at.line -= source->before;
    snprintf(error->text, sizeof error->text, "%s:%u:%u: %s", name, at.line, at.column,
             message);
    size_t used = strlen(error->text);
    if (line.ptr)
        add_snippet(error->text + used, sizeof error->text - used, line, at);
    return code;
}

int diagnose(const struct diagnostic *diagnostic, struct position at,
             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int code = fill_error(diagnostic, CAIRN_EWORKFLOW, at, format, args);
    va_end(args);
    return code;
}

int diagnose_as(const struct diagnostic *diagnostic, int code, struct position at,
                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill_error(diagnostic, code, at, format, args);
    va_end(args);
    return code;
}
