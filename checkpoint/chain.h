/* SPDX-License-Identifier: MIT */
/* Chains of checkpoints, in any namespace: their records as bytes, the end where
 * records are appended, and stored rows as verified records.
 *
 * A record is what is hashed and stored; docs/format.md has every byte.
 *
 *   header   fixed size, little endian
 *   payload  opaque here; of a run one tpl image (payload.h)
 *   HMAC     HMAC-SHA-256 over header and payload, if the flag RECORD_KEYED is set
 *   digest   SHA-256 over all of it; in the row's `digest` column
 *
 * `record` bytes below are all but the digest. A record with another flag or version is
 * refused.
 *
 * The HMAC lies inside the SHA-256, so damage is detectable without the key.
 *
 * A chain knows bytes, links, numbers and deletion. What the payloads of a namespace
 * mean is a table of functions, its kind: outcomes of runs (outcomes.h), and sections
 * of sessions (sections.h). A program lists the kinds that it knows in a `struct
 * payload_kinds`. Records of a namespace that is not in the list are treated as
 * follows:
 *
 *   verify           checks bytes, columns, links and tombstones as for any other, and
 *                    reports once that the payloads were not understood (no damage)
 *   repair           keeps each record whose bytes are sound
 *   prune, delete    never touch them
 *   find, list       know them by their bytes (debug_kind_of)
 *   get              CAIRN_ENEWER
 *   gc               deletes no content at all, since they may refer to any
 *                    (CAIRN_ENEWER); runs are removed all the same */
#ifndef CHECKPOINT_CHAIN_H
#define CHECKPOINT_CHAIN_H

#include "base/sha256.h"
#include "cairn/checkpoint.h"
#include "checkpoint/nodes/nodes.h"
#include "storage/rows_checkpoint.h"

#include <assert.h>

/* ---- Records as bytes: pure ---- */

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

/* ---- What payloads mean ---- */

/* What a record that is not a full one must fit: the full record of its segment, and how
 * it has grown. Small and plain, since verify keeps one for each stream. */
struct payload_frame {
    uint64_t base;    /* seq of the full record, 0: none yet */
    uint32_t size;    /* number of entries by now (tasks of a run) */
    uint64_t subject; /* what it is about (of a run graph_tag), or 0 */
};

/* Objects that a payload refers to. NEEDED: those without which it cannot be used, and
 * whose loss nothing else reports. */
enum payload_roots { ROOTS_NONE, ROOTS_NEEDED, ROOTS_ALL };

/* `is_node`: it refers to others (nodes/nodes.h). Returns 0, or a negative code, which
 * ends the check. */
typedef int payload_root_fn(void *context, const struct digest *object, bool is_node);

struct payload_check {
    /* NULL: looked at by itself. A full record sets it; another one whose base is
     * frame->base must fit it, and may make it larger. */
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
     * keep_one: CAIRN_EUSAGE says why the record `seq` must stay, which may be the newest.
     * identify: fills what a list shows of the stream; CAIRN_EDAMAGED if its row failed
     * verification. */
    int (*find_forks)(struct cairn_store *store, uint64_t stream, payload_fork_fn *each,
                      void *context, struct cairn_error *error);
    int (*keep_needed)(struct cairn_store *store, uint64_t stream,
                       const struct payload_fork *by, struct cairn_error *error);
    int (*keep_one)(struct cairn_store *store, uint64_t stream, uint64_t seq,
                    bool newest, struct cairn_error *error);
    int (*identify)(struct cairn_store *store, struct cairn_checkpoint_info *info,
                    struct cairn_error *error);
};

struct payload_kinds {
    /* by namespace; NULL: unknown */
    const struct payload_kind *at[NAMESPACE_DEBUG + 1];
};

/* Those of this release. */
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

/* ---- The writing end ---- */

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

/* ---- Stored rows ---- */

/* Decodes the record, checks its HMAC if the store was opened with a key and it is not
 * of a session, and compares every column that repeats its header.
 * CAIRN_EDAMAGED: the text says what is wrong, without naming the checkpoint. */
int row_check(const struct checkpoint_row *row, struct sha256 *sha,
              struct sound_record *out, struct cairn_error *error);
/* The same without the HMAC. */
int row_check_bytes(const struct checkpoint_row *row, struct sha256 *sha,
                    struct sound_record *out, struct cairn_error *error);
/* The printed id of a row, damaged or not: the digest part is left out where the
 * column is too short. */
void row_id(const struct checkpoint_row *row, char out[CAIRN_ID_MAX]);
/* Puts "checkpoint ID is damaged" in front. Returns the code. */
int row_blame(const struct checkpoint_row *row, struct cairn_error *error);
/* Like row_check, but the text names the checkpoint. */
int row_verify(const struct checkpoint_row *row, struct sha256 *sha,
               struct sound_record *out, struct cairn_error *error);
/* The SHA-256 that the row's record had when it was written, as far as can be told:
 * the digest column, or that of the record's bytes if they are a sound record. */
struct digest row_digest(const struct checkpoint_row *row, struct sha256 *sha);
/* Sets *lost if the record needs something that a repair could not save, and otherwise
 * leaves it alone. CAIRN_EDAMAGED: its payload cannot be read. */
int record_lacks(const struct sound_record *record, const struct payload_kind *kind,
                 struct losses *losses, bool *lost, struct cairn_error *error);

/* Lists of seqs. */
struct seq_set {
    uint64_t *at;
    size_t n, capacity;
    bool unsorted; /* seqs_sort comes before seqs_has */
};

int seqs_add(struct seq_set *seqs, uint64_t seq);
void seqs_sort(struct seq_set *seqs);
bool seqs_has(const struct seq_set *seqs, uint64_t seq);
void seqs_release(struct seq_set *seqs);
/* Sorted seqs of the records of `stream` that other streams start from, or have merged.
 */
int fork_points(const struct chains *in, uint64_t stream, struct seq_set *out,
                struct cairn_error *error);

#endif
