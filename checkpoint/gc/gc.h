/* SPDX-License-Identifier: MIT */
/* Garbage collection, while other processes may use the store. */
#ifndef CHECKPOINT_GC_GC_H
#define CHECKPOINT_GC_GC_H

#include "cairn/maintenance.h"
#include "checkpoint/chain.h"

/* What cairn_gc does with the store, with the payload kinds whose roots can be read. A
 * record of another kind may refer to any object: then no content is deleted, and the
 * call returns CAIRN_ENEWER after the runs that were to go are removed. */
int checkpoint_gc(struct cairn_store *store, const struct payload_kinds *kinds,
                  const struct cairn_gc_options *options,
                  struct cairn_gc_result *result, struct cairn_error *error);

#endif
