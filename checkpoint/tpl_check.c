/* SPDX-License-Identifier: MIT */
/* Our own check of tpl images, before libtpl sees them. Pure.
 *
 * An image of the flat formats used here (format "uBB" or "UUB"):
 *   0  3  "tpl"
 *   3  1  flags: 0 little endian, 1 big endian
 *   4  4  length of the whole image
 *   8  4  format string and its NUL
 *  12     fields in order: u 4 bytes, U 8 bytes, B 4 bytes length and the bytes
 * Numbers are in the byte order of the host that wrote it. */
#include "checkpoint/packed_int.h"

#include "base/limits.h"
#include "base/reader.h"

#include <assert.h>

static uint32_t host_u32(struct str bytes)
{
    uint32_t value = 0;
    if (bytes.len == sizeof value)
        memcpy(&value, bytes.ptr, sizeof value);
    return value;
}

int image_check(struct str image, const char *format, struct cairn_error *error)
{
    static const uint16_t one = 1;
    uint8_t low_first;
    assert(strlen(format) == 3);
    memcpy(&low_first, &one, 1);
    struct reader in = reader_of(image.ptr, image.len);
    const char *fault = NULL;
    if (image.len > LIMIT_PAYLOAD_BYTES)
        fault = "its payload is too large";
    else if (!str_equal(read_bytes(&in, 3), STR("tpl")))
        fault = "its payload is not a tpl image";
    else if (read_byte(&in) != (low_first ? 0 : 1))
        fault = "its payload has the byte order of another kind of machine";
    else if (host_u32(read_bytes(&in, 4)) != image.len)
        fault = "its payload's own length is wrong";
    else if (!str_equal(read_bytes(&in, 4), (struct str){format, 4}))
        fault = "its payload has an unknown format";
    if (fault)
        return error_set(error, CAIRN_EDAMAGED, "%s", fault);
    for (const char *field = format; *field; field++) {
        size_t size = *field == 'U' ? 8 : 4;
        struct str bytes = read_bytes(&in, size);
        if (*field == 'B')
            read_bytes(&in, host_u32(bytes));
    }
    if (!reader_done(&in))
        return error_set(error, CAIRN_EDAMAGED,
                         "the fields of its payload do not fill it exactly");
    return 0;
}
