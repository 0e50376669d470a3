/* SPDX-License-Identifier: MIT */
/* The deleted ranges of streams, loaded at once: they are merged when checkpoints are
 * pruned, so there is at most one between two records of a stream. */
#ifndef CHECKPOINT_TOMBSTONES_INT_H
#define CHECKPOINT_TOMBSTONES_INT_H

#include "checkpoint/row_int.h"
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

#endif
