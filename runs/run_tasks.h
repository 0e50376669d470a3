/* SPDX-License-Identifier: MIT */
/* The tasks of a run as they stand: recorded outcome, newest attempt, and, of a run
 * that is live, which of them have a process. */
#ifndef RUNS_RUN_TASKS_H
#define RUNS_RUN_TASKS_H

#include "runs/stored.h"
#include "storage/rows_run.h"

/* [n + 1] which tasks have a process now: as the slots of a live run say. since_ns (may
 * be NULL, [n]): when it was started. NULL: out of memory. The caller frees it. */
uint8_t *running_tasks(struct cairn_store *store, const struct run_row *row, uint32_t n,
                       int64_t *since_ns);

#endif
