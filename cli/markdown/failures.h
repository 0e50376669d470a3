/* SPDX-License-Identifier: MIT */
/* The tasks that failed, as a part of a report: a part for each run, with what became
 * of each task since. */
#ifndef CLI_MARKDOWN_FAILURES_H
#define CLI_MARKDOWN_FAILURES_H

#include "cairn.h"

#include <stdio.h>

struct failure;
struct failures {
    struct failure *at; /* in the order in which they were noted */
    size_t n, capacity;
};
/* Notes one; `id` is the checkpoint that names it. False: out of memory. */
bool failures_add(struct failures *failures, const char *id,
                  const struct cairn_task_failure *failure);
/* Nothing where there is none. Returns a code of the library. */
int failures_put(struct failures *failures, struct cairn_store *store, FILE *file,
                 struct cairn_error *error);
void failures_release(struct failures *failures);

/* "2026-11-23 20:06 UTC" */
void put_time(FILE *file, int64_t time_ns);

#endif
