/* SPDX-License-Identifier: MIT */
/* Repairing a store, and looking at its health. */
#ifndef CHECKPOINT_REPAIR_REPAIR_H
#define CHECKPOINT_REPAIR_REPAIR_H

#include "base/memory.h"
#include "cairn/maintenance.h"
#include "checkpoint/chain.h"
#include "storage/rows_run.h"

/* What the definition with that digest says of its run: the name of the workflow, the
 * file, params and number of tasks; texts in the arena. */
typedef int repair_definition_fn(struct cairn_store *store, const struct digest *graph,
                                 struct run_row *row, struct arena *arena,
                                 struct cairn_error *error);

struct repair_options {
    const char *path;
    repair_definition_fn *describe;    /* definitions are above this room */
    const struct payload_kinds *kinds; /* records of other kinds are kept as bytes */
    int (*each)(void *, const struct cairn_loss *); /* or NULL; non-zero stops */
    void *context;
};

/* cairn_store_repair. */
int checkpoint_repair(const struct repair_options *options,
                      struct cairn_repair_result *result, struct cairn_error *error);

struct doctor_options {
    const char *path;
    const char *key_file; /* or NULL */
    const struct payload_kinds *kinds;
    int (*each)(void *, const struct cairn_finding *);
    void *context;
};

/* cairn_doctor. */
int checkpoint_doctor(const struct doctor_options *options, struct cairn_error *error);

#endif
