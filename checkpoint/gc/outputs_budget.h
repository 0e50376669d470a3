/* SPDX-License-Identifier: MIT */
/* Which copies of outputs (`reuse: {keep}`) go so that the others take no more than a
 * number of bytes together: those whose last run is the oldest first. */
#ifndef CHECKPOINT_GC_OUTPUTS_BUDGET_H
#define CHECKPOINT_GC_OUTPUTS_BUDGET_H

#include "base/memory.h"
#include "storage/rows_files.h"

struct outputs_budget {
    uint64_t most;
    /* Rows that do not count, since they go anyway. */
    bool (*passes)(void *context, const struct files_row *row);
    void *context;
    /* What was found: rows whose copies go, the newest run first. */
    struct files_row *over;
    size_t n_over;
    struct arena arena;
    struct map names; /* of these, for outputs_budget_drops */
};

/* Counts each object once, with what it takes in the store. Only reads.
 * outputs_budget_release in any case. */
int outputs_budget_find(struct outputs_budget *budget, struct cairn_store *store,
                        struct cairn_error *error);
bool outputs_budget_drops(const struct outputs_budget *budget,
                          const struct files_row *row);
void outputs_budget_release(struct outputs_budget *budget);

#endif
