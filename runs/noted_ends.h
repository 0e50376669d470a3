/* SPDX-License-Identifier: MIT */
/* Which notes of ends count (process/end_notes.h), for all who look at a run that has
 * no owner: what runs next, and what people are shown, must not differ. */
#ifndef RUNS_NOTED_ENDS_H
#define RUNS_NOTED_ENDS_H

#include "cairn/store.h"
#include "process/end_notes.h"

#include <stdbool.h>

/* It was not ended by us because the run was to stop, and what it passed on to others
 * is still there. */
bool noted_end_counts(struct cairn_store *store, uint64_t run,
                      const struct end_note *note);

#endif
