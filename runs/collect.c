/* SPDX-License-Identifier: MIT */
/* cairn_gc: what nothing refers to any more, and what dead owners left that may hold
 * secrets. */
#include "cairn/gc.h"

#include "checkpoint/gc/gc.h"
#include "runs/live_values.h"

int cairn_gc(struct cairn_store *store, const struct cairn_gc_options *options,
             struct cairn_gc_result *result, struct cairn_error *error)
{
    int rc = checkpoint_gc(store, &payload_kinds, options, result, error);
    if (!rc && !(options && options->dry_run))
        live_values_sweep(store);
    return rc;
}
