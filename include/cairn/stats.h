/* SPDX-License-Identifier: MIT */
/* cairn: counts, sizes and durations of what a store holds. */
#ifndef CAIRN_STATS_H
#define CAIRN_STATS_H

#include "error.h"
#include "store.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_stat_label {
    const char *name, *value;
};
/* A histogram counts what is at most as much as each bound; `count` is of all. */
struct cairn_stat_buckets {
    const double *bounds;   /* ascending */
    const uint64_t *counts; /* cumulative: what is counted for one bound is for the next
                               ones, too */
    uint32_t n;
    uint64_t count;
    double sum;
};
/* One figure: a value, or a histogram. Views during the callback. */
struct cairn_stat {
    const char *family; /* snake case, with its unit: "attempt_seconds" */
    const char *help;   /* what it counts, in a line */
    struct cairn_stat_label labels[2];
    uint32_t n_labels;
    double value;                             /* if it is no histogram */
    const struct cairn_stat_buckets *buckets; /* NULL: a value */
};

/* Calls `each` with every figure, family by family, all of one moment. They are counted
 * from the rows of the store, so they are the same in every process and right after a
 * restart, and fall when `cairn gc`, deleting or pruning removes what they count. Takes
 * as long as it takes to read the rows of attempts, checkpoints and events once. Rows
 * are not verified (cairn_verify does that). A non-zero return of `each` stops; the
 * callback must not use the store. */
CAIRN_API int cairn_stats(struct cairn_store *store,
                          int (*each)(void *context, const struct cairn_stat *stat),
                          void *context, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
