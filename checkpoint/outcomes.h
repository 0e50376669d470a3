/* SPDX-License-Identifier: MIT */
/* The checkpoints of runs: the first kind of payload, with one outcome per task of a
 * graph. Full records have all of them, deltas what has changed (payload.h).
 *
 *   a run begins   run_stream_of, then run_stream_full
 *   it gets tasks  run_stream_extend, then run_stream_delta, which may have no changes
 *   a task ends    run_stream_delta; run_stream_full when chain_wants_full says so
 *   a run resumes  outcomes_recover; its `head` is the writing end
 *   a run forks    outcomes_rebuild; the fork's first record has `ref` as its parent
 *
 * Also whether the row of a run may be relied on (run_trust). */
#ifndef CHECKPOINT_OUTCOMES_H
#define CHECKPOINT_OUTCOMES_H

#include "checkpoint/chain.h"
#include "checkpoint/payload.h"
#include "checkpoint/recover.h"
#include "storage/rows_run.h"

extern const struct payload_kind outcomes_kind;

/* What the records of a run add up to. */
struct outcomes {
    struct states states;
    struct digest graph;
    uint64_t tag;     /* that deltas name: of the graph of their full record, */
    bool any_tag;     /* which is not known */
    uint32_t changes; /* in the record that was applied last, 0: a full one */
};

void outcomes_release(struct outcomes *outcomes);

/* The writing end of a run's stream. Plain data like its chain. */
struct run_stream {
    struct chain chain;
    struct digest graph;
    uint64_t tasks; /* of it, where the newest full record is of another one; else 0 */
    uint64_t tag;   /* of that one */
};

/* Of a run without records. For a fork the caller sets chain.parent, parent_digest. */
struct run_stream run_stream_of(struct cairn_store *store, struct sha256 *sha,
                                uint64_t run, const struct digest *graph);
/* Append one record; need a write transaction. A delta needs a full record before it
 * (CAIRN_EUSAGE). `ref` may be NULL. */
int run_stream_full(struct run_stream *stream, const struct states *states,
                    int64_t time_ns, struct checkpoint_ref *ref,
                    struct cairn_error *error);
int run_stream_delta(struct run_stream *stream, const struct change *changes, size_t n,
                     int64_t time_ns, struct checkpoint_ref *ref,
                     struct cairn_error *error);
/* From now on the graph has more tasks behind those that it had. */
void run_stream_extend(struct run_stream *stream, const struct digest *graph,
                       uint32_t tasks);
/* chain_rebuild for runs. `out` is initialised here and the caller's to release; it and
 * `at` may be NULL. */
int outcomes_rebuild(struct cairn_store *store, uint64_t seq, struct outcomes *out,
                     struct rebuilt *at, struct cairn_error *error);

/* chain_recover for runs; members as in struct chain_recovery. A run without a sound
 * full record begins with nothing done if it is not a fork and its definition never
 * changed, since its sound deltas can be applied to that. */
struct recovery {
    struct states states;
    struct digest graph;
    struct run_stream head;
    struct checkpoint_ref newest;
    uint64_t *damaged;
    char **reasons;
    size_t n_damaged;
    bool gap;
};

int outcomes_recover(struct cairn_store *store, struct sha256 *sha, uint64_t run,
                     struct recovery *recovery, struct cairn_error *error);
void recovery_release(struct recovery *recovery);

/* Whether records are gone that may have held the outcome of an attempt. What was
 * before the full record that the states begin with, that one holds. `checkpoint`: the
 * one that the attempt names, or 0. */
static inline bool recovery_may_lack(const struct recovery *recovery,
                                     uint64_t checkpoint)
{
    return recovery->gap && (!checkpoint || checkpoint > recovery->head.chain.base);
}

/* ---- The row of a run ---- */

/* What a run resumes with (file, params, definition) and how it stands is taken only
 * from rows that pass. CAIRN_EUSAGE: with a key, and the run was recorded without one.
 * CAIRN_EDAMAGED. */
int run_trust(struct cairn_store *store, const struct run_row *row,
              struct cairn_error *error);
/* The same for what is only shown: 0 without a key, and for a run recorded without one.
 */
int run_check_forged(struct cairn_store *store, const struct run_row *row,
                     struct cairn_error *error);
/* A run is keyed or not as a whole: whether the row has no HMAC, but its records do. */
int run_stripped(struct cairn_store *store, const struct run_row *row, bool *stripped,
                 struct cairn_error *error);

#endif
