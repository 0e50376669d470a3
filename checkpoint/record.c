/* SPDX-License-Identifier: MIT */
/* The record codec. Header, little endian:
 *
 *   offset size
 *        0    4  magic 43 52 4e 01
 *        4    2  format version, 1
 *        6    1  namespace: 1 workflow, 2 debug
 *        7    1  kind: 1 full, 2 delta
 *        8    2  flags: bit 0 an HMAC follows the payload; others 0
 *       10    2  reserved, 0
 *       12    4  payload length
 *       16    8  stream
 *       24    8  seq
 *       32    8  position
 *       40    8  time, nanoseconds since 1970 UTC, signed
 *       48   32  parent digest
 *       80    8  reserved, 0
 *       88       payload, then the HMAC (32 bytes) if there is one
 *
 * Invariant: no field is used before the SHA-256 over all bytes has matched. */
#include "checkpoint/record.h"

#include "base/limits.h"
#include "base/reader.h"
#include "storage/rows_checkpoint.h"

#include <assert.h>

static const char magic[4] = {'C', 'R', 'N', 1};

/* What is wrong with a header's values, or NULL. */
static const char *header_fault(const struct record_header *header)
{
    if (header->namespace_id != NAMESPACE_WORKFLOW &&
        header->namespace_id != NAMESPACE_DEBUG)
        return "unknown namespace";
    if (header->kind != RECORD_FULL && header->kind != RECORD_DELTA)
        return "unknown kind of record";
    if (header->flags & ~RECORD_KEYED)
        return "flags that this version does not know";
    if (header->seq == 0 || header->position == 0)
        return "a number that must not be zero is";
    return NULL;
}

static void put_header(const struct record_header *header, size_t payload_bytes,
                       struct buf *out)
{
    assert(payload_bytes <= LIMIT_PAYLOAD_BYTES);
    assert(!header_fault(header));
    buf_add(out, magic, sizeof magic);
    buf_u16(out, RECORD_VERSION);
    buf_byte(out, header->namespace_id);
    buf_byte(out, header->kind);
    buf_u16(out, header->flags);
    buf_u16(out, 0);
    buf_u32(out, (uint32_t)payload_bytes);
    buf_u64(out, header->stream);
    buf_u64(out, header->seq);
    buf_u64(out, header->position);
    buf_u64(out, (uint64_t)header->time_ns);
    buf_add(out, header->parent.bytes, DIGEST_SIZE);
    buf_u64(out, 0);
}

int record_encode_keyed(const struct record_header *given, struct str payload,
                        const struct hmac_key *key, struct sha256 *sha, struct buf *out,
                        struct digest *digest, struct cairn_error *error)
{
    struct record_header header = *given;
    const char *fault = header_fault(&header);
    if (!fault && header.flags)
        fault = "its flags are set here";
    if (fault)
        return error_set(error, CAIRN_EUSAGE, "checkpoint not written: %s", fault);
    if (payload.len > LIMIT_PAYLOAD_BYTES)
        return error_set(error, CAIRN_ELIMIT,
                         "a checkpoint of %zu bytes is larger than the limit of %d",
                         payload.len, LIMIT_PAYLOAD_BYTES);
    size_t start = out->size;
    header.flags = key ? RECORD_KEYED : 0;
    put_header(&header, payload.len, out);
    buf_str(out, payload);
    if (key && !out->failed) {
        struct str covered = {out->data + start, out->size - start};
        struct digest hmac;
        hmac_of(key, sha, &covered, 1, &hmac);
        buf_add(out, hmac.bytes, sizeof hmac.bytes);
    }
    int rc = buf_check(out, error);
    if (rc)
        return rc;
    assert(out->size - start ==
           RECORD_HEADER_BYTES + payload.len + (key ? (size_t)RECORD_HMAC_BYTES : 0));
    sha256_begin(sha);
    sha256_add(sha, out->data + start, out->size - start);
    sha256_end(sha, digest);
    return 0;
}

int record_encode(const struct record_header *header, struct str payload,
                  struct sha256 *sha, struct buf *out, struct digest *digest,
                  struct cairn_error *error)
{
    return record_encode_keyed(header, payload, NULL, sha, out, digest, error);
}

void assert_sound(const struct sound_record *record)
{
    const struct record_header *h = &record->header;
    size_t hmac_bytes = h->flags & RECORD_KEYED ? RECORD_HMAC_BYTES : 0;
    assert(!header_fault(h));
    assert(record->payload.len == h->payload_bytes);
    assert(record->bytes == RECORD_HEADER_BYTES + record->payload.len + hmac_bytes);
}

