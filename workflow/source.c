/* SPDX-License-Identifier: MIT */
/* Lines and columns. Only used when something is wrong: these searches start at the
 * beginning of the text. */
#include "workflow/source.h"

#include "base/utf8.h"

/* The length of the line break at `at`, 0 if there is none. */
static size_t line_break(const char *at, const char *end)
{
    if (*at == '\n')
        return 1;
    if (*at != '\r')
        return 0;
    return at + 1 < end && at[1] == '\n' ? 2 : 1;
}

struct str source_line(const struct source *source, uint32_t line)
{
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
    struct position position = {1, 1};
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
    for (size_t i = offset_of(source, start); i + length <= source->text.len; i++)
        if (memcmp(source->text.ptr + i, needle.ptr, length) == 0 && skip-- == 0)
            return source_position(source, i);
    return start;
}
