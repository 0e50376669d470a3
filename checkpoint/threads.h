/* SPDX-License-Identifier: MIT */
/* The records of threads (cairn/thread.h) in the namespace debug: states by key, with
 * the values of their channels, and pending writes. A thread is a session with one
 * branch, whose records are all of this kind.
 *
 * The payload is no tpl image but
 *
 *   4 bytes "thr", 1
 *   varint  base: 0, or seq of the full record that the body is written after
 *   varint  bytes of the records between that and this one; 0 without a base
 *   varint  number of states, varint number of writes: for lists
 *   varint  number of objects, 32 bytes digest of each; the same of nodes: the content
 *           in the pool that the body names, without what the base has already
 *   byte    codec: 0 the body as it is, 1 a frame of zstd, 2 one after the body of the
 *           base
 *   varint  bytes of the body, and the body or the frame
 *
 *   body    lstr thread, then entries up to its end
 *   entry   byte kind: 1 state, 2 writes, 3 gone
 *           lstr space, lstr id
 *     state   byte 1: it has a parent, lstr, or 0; value state, value metadata,
 *             varint number of channels, for each lstr name, value
 *     writes  varint number, for each lstr task, lstr path, lstr channel, u32 index
 *             (signed), value
 *     gone    nothing: the state and the writes of that key were given up
 *   value   lstr kind; varint 0 and varint number of an object, 1 and that of a node
 *           (those of the base are counted first), or n + 2 and n bytes
 *
 * A record without a base is a full one, any other a delta. So reading a state takes its
 * record, the one that this is written after, and the objects. */
#ifndef CHECKPOINT_THREADS_H
#define CHECKPOINT_THREADS_H

#include "base/memory.h"
#include "checkpoint/chain.h"

struct thread_value {
    struct str kind, bytes; /* `bytes` where it is not pooled */
    bool pooled, is_node;   /* in the pool; there in chunks */
    struct digest object;
};

struct thread_channel {
    struct str name;
    struct thread_value value;
};

struct thread_write {
    struct str task, path, channel;
    struct thread_value value;
    int32_t index;
};

enum thread_entry_kind { THREAD_STATE = 1, THREAD_WRITES = 2, THREAD_GONE = 3 };

struct thread_entry {
    enum thread_entry_kind kind;
    struct str space, id, parent; /* parent.ptr NULL: it has none */
    struct thread_value state, metadata;
    struct thread_channel *channels;
    uint32_t n_channels, n_writes;
    struct thread_write *writes;
};

struct thread_record {
    struct str thread;
    struct thread_entry *entries;
    uint32_t n;
    int64_t time_ns;
    uint64_t seq, branch;
    struct digest digest;
};

/* ---- Payloads, without what they stand on: pure ---- */

struct thread_payload {
    uint64_t base, between;
    uint64_t states, writes;
    struct str objects, nodes; /* digests, one behind the other */
    uint8_t codec;
    uint64_t size;
    struct str packed;
};

bool thread_is_payload(struct str payload);
/* Untrusted bytes: CAIRN_EDAMAGED. */
int thread_payload_parse(struct str payload, struct thread_payload *out,
                         struct cairn_error *error);

/* ---- Reading ---- */

/* What a record is written after, kept from one record to the next. */
struct thread_base {
    uint64_t seq; /* 0: none */
    struct buf body, objects, nodes;
    size_t bytes; /* of the record */
};

void thread_base_release(struct thread_base *base);

/* The record, verified, copied into the arena. `base` is changed to what it stands on.
 * CAIRN_ENOTFOUND (also where it is no record of a thread), CAIRN_EDAMAGED. */
int thread_read(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
                struct thread_base *base, struct arena *arena,
                struct thread_record *out, struct cairn_error *error);

/* ---- Writing ---- */

/* The end of the branch at which writing goes on, and the full record below it. */
struct thread_end {
    struct chain chain;
    struct thread_base base;
};

/* Its newest sound record; damaged ones are passed over. `in` is of sections_kind.
 * thread_end_release in any case. */
int thread_open(const struct chains *in, uint64_t branch, struct thread_end *end,
                struct cairn_error *error);
/* Appends the record: thread, entries and time. Needs a write transaction, in which
 * `end` was opened or last appended to. */
int thread_append(struct thread_end *end, const struct thread_record *record,
                  struct checkpoint_ref *ref, struct cairn_error *error);
void thread_end_release(struct thread_end *end);

#endif
