/* SPDX-License-Identifier: MIT */
/* Views, growing buffers, and the cursor that reads what they hold. */
#include "base/str.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BUF_MAX ((size_t)1 << 40)

int str_compare(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    if (order)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

int str_order(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
}

enum { WORD_MAX = 64 };

static unsigned smaller_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Damerau-Levenshtein, restricted form, three rows. */
unsigned str_distance(struct str a, struct str b)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    if (a.len > WORD_MAX || b.len > WORD_MAX)
        return UINT_MAX;
    for (size_t j = 0; j <= b.len; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned *spare = before;
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.len; j++) {
            row[j] = last[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);
            row[j] = smaller_of(row[j], smaller_of(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] &&
                a.ptr[i - 2] == b.ptr[j - 1])
                row[j] = smaller_of(row[j], before[j - 2] + 1);
        }
        before = last;
        last = row;
        row = spare;
    }
    return last[b.len];
}

struct str str_nearest(struct str word, const struct str *candidates, size_t n)
{
    struct str best = {NULL, 0};
    unsigned best_distance = (unsigned)(word.len < 8 ? 1 : word.len / 4) + 1;
    for (size_t i = 0; i < n; i++) {
        unsigned distance = str_distance(word, candidates[i]);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidates[i];
        }
    }
    return best;
}

void buf_release(struct buf *buf)
{
    free(buf->data);
    *buf = BUF_INIT;
}

void buf_clear(struct buf *buf)
{
    buf->size = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = 0;
}

/* Makes room for n more bytes and the final NUL. */
static bool make_room(struct buf *buf, size_t n)
{
    if (buf->failed)
        return false;
    if (n > BUF_MAX - buf->size - 1) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->size + n + 1;
    if (need <= buf->capacity)
        return true;
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity < need)
        capacity *= 2;
    char *data = realloc(buf->data, capacity);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void *buf_grow(struct buf *buf, size_t n)
{
    if (!make_room(buf, n))
        return NULL;
    char *at = buf->data + buf->size;
    buf->size += n;
    buf->data[buf->size] = 0;
    return at;
}

void buf_add(struct buf *buf, const void *bytes, size_t n)
{
    char *at = buf_grow(buf, n);
    if (at && n)
        memcpy(at, bytes, n);
}

void buf_str(struct buf *buf, struct str text)
{
    buf_add(buf, text.ptr, text.len);
}

void buf_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_byte(struct buf *buf, uint8_t byte)
{
    char *at = buf_grow(buf, 1);
    if (at)
        *at = (char)byte;
}

void buf_format(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        buf->failed = true;
    else if (make_room(buf, (size_t)n)) {
        vsnprintf(buf->data + buf->size, (size_t)n + 1, format, again);
        buf->size += (size_t)n;
    }
    va_end(again);
}

static void add_little_endian(struct buf *buf, uint64_t value, size_t n)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    buf_add(buf, bytes, n);
}

void buf_u16(struct buf *buf, uint16_t value)
{
    add_little_endian(buf, value, 2);
}

void buf_u32(struct buf *buf, uint32_t value)
{
    add_little_endian(buf, value, 4);
}

void buf_u64(struct buf *buf, uint64_t value)
{
    add_little_endian(buf, value, 8);
}

void buf_varint(struct buf *buf, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    if (value < 0x80) { /* most of them */
        buf_byte(buf, (uint8_t)value);
        return;
    }
    while (value >= 0x80) {
        bytes[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (uint8_t)value;
    buf_add(buf, bytes, n);
}

void buf_lstr(struct buf *buf, struct str text)
{
    buf_varint(buf, text.len);
    if (text.len)
        buf_str(buf, text);
}

int buf_check(const struct buf *buf, struct cairn_error *error)
{
    return buf->failed ? error_nomem(error) : 0;
}

void buf_path(struct buf *path, struct str part)
{
    if (part.len == 0 || !part.ptr)
        return;
    if (part.ptr[0] == '/')
        buf_clear(path);
    else if (path->size && path->data[path->size - 1] != '/')
        buf_byte(path, '/');
    buf_str(path, part);
}

struct reader reader_of(const void *bytes, size_t n)
{
    const uint8_t *at = bytes ?: "";
    return (struct reader){at, at + n, false};
}

struct str read_bytes(struct reader *reader, size_t n)
{
    if (reader->failed || n > reader_left(reader)) {
        reader->failed = true;
        return (struct str){NULL, 0};
    }
    struct str view = {(const char *)reader->at, n};
    reader->at += n;
    return view;
}

static uint64_t read_little_endian(struct reader *reader, size_t n)
{
    struct str bytes = read_bytes(reader, n);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.len; i++)
        value |= (uint64_t)(uint8_t)bytes.ptr[i] << (8 * i);
    return value;
}

uint8_t read_byte(struct reader *reader)
{
    if (reader->failed || !reader_left(reader)) {
        reader->failed = true;
        return 0;
    }
    return *reader->at++;
}

uint16_t read_u16(struct reader *reader)
{
    return (uint16_t)read_little_endian(reader, 2);
}

uint32_t read_u32(struct reader *reader)
{
    return (uint32_t)read_little_endian(reader, 4);
}

uint64_t read_u64(struct reader *reader)
{
    return read_little_endian(reader, 8);
}

uint64_t read_varint(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = read_byte(reader);
        if (reader->failed)
            return 0;
        if (shift == 63 && byte > 1)
            break;
        if (byte == 0 && shift > 0) /* more bytes than needed */
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    reader->failed = true;
    return 0;
}

struct str read_lstr(struct reader *reader)
{
    return read_bytes(reader, (size_t)read_varint(reader));
}
