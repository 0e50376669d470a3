/* SPDX-License-Identifier: MIT */
/* Streams of checkpoints: the writing end, and rebuilding the state at any record. */
#ifndef CHECKPOINT_STREAM_H
#define CHECKPOINT_STREAM_H

#include "cairn/checkpoint.h"
#include "checkpoint/payload.h"
#include "checkpoint/record.h"
#include "storage/rows_checkpoint.h"

/* The writing end of a workflow stream. Plain data but for `sha`: copy it before a
 * transaction and put the copy back if the commit fails. */
struct stream {
    struct cairn_store *store;
    struct sha256 *sha; /* borrowed */
    uint64_t id;        /* run number */
    uint64_t parent;    /* seq of the newest record, 0: none yet */
    struct digest parent_digest;
    uint64_t position;               /* of the newest record */
    uint64_t base;                   /* seq of the newest full record, 0: none */
    uint64_t base_bytes, tail_bytes; /* weight of that record (stream_base_bytes);
                                        size of the deltas after it */
    struct digest graph;
};

struct checkpoint_ref {
    uint64_t seq;
    struct digest digest;
};

/* "workflow:42-9f3ac1d20b7e" */
void checkpoint_id(uint8_t namespace_id, uint64_t seq, const struct digest *digest,
                   char out[CAIRN_ID_MAX]);

/* Appends one record; needs a write transaction. stream_full starts a new segment.
 * stream_delta needs a full record before it. `ref` may be NULL. */
int stream_full(struct stream *stream, const struct states *states, int64_t time_ns,
                struct checkpoint_ref *ref, struct cairn_error *error);
int stream_delta(struct stream *stream, const struct change *changes, size_t n,
                 int64_t time_ns, struct checkpoint_ref *ref,
                 struct cairn_error *error);
/* True when the deltas since the last full record have grown as large as it (and at
 * least 4 KiB, so that small workflows do not write full records all the time). */
bool stream_wants_full(const struct stream *stream);
/* What a full record weighs there: its size, but at least a byte for four tasks. Equal
 * neighbours pack into nothing, yet packing looks at every task: counting only bytes,
 * the time per step would grow with the graph. */
uint64_t stream_base_bytes(size_t record_bytes, uint32_t tasks);

/* The exact state at checkpoint `seq`: verifies the record, its full record and every
 * delta between, and that their parent digests link. CAIRN_ENOTFOUND (also where a
 * record that it needs was deleted), CAIRN_EDAMAGED (naming the id that is bad).
 * `states` is initialised here; any out may be NULL. */
int checkpoint_rebuild(struct cairn_store *store, uint64_t seq, struct states *states,
                       struct digest *graph, struct record_header *header,
                       struct checkpoint_ref *ref, struct cairn_error *error);

/* What can be saved of a stream, for resuming. From the newest valid full record on,
 * every valid delta of the same graph is applied, also behind a damaged one: a verified
 * outcome stays true (design G2). */
struct recovery {
    struct states states;
    struct digest graph;
    struct stream head; /* ready to append: parent is the newest valid record */
    struct checkpoint_ref newest; /* newest valid record */
    uint64_t *damaged; /* seqs of damaged records from that full record on, and of
                          damaged full records before it was found; ascending */
    char **reasons;    /* one each */
    size_t n_damaged;
    bool gap; /* the states do not equal a linked chain up to the end of the stream:
                 write a full record before the next delta */
};
/* CAIRN_ENOTFOUND if the stream has no record at all, CAIRN_EDAMAGED if it has no valid
 * full record. */
int checkpoint_recover(struct cairn_store *store, struct sha256 *sha, uint64_t stream,
                       struct recovery *recovery, struct cairn_error *error);
void recovery_release(struct recovery *recovery);
/* Whether records are gone, and what an attempt came to may have stood in them. What
 * stood before the full record that the states begin with, they know. `checkpoint`: the
 * one that the attempt names, or 0. */
static inline bool recovery_may_lack(const struct recovery *recovery,
                                     uint64_t checkpoint)
{
    return recovery->gap && (!checkpoint || checkpoint > recovery->head.base);
}

#endif
