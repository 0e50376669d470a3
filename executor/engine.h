/* SPDX-License-Identifier: MIT */
/* The ways into the engine that are not public (cairn_run is in cairn/run.h). */
#ifndef EXECUTOR_ENGINE_H
#define EXECUTOR_ENGINE_H

#include "cairn/run.h"
#include "workflow/workflow.h"

struct engine;

struct runner;

/* cairn_run with a runner of the caller's (process/runner.h), which is closed at the
 * end and not freed; NULL: processes of this machine. */
int engine_run(struct cairn_workflow *workflow, struct cairn_store *store,
               const struct cairn_run_options *options, struct runner *runner,
               struct cairn_run_result *result, struct cairn_error *error);
/* `workflow` is the recorded one of the run. */
int engine_settle(struct cairn_workflow *workflow, struct cairn_store *store,
                  uint64_t run, struct cairn_run_result *result,
                  struct cairn_error *error);
int engine_undo(struct cairn_workflow *workflow, struct cairn_store *store,
                uint64_t run, const struct cairn_run_options *options,
                const uint32_t *tasks, uint32_t n, struct cairn_run_result *result,
                struct cairn_error *error);
/* Removes what `stale: remove` says, of a run that is owned. An error: what could not be
 * removed would be joined. */
int engine_remove_stale(struct engine *e, struct cairn_error *error);

#endif
