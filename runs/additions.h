/* SPDX-License-Identifier: MIT */
/* Tasks that were added to a run (`cairn add`). Each addition is a command of its run
 * (storage/rows_command.h) whose data is the name of who added it and the text, both
 * with their lengths. It belongs to the run as soon as it is stored: whoever goes on
 * with the run, or plans that, parses the workflow's file with all of them behind it.
 * A run that begins anew, or forks from it, has none of them. */
#ifndef RUNS_ADDITIONS_H
#define RUNS_ADDITIONS_H

#include "storage/rows_command.h"
#include "workflow/workflow.h"

void addition_encode(struct str by, struct str text, struct buf *out);
/* Views. False: damaged. */
bool addition_decode(struct str data, struct str *by, struct str *text);
/* Those of a run, with room for one more; the caller frees them (additions_free).
 * CAIRN_EDAMAGED. */
int additions_load(struct cairn_store *store, uint64_t run, struct addition **out,
                   size_t *n, struct cairn_error *error);
/* How many a run has. */
int additions_count(struct cairn_store *store, uint64_t run, size_t *n,
                    struct cairn_error *error);
/* The newest one that the workflow was given: a command of a greater number brings
 * tasks that it has not. */
static inline uint64_t additions_up_to(const struct cairn_workflow *w, uint64_t run)
{
    return w->n_additions && w->added_run == run ? w->additions[w->n_additions - 1].id
                                                 : 0;
}

#endif
