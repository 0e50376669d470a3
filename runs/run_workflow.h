/* SPDX-License-Identifier: MIT */
#ifndef RUNS_RUN_WORKFLOW_H
#define RUNS_RUN_WORKFLOW_H

#include "storage/rows_run.h"
#include "workflow/workflow.h"

/* The definition that is stored with a run, whatever its file says now. The caller
 * frees it. CAIRN_EDAMAGED, CAIRN_EUSAGE (see run_trust). */
int workflow_stored(struct cairn_workflow **out, struct cairn_store *store,
                    const struct run_row *row, struct cairn_error *error);

#endif
