/* SPDX-License-Identifier: MIT */
/* Files with values ($CAIRN_OUTPUT) that attempts of a dead owner have left in the live
 * directory. Where the workflow has secrets they may hold some, as nobody has redacted
 * them. */
#ifndef RUNS_LIVE_VALUES_H
#define RUNS_LIVE_VALUES_H

#include "storage/rows_run.h"

/* Removes those of a run whose workflow has secrets, but for those of attempts under
 * keepers, which the next owner takes over. The caller owns the workflow. */
void live_values_remove(struct cairn_store *store, const struct run_row *row);
/* The same for every run that nobody works on, and for runs that are gone. */
void live_values_sweep(struct cairn_store *store);

#endif
