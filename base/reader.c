/* SPDX-License-Identifier: MIT */
#include "base/reader.h"

struct reader reader_of(const void *bytes, size_t n)
{
    return (struct reader){bytes, n ? (const uint8_t *)bytes + n : bytes, false};
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
