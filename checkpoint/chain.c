/* SPDX-License-Identifier: MIT */
/* The writing end of a stream. Invariant: `struct chain` changes only after the row was
 * put, so a failed call leaves it as it was. */
#include "checkpoint/chain.h"

#include "storage/store.h"

#include <assert.h>
#include <stdio.h>

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
                                 chain->in.sha, &record, &ref->digest, error);
    if (rc == 0)
        rc = put_row(chain, &header, buf_view(&record), &ref->digest, error);
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
