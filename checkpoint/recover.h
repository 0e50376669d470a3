/* SPDX-License-Identifier: MIT */
/* The state at one checkpoint, and what can be read of a damaged stream, in any
 * namespace. A `state` is what the kind's payloads add up to (chain.h): the caller
 * brings kind->state_bytes of zeros, and frees them with kind->state_release. */
#ifndef CHECKPOINT_RECOVER_H
#define CHECKPOINT_RECOVER_H

#include "checkpoint/chain.h"

/* The record that a state was rebuilt for. */
struct rebuilt {
    struct record_header header;
    struct checkpoint_ref ref;
    uint32_t bytes;  /* of the record */
    uint64_t parent; /* column */
    /* Set on failure, too. A damaged or missing record on the way; where one was
     * deleted, the first one that therefore cannot be rebuilt, or the full record. */
    uint64_t bad;
};

/* The exact state at checkpoint `seq`: verifies the record, its full record and every
 * one between, and that their parent digests link. CAIRN_ENOTFOUND (also where a record
 * that it needs was deleted), CAIRN_EDAMAGED (naming the id that is bad); `state` is
 * empty again then. */
int chain_rebuild(const struct chains *in, uint64_t seq, void *state,
                  struct rebuilt *out, struct cairn_error *error);

/* What can be read of a stream, for resuming. From the newest sound full record on,
 * every sound record about the same subject is applied, even after a damaged one: what
 * was verified is still true. */
struct chain_recovery {
    struct chain head; /* ready to append: parent is the newest sound record */
    struct checkpoint_ref newest; /* newest sound record */
    uint64_t *damaged; /* seqs of damaged records from that full record on, and of
                          damaged full records before it was found; ascending */
    char **reasons;    /* one each */
    size_t n_damaged, capacity;
    bool gap; /* the state does not equal a linked chain up to the end of the stream:
                 write a full record before the next delta */
};

/* CAIRN_ENOTFOUND if the stream has no record at all, CAIRN_EDAMAGED if it has no sound
 * full record and the kind cannot begin without one. */
int chain_recover(const struct chains *in, uint64_t stream, void *state,
                  struct chain_recovery *out, struct cairn_error *error);
void chain_recovery_release(struct chain_recovery *recovery);

#endif
