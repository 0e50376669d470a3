/* SPDX-License-Identifier: MIT */
/* What the records of a namespace mean. The chain (chain.h) knows bytes, links, numbers
 * and deletion; everything that needs the payload goes through one of these tables:
 * outcomes of runs (outcomes.h), and sections of sessions (sections.h).
 *
 * A program lists the kinds that it knows in a `struct payload_kinds`. Records of a
 * namespace that is not in the list are treated as follows:
 *
 *   verify           checks bytes, columns, links and tombstones as for any other, and
 *                    reports once that the payloads were not understood (no damage)
 *   repair           keeps each record whose bytes are sound
 *   prune, delete    never touch them
 *   find, list       know them by their bytes (debug_kind_of)
 *   get              CAIRN_ENEWER
 *   gc               deletes no content at all, since they may refer to any
 *                    (CAIRN_ENEWER); runs are removed all the same */
#ifndef CHECKPOINT_PAYLOAD_KIND_H
#define CHECKPOINT_PAYLOAD_KIND_H

#include "cairn/checkpoint.h"
#include "checkpoint/record.h"
#include "storage/rows_checkpoint.h"

#include <assert.h>

/* What a record that is no full one must fit: the full record of its segment. Small and
 * plain, since verify keeps one for each stream. */
struct payload_frame {
    uint64_t base;         /* seq of the full record, 0: none yet */
    uint32_t size;         /* number of entries in it (tasks of a run) */
    struct digest subject; /* what it is about (graph of a run), or zeros */
};

/* Objects that a payload refers to. NEEDED: those without which it cannot be used, and
 * whose loss nothing else reports. */
enum payload_roots { ROOTS_NONE, ROOTS_NEEDED, ROOTS_ALL };
/* `is_node`: it refers to others (nodes/nodes.h). Returns 0, or a negative code, which
 * ends the check. */
typedef int payload_root_fn(void *context, const struct digest *object, bool is_node);

struct payload_check {
    /* NULL: looked at by itself. A full record sets it; another one whose base is
     * frame->base must fit it. */
    struct payload_frame *frame;
    enum payload_roots roots; /* which of them `root` is called with */
    payload_root_fn *root;
    void *context;
    uint64_t base; /* set: seq of the full record that it needs, its own for a full one;
                      0 where the payload could not be read */
};

/* What `apply` returns for a record about another subject, which was not applied. */
enum { PAYLOAD_FOREIGN = 1 };

/* The record that a range was folded into. */
struct folded {
    bool full;
    uint64_t base; /* seq of its full record: inside the range, if it is one */
};

/* A record that another stream needs, as find_forks reports them. */
struct payload_fork {
    uint64_t seq;    /* of the record */
    uint64_t stream; /* that starts there, or has taken over what it holds */
    bool merged;     /* the latter */
};
/* Non-zero stops, and is returned if negative. */
typedef int payload_fork_fn(void *context, const struct payload_fork *branch);

/* All functions are const in their table and keep no state of their own. Those that
 * read payloads return CAIRN_EDAMAGED with a text that reads after "damaged: ". */
struct payload_kind {
    uint8_t namespace_id;
    const char *stream_noun; /* "run" */
    const char *loss_text;   /* what the loss of a record means, or "" */
    const char *restart;     /* what to do where no full record is left */
    const char *root_noun;   /* of NEEDED roots: "graph" */
    const char *root_loss;   /* what the loss of one means */
    const char *part_lost;   /* the same, once a repair has found that it is lost */

    /* Reads the payload whole. */
    int (*check)(const struct sound_record *record, struct payload_check *check,
                 struct cairn_error *error);
    /* What one record by itself says, for lists. */
    int (*describe)(const struct sound_record *record,
                    struct cairn_checkpoint_info *info, struct cairn_error *error);

    /* The state that records add up to: state_bytes of zeros begin it, and
     * state_release frees what it holds. apply: a full record replaces it, another one
     * changes it whole or not at all; 0, PAYLOAD_FOREIGN (with a text) or an error.
     * check->base and, of a full record, *check->frame are set. */
    size_t state_bytes;
    int (*apply)(void *state, const struct sound_record *record,
                 struct payload_check *check, struct cairn_error *error);
    void (*state_release)(void *state);
    void (*summarize)(const void *state, struct cairn_checkpoint_info *info);

    /* What the records of a deleted range add up to. All NULL: only those are deleted
     * that no other one needs. fold_bytes of zeros begin it, and fold_release frees
     * what it holds. fold: a full record begins it anew, another one must fit what is
     * there (CAIRN_EDAMAGED; nothing is changed then). fold_put: appends the payload of
     * one record that does the same. */
    size_t fold_bytes;
    int (*fold)(void *fold, const struct sound_record *record,
                struct cairn_error *error);
    int (*fold_put)(const void *fold, struct folded *folded, struct buf *payload,
                    struct cairn_error *error);
    void (*fold_release)(void *fold);

    /* May be NULL. The state before the first record, if the store knows it from
     * elsewhere: 1; 0 if not. */
    int (*begin)(void *state, struct cairn_store *store, uint64_t stream,
                 struct payload_frame *frame, struct cairn_error *error);

    /* What other rows say about the stream; each may be NULL.
     * find_forks: the records of `stream` that other streams need. Which record belongs
     * to which stream it may leave to the caller: seqs are unique.
     * keep_needed: CAIRN_EUSAGE says why such a record must stay, and what lets it go.
     * keep_newest: CAIRN_EUSAGE says why the newest record, `seq`, must stay.
     * identify: fills what a list shows of the stream; CAIRN_EDAMAGED if its row failed
     * verification. */
    int (*find_forks)(struct cairn_store *store, uint64_t stream, payload_fork_fn *each,
                      void *context, struct cairn_error *error);
    int (*keep_needed)(struct cairn_store *store, uint64_t stream,
                       const struct payload_fork *by, struct cairn_error *error);
    int (*keep_newest)(struct cairn_store *store, uint64_t stream, uint64_t seq,
                       struct cairn_error *error);
    int (*identify)(struct cairn_store *store, struct cairn_checkpoint_info *info,
                    struct cairn_error *error);
};

struct payload_kinds {
    const struct payload_kind
        *at[NAMESPACE_DEBUG + 1]; /* by namespace; NULL: unknown */
};
/* Those of this release (payload_kinds.c). */
extern const struct payload_kinds payload_kinds;

/* NULL: not known. */
static inline const struct payload_kind *kind_of(const struct payload_kinds *kinds,
                                                 uint8_t namespace_id)
{
    const struct payload_kind *kind =
        namespace_id <= NAMESPACE_DEBUG ? kinds->at[namespace_id] : NULL;
    assert(!kind || kind->namespace_id == namespace_id);
    return kind;
}

/* The kind of the namespace debug. Where it is not known, one that stands in for it:
 * its records can be found and listed, but their payloads are not read (check and apply
 * return CAIRN_ENEWER). */
const struct payload_kind *debug_kind_of(const struct payload_kinds *kinds);

#endif
