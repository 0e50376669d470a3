/* SPDX-License-Identifier: MIT */
#include "fields.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t ABSENT = UINT32_MAX;

/* The next `n` bytes; NULL: there are not so many. */
static const uint8_t *take(struct field_reader *reader, size_t n)
{
    if (reader->bad || (size_t)(reader->end - reader->at) < n) {
        reader->bad = true;
        return NULL;
    }
    reader->at += n;
    return reader->at - n;
}

int64_t field_number(struct field_reader *reader)
{
    int64_t number = 0;
    const uint8_t *bytes = take(reader, sizeof number);
    if (bytes)
        memcpy(&number, bytes, sizeof number);
    return number;
}

const void *field_bytes(struct field_reader *reader, size_t *length)
{
    uint32_t n = 0;
    const uint8_t *bytes = take(reader, sizeof n);
    *length = 0;
    if (!bytes)
        return NULL;
    memcpy(&n, bytes, sizeof n);
    if (n == ABSENT)
        return NULL;
    bytes = take(reader, (size_t)n + 1);
    if (bytes)
        *length = n;
    return bytes;
}

const char *field_text(struct field_reader *reader)
{
    size_t length;
    const char *text = field_bytes(reader, &length);
    if (!text || strlen(text) == length)
        return text;
    reader->bad = true;
    return NULL;
}

static uint8_t *grow(struct field_writer *writer, size_t n)
{
    if (writer->failed)
        return NULL;
    if (writer->capacity - writer->length < n) {
        size_t capacity = writer->capacity ? 2 * writer->capacity : 512;
        while (capacity - writer->length < n)
            capacity *= 2;
        uint8_t *bytes = realloc(writer->bytes, capacity);
        if (!bytes) {
            writer->failed = true;
            return NULL;
        }
        writer->bytes = bytes;
        writer->capacity = capacity;
    }
    writer->length += n;
    return writer->bytes + writer->length - n;
}

void field_put_number(struct field_writer *writer, int64_t number)
{
    uint8_t *at = grow(writer, sizeof number);
    if (at)
        memcpy(at, &number, sizeof number);
}

void field_put_bytes(struct field_writer *writer, const void *bytes, size_t length)
{
    uint32_t n = bytes ? (uint32_t)length : ABSENT;
    uint8_t *at = grow(writer, sizeof n + (bytes ? length + 1 : 0));
    if (!at)
        return;
    memcpy(at, &n, sizeof n);
    if (!bytes)
        return;
    memcpy(at + sizeof n, bytes, length);
    at[sizeof n + length] = 0;
}

void field_put_text(struct field_writer *writer, const char *text)
{
    field_put_bytes(writer, text, text ? strlen(text) : 0);
}

void field_writer_release(struct field_writer *writer)
{
    free(writer->bytes);
    *writer = (struct field_writer){0};
}
