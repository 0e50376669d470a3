/* SPDX-License-Identifier: MIT */
/* Ownership of a workflow: a kernel lock on one byte of the store's lock file. */
#ifndef RUNS_OWNER_H
#define RUNS_OWNER_H
#include "storage/rows_run.h"

/* Makes the workflow's row if there is none, and locks it. CAIRN_EOWNED names the
 * holder. `offset` is what owner_release wants. */
int owner_acquire(struct cairn_store *store, struct str workflow, uint64_t *workflow_id,
                  int64_t *offset, struct cairn_error *error);
/* The same by the row of the workflow, without waiting: 1 it is ours now, 0 somebody
 * (perhaps this handle) has it, <0 error. */
int owner_try(struct cairn_store *store, uint64_t workflow_id, int64_t *offset,
              struct cairn_error *error);
void owner_release(struct cairn_store *store, int64_t offset);
/* 1 if this handle or some other the workflow of this row id now, 0 if not, <0 error.
 */
int owner_live(struct cairn_store *store, uint64_t workflow_id,
               struct cairn_error *error);
/* The run of the workflow that its owner works on, by what it has written down; 0 if
 * that is not known. */
uint64_t owner_run(struct cairn_store *store, uint64_t workflow_id);
/* 1 if another open file owns the workflow and this is the run that it works on. */
int run_live(struct cairn_store *store, const struct run_row *row,
             struct cairn_error *error);
/* Fills in this process as the owner; the texts live as long as the buffers. */
struct owner_text {
    char host[64], boot[60];
};
void owner_describe(struct run_row *row, struct owner_text *text);

#endif
