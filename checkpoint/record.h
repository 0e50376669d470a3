/* The checkpoint record: what is hashed and stored. Pure; docs/format.md has every
 * byte.
 *
 *   header   fixed size, little endian
 *   payload  one tpl image (payload.h)
 *   trailer  SHA-256 over header and payload; kept in the row's `digest` column
 *
 * `record` bytes below are header + payload. Flags are all zero in format 1; a set flag
 * or another version is refused, never guessed at. */
#ifndef CHECKPOINT_RECORD_H
#define CHECKPOINT_RECORD_H

#include "base/sha256.h"

enum { RECORD_VERSION = 1, RECORD_HEADER_BYTES = 88 };
enum record_kind { RECORD_FULL = 1, RECORD_DELTA = 2 };

struct record_header {
    uint8_t namespace_id; /* enum namespace_id */
    uint8_t kind;
    uint16_t flags;
    uint64_t stream, seq;
    uint64_t position; /* number in the stream, from 1 */
    int64_t time_ns;
    struct digest parent; /* zeros for the first of a tree */
    uint32_t payload_bytes;
};

/* Appends header and payload to `out` (payload_bytes is set here) and hashes them. */
int record_encode(const struct record_header *header, struct str payload,
                  struct sha256 *sha, struct buf *out, struct digest *digest,
                  struct cairn_error *error);
/* Checks length and SHA-256 before anything else is believed, then every header field.
 * `payload` views into `record`. CAIRN_EDAMAGED names what is wrong. */
int record_decode(struct str record, struct str digest, struct sha256 *sha,
                  struct record_header *header, struct str *payload,
                  struct cairn_error *error);

#endif
