/* SPDX-License-Identifier: MIT */
/* A cursor over untrusted bytes: reads what the buf_ functions of str.h append. Reading
 * past the end sets `failed` and yields zeros, so one check at the end is enough. */
#ifndef BASE_READER_H
#define BASE_READER_H

#include "base/str.h"

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
