/* SPDX-License-Identifier: MIT */
/* The change of a tombstone: what its range added up to, which stands for the deleted
 * records as if it were one. So the chain can be rebuilt across it. There is one only
 * where records that are kept need it.
 *
 *   0   1  kind: 1 full, 2 delta
 *   1   8  position of the last deleted record, little endian
 *   9   8  seq of the full record: of a full one inside the range
 *   17     payload, as that of a record                                              */
#ifndef CHECKPOINT_CHANGE_INT_H
#define CHECKPOINT_CHANGE_INT_H

#include "checkpoint/chain.h"
#include "checkpoint/tombstones_int.h"

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
