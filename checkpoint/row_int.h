/* SPDX-License-Identifier: MIT */
/* Stored rows seen as verified records; shared by the files of this folder. */
#ifndef CHECKPOINT_ROW_INT_H
#define CHECKPOINT_ROW_INT_H

#include "cairn/checkpoint.h"
#include "checkpoint/chain.h"
#include "checkpoint/nodes/losses.h"
#include "storage/rows_checkpoint.h"

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
struct seqs {
    uint64_t *at;
    size_t n, capacity;
    bool unsorted; /* seqs_sort comes before seqs_has */
};
int seqs_add(struct seqs *seqs, uint64_t seq);
void seqs_sort(struct seqs *seqs);
bool seqs_has(const struct seqs *seqs, uint64_t seq);
void seqs_release(struct seqs *seqs);
/* Sorted seqs of the records of `stream` that other streams start from, or have merged.
 */
int fork_points(const struct chains *in, uint64_t stream, struct seqs *out,
                struct cairn_error *error);

#endif
