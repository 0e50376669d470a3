/* SPDX-License-Identifier: MIT */
/* Chains of checkpoints in any namespace: the ids of records, and the end where records
 * are appended. Payloads are opaque here (payload_kind.h). */
#ifndef CHECKPOINT_CHAIN_H
#define CHECKPOINT_CHAIN_H

#include "checkpoint/payload_kind.h"

/* The streams of one namespace of a store, to be read or pruned. */
struct chains {
    struct cairn_store *store;
    struct sha256 *sha; /* borrowed */
    const struct payload_kind *kind;
};

struct checkpoint_ref {
    uint64_t seq;
    struct digest digest;
};

/* The writing end of one stream. Plain data but for `in.sha`: copy it before a
 * transaction and put the copy back if the commit fails. */
struct chain {
    struct chains in;
    uint64_t id;     /* of the stream */
    uint64_t parent; /* seq of the newest record; of a stream without records, of the
                        one that it forks from; 0: none */
    struct digest parent_digest;
    uint64_t position;               /* of the newest record, 0: none yet */
    uint64_t base;                   /* seq of the newest full record, 0: none */
    uint64_t base_bytes, tail_bytes; /* weight of that record (chain_base_bytes); size
                                        of the records after it */
};

/* The namespace, id, parent, position and base that a chain may have. Anything else is
 * a bug of ours: what comes from disk was checked before. */
void assert_chains(const struct chains *in);
void assert_chain(const struct chain *chain);

struct chain_payload {
    struct str bytes;
    uint32_t size; /* entries of a full one (struct payload_frame) */
    bool full;
    int64_t time_ns;
};
/* Appends one record; needs a write transaction. A full one begins a segment; another
 * one needs a full one before it. `ref` may be NULL. On failure `chain` is unchanged.
 */
int chain_append(struct chain *chain, const struct chain_payload *payload,
                 struct checkpoint_ref *ref, struct cairn_error *error);
/* True when the records since the last full one have grown as large as it (and at least
 * 4 KiB, so that small workflows do not write full records all the time). */
bool chain_wants_full(const struct chain *chain);
/* What a full record weighs there: its size, but at least a byte for four entries.
 * Equal neighbours pack into nothing, yet packing looks at every entry: counting only
 * bytes, the time per step would grow with the graph. */
uint64_t chain_base_bytes(size_t record_bytes, uint32_t size);

/* "workflow", "debug" */
const char *namespace_name(uint8_t namespace_id);
/* "workflow:42-9f3ac1d20b7e" */
void checkpoint_id(uint8_t namespace_id, uint64_t seq, const struct digest *digest,
                   char out[CAIRN_ID_MAX]);
/* "workflow:42" */
void checkpoint_number(uint8_t namespace_id, uint64_t seq, char out[CAIRN_ID_MAX]);

#endif
