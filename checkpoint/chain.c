/* SPDX-License-Identifier: MIT */
/* Records as bytes, stored rows against them, and the writing end of a stream. */
#include "checkpoint/chain.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/str.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The writing end of a stream. Invariant: `struct chain` changes only after the row was
 * put, so a failed call leaves it as it was. */

enum { TAIL_MIN_BYTES = 4096, ENTRIES_PER_BYTE = 4 };

/* ---- What must hold ---- */

void assert_chains(const struct chains *in)
{
    assert(in->store && in->sha && in->kind);
    assert(in->kind->namespace_id == NAMESPACE_WORKFLOW ||
           in->kind->namespace_id == NAMESPACE_DEBUG);
}

void assert_chain(const struct chain *chain)
{
    assert_chains(&chain->in);
    assert(chain->id > 0);
    assert((chain->parent == 0) == digest_is_none(&chain->parent_digest));
    assert(chain->position == 0 || chain->parent > 0);
    assert(chain->base <= chain->parent);
    assert(chain->base == 0 || chain->position > 0);
    assert((chain->base == 0) == (chain->base_bytes == 0));
}

/* ---- Names ---- */

const char *namespace_name(uint8_t namespace_id)
{
    return namespace_id == NAMESPACE_DEBUG ? "debug" : "workflow";
}

void checkpoint_number(uint8_t namespace_id, uint64_t seq, char out[CAIRN_ID_MAX])
{
    snprintf(out, CAIRN_ID_MAX, "%s:%llu", namespace_name(namespace_id),
             (unsigned long long)seq);
}

void checkpoint_id(uint8_t namespace_id, uint64_t seq, const struct digest *digest,
                   char out[CAIRN_ID_MAX])
{
    char hex[DIGEST_HEX_SIZE];
    digest_hex(digest, hex);
    int length = snprintf(out, CAIRN_ID_MAX, "%s:%llu-%.12s",
                          namespace_name(namespace_id), (unsigned long long)seq, hex);
    assert(length > 0 && length < CAIRN_ID_MAX);
}

/* ---- Appending ---- */

uint64_t chain_base_bytes(size_t record_bytes, uint32_t size)
{
    uint64_t effort = size / ENTRIES_PER_BYTE;
    return record_bytes > effort ? record_bytes : effort;
}

static int put_row(const struct chain *chain, const struct record_header *header,
                   struct str record, const struct digest *digest,
                   struct cairn_error *error)
{
    assert(header->position == chain->position + 1);
    assert(digest_equal(&header->parent, &chain->parent_digest));
    assert(header->kind == RECORD_FULL || chain->base < header->seq);
    struct checkpoint_row row = {.seq = header->seq,
                                 .namespace_id = header->namespace_id,
                                 .kind = header->kind,
                                 .stream = header->stream,
                                 .parent = chain->parent,
                                 .time_ns = header->time_ns,
                                 .record = record};
    row.digest = (struct str){(const char *)digest->bytes, DIGEST_SIZE};
    assert(row.parent < row.seq);
    return store_put_checkpoint(chain->in.store, &row, error);
}

/* Numbers, hashes and stores one record; `*bytes` is its size. */
static int put_record(const struct chain *chain, const struct chain_payload *payload,
                      struct checkpoint_ref *ref, size_t *bytes,
                      struct cairn_error *error)
{
    struct buf record = BUF_INIT;
    struct record_header header = {.namespace_id = chain->in.kind->namespace_id,
                                   .kind = payload->full ? RECORD_FULL : RECORD_DELTA,
                                   .stream = chain->id,
                                   .position = chain->position + 1,
                                   .time_ns = payload->time_ns,
                                   .parent = chain->parent_digest};
    int rc = store_next_seq(chain->in.store, &header.seq, error);
    if (rc == 0 && header.seq <= chain->parent)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "the numbers of checkpoints are damaged: the next one would be "
                       "%llu, behind %llu; run `cairn doctor`",
                       (unsigned long long)header.seq,
                       (unsigned long long)chain->parent);
    if (rc == 0)
        rc = record_encode_keyed(&header, payload->bytes, store_key(chain->in.store),
                                 chain->in.sha, &record, &ref->digest, error)
                 ?: put_row(chain, &header, buf_view(&record), &ref->digest, error);
    ref->seq = header.seq;
    *bytes = record.size;
    buf_release(&record);
    return rc;
}