static int set_damaged(struct cairn_error *error, const char *what)
{
    return error_set(error, CAIRN_EDAMAGED, "%s", what);
}

/* Length and SHA-256, before anything else is looked at. */
static int check_bytes(struct str record, struct str digest, struct sha256 *sha,
                       struct cairn_error *error)
{
    struct digest found;
    if (record.len < RECORD_HEADER_BYTES)
        return set_damaged(error, "the record is shorter than its header");
    if (record.len >
        (size_t)RECORD_HEADER_BYTES + LIMIT_PAYLOAD_BYTES + RECORD_HMAC_BYTES)
        return set_damaged(error, "the record is longer than any can be");
    if (digest.len != DIGEST_SIZE)
        return set_damaged(error, "its SHA-256 is not 32 bytes long");
    sha256_begin(sha);
    sha256_add(sha, record.ptr, record.len);
    sha256_end(sha, &found);
    if (memcmp(found.bytes, digest.ptr, DIGEST_SIZE) != 0)
        return set_damaged(error, "its SHA-256 does not match");
    return 0;
}

/* What follows the version; whether the reserved bytes are zero. */
static bool read_header(struct reader *in, struct record_header *h)
{
    h->namespace_id = read_byte(in);
    h->kind = read_byte(in);
    h->flags = read_u16(in);
    uint16_t reserved = read_u16(in);
    h->payload_bytes = read_u32(in);
    h->stream = read_u64(in);
    h->seq = read_u64(in);
    h->position = read_u64(in);
    h->time_ns = (int64_t)read_u64(in);
    struct str parent = read_bytes(in, DIGEST_SIZE);
    if (parent.len == DIGEST_SIZE)
        memcpy(h->parent.bytes, parent.ptr, DIGEST_SIZE);
    return read_u64(in) == 0 && reserved == 0;
}

struct record_header record_peek(struct str bytes)
{
    enum { BEFORE = sizeof magic + 2 };
    struct reader in = reader_of(bytes.ptr, bytes.len);
    struct record_header header = {0};
    read_bytes(&in, BEFORE);
    read_header(&in, &header);
    return header;
}

int record_decode(struct str record, struct str digest, struct sha256 *sha,
                  struct record_header *header, struct str *payload,
                  struct cairn_error *error)
{
    int rc = check_bytes(record, digest, sha, error);
    if (rc)
        return rc;
    struct reader in = reader_of(record.ptr, record.len);
    struct record_header h = {0};
    if (!str_equal(read_bytes(&in, sizeof magic), (struct str){magic, sizeof magic}))
        return set_damaged(error, "it is not a record (magic bytes)");
    uint16_t version = read_u16(&in);
    if (version != RECORD_VERSION)
        return error_set(error, CAIRN_EDAMAGED,
                         "its format version %u is not known here", version);
    bool clean = read_header(&in, &h);
    const char *fault = header_fault(&h);
    if (fault)
        return set_damaged(error, fault);
    if (!clean)
        return set_damaged(error, "reserved bytes are not zero");
    size_t hmac_bytes = h.flags & RECORD_KEYED ? RECORD_HMAC_BYTES : 0;
    if (h.payload_bytes > LIMIT_PAYLOAD_BYTES ||
        h.payload_bytes + hmac_bytes != reader_left(&in))
        return set_damaged(error, "its payload length is wrong");
    *header = h;
    *payload = read_bytes(&in, h.payload_bytes);
    assert(payload->len == h.payload_bytes && reader_left(&in) == hmac_bytes);
    return 0;
}

int record_authentic(struct str record, const struct record_header *header,
                     const struct hmac_key *key, struct sha256 *sha,
                     struct cairn_error *error)
{
    struct digest hmac;
    assert(key);
    if (!(header->flags & RECORD_KEYED))
        return set_damaged(error, "it has no HMAC: it was written without the key");
    assert(record.len >= RECORD_HEADER_BYTES + RECORD_HMAC_BYTES);
    struct str covered = {record.ptr, record.len - RECORD_HMAC_BYTES};
    hmac_of(key, sha, &covered, 1, &hmac);
    struct str stored = {record.ptr + covered.len, RECORD_HMAC_BYTES};
    return hmac_matches(&hmac, stored)
               ? 0
               : set_damaged(error,
                             "its HMAC is not of this key: it was changed or forged, "
                             "or the key is another one");
}
