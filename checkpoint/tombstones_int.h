/* SPDX-License-Identifier: MIT */
/* The deleted ranges of streams, loaded at once: they are merged when checkpoints are
 * pruned, so there is at most one between two records of a stream.
 *
 * A tombstone may have a change: what its range added up to, which stands for the
 * deleted records as if it were one, so that the chain can be rebuilt across it. There
 * is one only where records that are kept need it.
 *
 *   0   1  kind: 1 full, 2 delta
 *   1   8  position of the last deleted record, little endian
 *   9   8  seq of the full record: of a full one inside the range
 *   17     payload, as that of a record */
#ifndef CHECKPOINT_TOMBSTONES_INT_H
#define CHECKPOINT_TOMBSTONES_INT_H

#include "checkpoint/chain.h"
#include "storage/rows_checkpoint.h"

struct tombstones { /* by namespace, stream, first seq */
    struct tombstone_row *at;
    size_t n, capacity;
    bool unsorted; /* tombstones_sort comes before a search */
};

/* Those of one stream, sorted; `out` is empty before. */
int tombstones_load(struct cairn_store *store, uint8_t namespace_id, uint64_t stream,
                    struct tombstones *out, struct cairn_error *error);
/* Those of the range's stream that begin in its [first, last]. */
int tombstones_load_within(struct cairn_store *store,
                           const struct checkpoint_range *range, struct tombstones *out,
                           struct cairn_error *error);
/* Those of all streams of all namespaces. */
int tombstones_load_all(struct cairn_store *store, struct tombstones *out,
                        struct cairn_error *error);
void tombstones_release(struct tombstones *all);
int tombstones_add(struct tombstones *all, const struct tombstone_row *row);
/* Index of the first one of a stream, or where it would be. */
size_t tombstones_of(const struct tombstones *all, uint8_t namespace_id,
                     uint64_t stream);
/* The one of this stream that holds `seq`. NULL: none. */
const struct tombstone_row *tombstones_in(const struct tombstones *all,
                                          uint8_t namespace_id, uint64_t stream,
                                          uint64_t seq);
/* The one that holds `seq`: of this stream if there is one, else of any stream of the
 * namespace, preferably one that ends with `seq` (streams interleave). NULL: none. */
const struct tombstone_row *tombstones_cover(const struct tombstones *all,
                                             uint8_t namespace_id, uint64_t stream,
                                             uint64_t seq);

int change_encode(const struct folded *folded, uint64_t position, struct str payload,
                  struct buf *out, struct cairn_error *error);

/* Reads the tombstone again and verifies it. `each` gets its change as a record: with
 * the seq of the full record if it is one, else that of the last deleted one. What it
 * returns is returned. CAIRN_EDAMAGED; the text names the range. */
typedef int change_fn(void *context, const struct tombstone_row *row,
                      const struct sound_record *record);

int change_read(struct cairn_store *store, const struct tombstone_row *tombstone,
                change_fn *each, void *context, struct cairn_error *error);
/* What is wrong with the change of a range, in front of the reason: CAIRN_EDAMAGED. */
int change_blame(const struct tombstone_row *tombstone, struct cairn_error *error);

#endif
