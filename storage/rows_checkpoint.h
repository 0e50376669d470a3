/* SPDX-License-Identifier: MIT */
/* Rows of checkpoints, of deleted ranges of them (tombstones), and of those that turned
 * out to be damaged. Here a record is just bytes: checkpoint/chain.h has its layout.
 */
#ifndef STORAGE_ROWS_CHECKPOINT_H
#define STORAGE_ROWS_CHECKPOINT_H

#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

enum namespace_id { NAMESPACE_WORKFLOW = 1, NAMESPACE_DEBUG = 2 };

struct checkpoint_row {
    uint64_t seq;
    uint8_t namespace_id;
    uint8_t kind; /* enum record_kind */
    uint64_t stream;
    uint64_t parent; /* seq, 0: none */
    int64_t time_ns;
    struct str record;          /* header, payload and HMAC; views */
    struct str digest;          /* 32 bytes if undamaged */
    const struct hmac_key *key; /* set on read: store_key of the handle */
};
/* The next seq: one more than any ever given out (rows and tombstones). Call inside a
 * write transaction; nothing is reserved until rows are put. */
int store_next_seq(struct cairn_store *store, uint64_t *seq, struct cairn_error *error);
/* The same number outside a transaction, where it may be out of date at once. */
int store_seq_after(struct cairn_store *store, uint64_t *seq,
                    struct cairn_error *error);
/* Says that this number was given out, though no record has it any more: the next one
 * will be higher. */
void store_keep_seq(struct cairn_store *store, uint64_t seq);
int store_put_checkpoint(struct cairn_store *store, const struct checkpoint_row *row,
                         struct cairn_error *error);
typedef int checkpoint_row_fn(void *context, const struct checkpoint_row *row);
/* `got` may be NULL, to ask only whether there is one. */
int store_get_checkpoint(struct cairn_store *store, uint64_t seq,
                         checkpoint_row_fn *got, void *context,
                         struct cairn_error *error);
struct checkpoint_range {
    uint8_t namespace_id; /* 0: any */
    uint64_t stream;      /* 0: any */
    uint64_t workflow;    /* workflow row id, 0: any (joins run) */
    uint64_t session;     /* with namespace_id debug, 0: any (joins branch, whose rows
                             are not verified by this) */
    uint64_t first, last; /* seq, inclusive; last 0: no end */
    bool descending;
    uint64_t offset, limit; /* limit 0: all */
};
/* Rows by seq. A non-zero return of the callback stops; a negative one is returned. */
int store_each_checkpoint(struct cairn_store *store,
                          const struct checkpoint_range *range, checkpoint_row_fn *each,
                          void *context, struct cairn_error *error);
int store_count_checkpoints(struct cairn_store *store,
                            const struct checkpoint_range *range, uint64_t *count,
                            struct cairn_error *error);
/* Between which numbers all rows are; first above last: there are none. */
int store_checkpoint_numbers(struct cairn_store *store, uint64_t *first, uint64_t *last,
                             struct cairn_error *error);
/* Up to `max` seqs whose digest begins with the hex digits. Scans. */
int store_find_digest(struct cairn_store *store, struct str hex, uint64_t *seqs,
                      size_t max, size_t *found, struct cairn_error *error);
/* Newest seq of a stream, 0 if there is none. */
int store_last_seq(struct cairn_store *store, uint8_t namespace_id, uint64_t stream,
                   uint64_t *seq, struct cairn_error *error);
/* Deletes rows of one stream in [first, last]; returns count and bytes of records. */
int store_delete_checkpoints(struct cairn_store *store, uint8_t namespace_id,
                             uint64_t stream, uint64_t first, uint64_t last,
                             uint64_t *count, uint64_t *bytes,
                             struct cairn_error *error);

struct tombstone_row { /* a deleted range of one stream */
    uint64_t id;
    uint8_t namespace_id;
    uint64_t stream, first, last; /* seqs, inclusive */
    uint64_t count;
    struct digest before; /* digest of the record before the range, zeros: none */
    struct digest after;  /* digest of the last deleted record */
    int64_t time_ns;
    uint64_t change_bytes; /* set on read; 0: it has no change */
    bool keyed;            /* set by store_get_tombstone: it has an HMAC */
    struct str change; /* what the range added up to (checkpoint/tombstones_int.h), for
                              store_put_tombstone and by store_get_tombstone */
};
/* With a key, a row with a change gets an HMAC over all of it. */
int store_put_tombstone(struct cairn_store *store, const struct tombstone_row *row,
                        struct cairn_error *error);
int store_delete_tombstone(struct cairn_store *store, uint64_t id,
                           struct cairn_error *error);
/* The row with its change, once it was verified: CAIRN_EDAMAGED if its checksum does
 * not hold, or the handle has a key and it has no HMAC of that. CAIRN_ENOTFOUND. */
int store_get_tombstone(struct cairn_store *store, uint64_t id,
                        int (*got)(void *, const struct tombstone_row *), void *context,
                        struct cairn_error *error);
/* Of a stream (0: all), by first seq. Without their changes, and not verified. */
int store_each_tombstone(struct cairn_store *store, uint8_t namespace_id,
                         uint64_t stream,
                         int (*each)(void *, const struct tombstone_row *),
                         void *context, struct cairn_error *error);
/* Those of one stream that begin in [first, last], without reading the others. */
int store_each_tombstone_within(struct cairn_store *store, uint8_t namespace_id,
                                uint64_t stream, uint64_t first, uint64_t last,
                                int (*each)(void *, const struct tombstone_row *),
                                void *context, struct cairn_error *error);
/* Whether records of a stream after that seq were deleted or lost. */
int store_has_tombstone_behind(struct cairn_store *store, uint8_t namespace_id,
                               uint64_t stream, uint64_t seq, bool *has,
                               struct cairn_error *error);
/* Notes a damaged record (idempotent). */
int store_put_quarantine(struct cairn_store *store, uint64_t seq, int64_t time_ns,
                         const char *reason, struct cairn_error *error);

#endif
