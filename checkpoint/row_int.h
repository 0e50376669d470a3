/* SPDX-License-Identifier: MIT */
/* Stored rows seen as verified records; shared by the files of this folder. */
#ifndef CHECKPOINT_ROW_INT_H
#define CHECKPOINT_ROW_INT_H

#include "cairn/checkpoint.h"
#include "checkpoint/stream.h"
#include "storage/rows_checkpoint.h"

/* A row whose bytes and columns were verified. `payload` views into the row. */
struct checked {
    struct record_header header;
    struct digest digest;
    struct str payload;
    size_t bytes; /* of the record */
};
/* Decodes the record, checks its HMAC if the store was opened with a key, and compares
 * every column that repeats its header.
 * CAIRN_EDAMAGED: the text says what is wrong, without naming the checkpoint. */
int row_check(const struct checkpoint_row *row, struct sha256 *sha, struct checked *out,
              struct cairn_error *error);

/* The same without a look at the HMAC. */
int row_check_bytes(const struct checkpoint_row *row, struct sha256 *sha,
                    struct checked *out, struct cairn_error *error);

/* The printed id of a row, damaged or not: the digest part is left out where the
 * column is too short. */
void row_id(const struct checkpoint_row *row, char out[CAIRN_ID_MAX]);
/* Puts "checkpoint ID is damaged" in front. Returns the code. */
int row_blame(const struct checkpoint_row *row, struct cairn_error *error);
/* Like row_check, but the text names the checkpoint. */
int row_verify(const struct checkpoint_row *row, struct sha256 *sha,
               struct checked *out, struct cairn_error *error);
/* The SHA-256 that the row's record had when it was written, as far as can be told:
 * the digest column, or that of the record's bytes if they are a sound record. */
struct digest row_digest(const struct checkpoint_row *row, struct sha256 *sha);

/* checkpoint_rebuild with the hash state of the caller. When a record on the way is
 * damaged or missing, `bad` is its seq; where one was deleted, that of the first one
 * that therefore cannot be rebuilt, or of the full record. Set on failure, too. */
struct rebuilt {
    struct states states;
    struct digest graph;
    struct record_header header;
    struct checkpoint_ref ref;
    uint32_t changes; /* of the record itself, 0 for a full one */
    uint32_t bytes;
    uint64_t parent; /* column */
    uint64_t bad;
};
int rebuild_at(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
               struct rebuilt *out, struct cairn_error *error);

/* The rules of printed ids, and whether the record they name is sound. CAIRN_EDAMAGED
 * is not returned: then `*sound` is false and `error` has the reason. */
int find_any(struct cairn_store *store, struct sha256 *sha, const char *id,
             uint64_t *seq, bool *sound, struct cairn_error *error);

/* Lists of seqs. */
struct seqs {
    uint64_t *at;
    size_t n, capacity;
};
int seqs_add(struct seqs *seqs, uint64_t seq);
void seqs_sort(struct seqs *seqs);
bool seqs_has(const struct seqs *seqs, uint64_t seq); /* sorted ones */
void seqs_release(struct seqs *seqs);
/* Sorted seqs of the records of `stream` that other runs fork from. */
int fork_points(struct cairn_store *store, uint64_t stream, struct seqs *out,
                struct cairn_error *error);

#endif
