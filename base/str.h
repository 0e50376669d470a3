/* SPDX-License-Identifier: MIT */
/* Strings: `struct str` is a borrowed view, `struct buf` an owned growing buffer.
 *
 * A buf has a sticky error: once growing failed (or the size passed BUF_MAX) every
 * later append does nothing, `failed` stays set, and buf_check reports it. So a long
 * row of appends needs one check at its end. data[size] is always a NUL. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *ptr; /* not NUL-terminated unless said */
    size_t len;
};

#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})

/* How many elements an array has: an array, not a pointer. */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static inline struct str str_of(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

static inline bool str_equal(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool str_begins(struct str text, struct str start)
{
    return text.len >= start.len &&
           (start.len == 0 || memcmp(text.ptr, start.ptr, start.len) == 0);
}

/* Without the byte order mark that programs on Windows begin a UTF-8 text with. Every
 * text from outside is read through it; what a program reads back is left as it is. */
static inline struct str str_without_mark(struct str text)
{
    if (text.len >= 3 && memcmp(text.ptr, "\xef\xbb\xbf", 3) == 0)
        return (struct str){text.ptr + 3, text.len - 3};
    return text;
}

/* `list` ends with NULL. */
static inline bool str_among(struct str text, const char *const *list)
{
    for (; *list; list++)
        if (str_equal(text, str_of(*list)))
            return true;
    return false;
}

/* memcmp order, shorter first on a tie. */
int str_compare(struct str a, struct str b);
/* For qsort and bsearch: the same of two that are pointed to. */
int str_order(const void *a, const void *b);

/* How many letters to insert, delete, replace or swap; UINT_MAX: a word has more than 64
 * bytes, and is near to nothing. */
unsigned str_distance(struct str a, struct str b);
/* Of `n` candidates the one nearest to `word` by edit distance, or an empty str if none
 * is near enough to be worth a "did you mean". */
struct str str_nearest(struct str word, const struct str *candidates, size_t n);

struct buf {
    char *data;
    size_t size, capacity;
    bool failed;
};

#define BUF_INIT ((struct buf){0})

void buf_release(struct buf *buf);
/* Keeps the memory, drops the content and the error. */
void buf_clear(struct buf *buf);
void buf_add(struct buf *buf, const void *bytes, size_t n);
void buf_str(struct buf *buf, struct str text);
void buf_text(struct buf *buf, const char *text);
void buf_byte(struct buf *buf, uint8_t byte);
/* Appends a part of a path behind a slash; one that is absolute takes the place of all.
 */
void buf_path(struct buf *path, struct str part);
void buf_format(struct buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Room for n more bytes; returns where they go, NULL on failure. Advances size. */
void *buf_grow(struct buf *buf, size_t n);
/* Little endian integers and unsigned LEB128. */
void buf_u16(struct buf *buf, uint16_t value);
void buf_u32(struct buf *buf, uint32_t value);
void buf_u64(struct buf *buf, uint64_t value);
void buf_varint(struct buf *buf, uint64_t value);
/* varint length, then the bytes. */
void buf_lstr(struct buf *buf, struct str text);

static inline struct str buf_view(const struct buf *buf)
{
    return (struct str){buf->data, buf->size};
}

/* CAIRN_ENOMEM if an append failed. */
int buf_check(const struct buf *buf, struct cairn_error *error);

/* A cursor over untrusted bytes: reads what the buf_ functions append. Reading past
 * the end sets `failed` and yields zeros, so one check at the end is enough. */
struct reader {
    const uint8_t *at, *end;
    bool failed;
};

struct reader reader_of(const void *bytes, size_t n);
uint8_t read_byte(struct reader *reader);
uint16_t read_u16(struct reader *reader);
uint32_t read_u32(struct reader *reader);
uint64_t read_u64(struct reader *reader);
/* LEB128 as buf_varint writes it: an encoding with more bytes than needed is refused.
 */
uint64_t read_varint(struct reader *reader);
/* A view into the reader's bytes; empty on failure. */
struct str read_bytes(struct reader *reader, size_t n);
struct str read_lstr(struct reader *reader);

static inline size_t reader_left(const struct reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

/* Read without trouble and to the last byte. */
static inline bool reader_done(const struct reader *reader)
{
    return !reader->failed && reader->at == reader->end;
}

#endif