int chain_append(struct chain *chain, const struct chain_payload *payload,
                 struct checkpoint_ref *ref, struct cairn_error *error)
{
    struct checkpoint_ref made;
    size_t bytes = 0;
    assert_chain(chain);
    assert(payload->full || chain->base > 0);
    int rc = put_record(chain, payload, &made, &bytes, error);
    if (rc)
        return rc;
    assert(made.seq > chain->parent && bytes > payload->bytes.len);
    chain->parent = made.seq;
    chain->parent_digest = made.digest;
    chain->position++;
    if (payload->full) {
        chain->base = made.seq;
        chain->base_bytes = chain_base_bytes(bytes, payload->size);
        chain->tail_bytes = 0;
    } else {
        chain->tail_bytes += bytes;
    }
    assert_chain(chain);
    if (ref)
        *ref = made;
    return 0;
}

bool chain_wants_full(const struct chain *chain)
{
    uint64_t limit = chain->base_bytes;
    if (limit < TAIL_MIN_BYTES)
        limit = TAIL_MIN_BYTES;
    return chain->tail_bytes >= limit;
}

/* From a stored row to a verified record, and the name of a row in messages. */

void row_id(const struct checkpoint_row *row, char out[CAIRN_ID_MAX])
{
    struct digest start = {{0}};
    size_t known = row->digest.len < DIGEST_SIZE ? row->digest.len : DIGEST_SIZE;
    if (known)
        memcpy(start.bytes, row->digest.ptr, known);
    checkpoint_id(row->namespace_id, row->seq, &start, out);
    if (known < 6)
        out[strcspn(out, "-")] = 0;
}

static int refuse_column(struct cairn_error *error, const char *name)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "its column `%s` differs from the record's header", name);
}

/* Sessions have no key. A record of one that has an HMAC all the same must have that of
 * the key. */
static bool wants_hmac(const struct record_header *header)
{
    return header->namespace_id != NAMESPACE_DEBUG || (header->flags & RECORD_KEYED);
}

int row_check(const struct checkpoint_row *row, struct sha256 *sha,
              struct sound_record *out, struct cairn_error *error)
{
    struct sound_record found = {.bytes = row->record.len};
    int rc = record_decode(row->record, row->digest, sha, &found.header, &found.payload,
                           error);
    if (rc == 0 && row->key && wants_hmac(&found.header))
        rc = record_authentic(row->record, &found.header, row->key, sha, error);
    if (rc)
        return rc;
    const struct record_header *h = &found.header;
    if (h->seq != row->seq)
        return refuse_column(error, "seq");
    if (h->namespace_id != row->namespace_id)
        return refuse_column(error, "namespace");
    if (h->stream != row->stream)
        return refuse_column(error, "stream");
    if (h->kind != row->kind)
        return refuse_column(error, "kind");
    if (h->time_ns != row->time_ns)
        return refuse_column(error, "time_ns");
    if ((row->parent == 0) != digest_is_none(&h->parent) || row->parent >= row->seq)
        return refuse_column(error, "parent");
    memcpy(found.digest.bytes, row->digest.ptr, DIGEST_SIZE);
    assert_sound(&found);
    *out = found;
    return 0;
}

int row_check_bytes(const struct checkpoint_row *row, struct sha256 *sha,
                    struct sound_record *out, struct cairn_error *error)
{
    struct checkpoint_row bare = *row;
    bare.key = NULL;
    return row_check(&bare, sha, out, error);
}

