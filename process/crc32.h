/* SPDX-License-Identifier: MIT */
/* CRC-32 (ISO-HDLC, as in zip), for small records: bit by bit, without a table.
 * Compiled into the library and into the helper program: no other header of cairn. */
#ifndef PROCESS_CRC32_H
#define PROCESS_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* `before`: the checksum of what stands before these bytes, or 0. */
static inline uint32_t crc32_of(uint32_t before, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint32_t crc = ~before;
    for (size_t i = 0; i < n; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
    }
    return ~crc;
}

#endif
