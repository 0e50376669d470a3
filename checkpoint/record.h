/* SPDX-License-Identifier: MIT */
/* The checkpoint record: what is hashed and stored. Pure; docs/format.md has every
 * byte.
 *
 *   header   fixed size, little endian
 *   payload  opaque here; of a run one tpl image (payload.h)
 *   HMAC     HMAC-SHA-256 over header and payload, if the flag RECORD_KEYED is set
 *   digest   SHA-256 over all of it; in the row's `digest` column
 *
 * `record` bytes below are all but the digest. A record with another flag or version is
 * refused.
 *
 * The HMAC lies inside the SHA-256, so damage is detectable without the key. */
#ifndef CHECKPOINT_RECORD_H
#define CHECKPOINT_RECORD_H

#include "base/sha256.h"
#include "storage/rows_checkpoint.h"

enum { RECORD_VERSION = 1, RECORD_HEADER_BYTES = 88, RECORD_HMAC_BYTES = 32 };
enum { RECORD_KEYED = 1 }; /* flags */
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

/* A record whose bytes were verified; `payload` is a view into them. */
struct sound_record {
    struct record_header header;
    struct digest digest;
    struct str payload;
    size_t bytes; /* of the whole record */
};

/* Its header is one that can be stored, and its lengths add up. A bug of ours
 * otherwise: record_decode refuses every other one. */
void assert_sound(const struct sound_record *record);

/* Appends header and payload to `out` (payload_bytes is set here) and hashes them. */
int record_encode(const struct record_header *header, struct str payload,
                  struct sha256 *sha, struct buf *out, struct digest *digest,
                  struct cairn_error *error);
/* The same, with the HMAC under `key`; NULL: as record_encode. Sets the flag. */
int record_encode_keyed(const struct record_header *header, struct str payload,
                        const struct hmac_key *key, struct sha256 *sha, struct buf *out,
                        struct digest *digest, struct cairn_error *error);
/* Checks length and SHA-256 before anything else, then every header field. `payload`
 * is a view into `record`. CAIRN_EDAMAGED says what is wrong. The HMAC is not checked.
 */
int record_decode(struct str record, struct str digest, struct sha256 *sha,
                  struct record_header *header, struct str *payload,
                  struct cairn_error *error);
/* The header of unverified bytes, zeros where they are too short. A hint only, for use
 * where a damaged record is better than none. */
struct record_header record_peek(struct str bytes);
/* Of a decoded record: CAIRN_EDAMAGED if it has no HMAC, or that of another key. */
int record_authentic(struct str record, const struct record_header *header,
                     const struct hmac_key *key, struct sha256 *sha,
                     struct cairn_error *error);

#endif