int row_blame(const struct checkpoint_row *row, struct cairn_error *error)
{
    char id[CAIRN_ID_MAX];
    assert(!error || error->code == CAIRN_EDAMAGED);
    row_id(row, id);
    error_context(error, "checkpoint %s is damaged", id);
    return CAIRN_EDAMAGED;
}

int row_verify(const struct checkpoint_row *row, struct sha256 *sha,
               struct sound_record *out, struct cairn_error *error)
{
    int rc = row_check(row, sha, out, error);
    if (rc == CAIRN_EDAMAGED)
        row_blame(row, error);
    return rc;
}

struct digest row_digest(const struct checkpoint_row *row, struct sha256 *sha)
{
    struct digest computed, stored = {{0}};
    struct record_header header;
    struct str payload;
    sha256_begin(sha);
    sha256_add(sha, row->record.ptr, row->record.len);
    sha256_end(sha, &computed);
    struct str view = {(const char *)computed.bytes, DIGEST_SIZE};
    if (record_decode(row->record, view, sha, &header, &payload, NULL) == 0 &&
        header.seq == row->seq && header.stream == row->stream)
        return computed;
    if (row->digest.len == DIGEST_SIZE)
        memcpy(stored.bytes, row->digest.ptr, DIGEST_SIZE);
    return stored;
}

/* ---- Lists of seqs ---- */

int seqs_add(struct seq_set *seqs, uint64_t seq)
{
    uint64_t *at = array_room(seqs->at, seqs->n, &seqs->capacity, sizeof *at);
    assert(seqs->n <= seqs->capacity);
    if (!at)
        return CAIRN_ENOMEM;
    seqs->at = at;
    seqs->unsorted = seqs->unsorted || (seqs->n && at[seqs->n - 1] > seq);
    seqs->at[seqs->n++] = seq;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void seqs_sort(struct seq_set *seqs)
{
    if (seqs->unsorted)
        qsort(seqs->at, seqs->n, sizeof *seqs->at, by_value);
    seqs->unsorted = false;
}

bool seqs_has(const struct seq_set *seqs, uint64_t seq)
{
    assert(!seqs->unsorted);
    return seqs->n && bsearch(&seq, seqs->at, seqs->n, sizeof seq, by_value);
}

void seqs_release(struct seq_set *seqs)
{
    free(seqs->at);
    *seqs = (struct seq_set){0};
}

static int note_fork(void *context, const struct payload_fork *branch)
{
    return seqs_add(context, branch->seq);
}

int fork_points(const struct chains *in, uint64_t stream, struct seq_set *out,
                struct cairn_error *error)
{
    assert_chains(in);
    if (!in->kind->find_forks)
        return 0;
    int rc = in->kind->find_forks(in->store, stream, note_fork, out, error);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    seqs_sort(out);
    return rc;
}

/* ---- What it lacks ---- */

struct lack {
    struct losses *losses;
    bool lost;
    struct cairn_error why; /* of looking, apart from that of the payload */
};

static int look_at_root(void *context, const struct digest *object, bool is_node)
{
    struct lack *lack = context;
    return losses_look(lack->losses, object, is_node, &lack->lost, &lack->why);
}

int record_lacks(const struct sound_record *record, const struct payload_kind *kind,
                 struct losses *losses, bool *lost, struct cairn_error *error)
{
    struct lack lack = {.losses = losses};
    struct payload_check check = {
        .roots = ROOTS_NEEDED, .root = look_at_root, .context = &lack};
    if (!losses_any(losses))
        return 0;
    int rc = kind->check(record, &check, error);
    if (lack.why.code)
        return error_set(error, lack.why.code, "%s", lack.why.text);
    *lost = *lost || (!rc && lack.lost);
    return rc == CAIRN_ENEWER ? 0 : rc; /* what it needs is not known */
}
