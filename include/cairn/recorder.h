/* SPDX-License-Identifier: MIT */
/* cairn: the checkpoint service on its own, for programs that run tasks themselves. */
#ifndef CAIRN_RECORDER_H
#define CAIRN_RECORDER_H

#include "checkpoint.h"
#include "error.h"
#include "outcome.h"
#include "store.h"
#include "workflow.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Owns a new run of a workflow, and saves outcomes in it. */
struct cairn_recorder;

struct cairn_change {
    uint32_t task; /* index in the workflow */
    enum cairn_outcome outcome;
    uint32_t attempts; /* 0 means 1 */
};

/* Starts the run. CAIRN_EOWNED if another run owns the workflow. The store must outlive
 * the recorder. */
CAIRN_API int cairn_recorder_open(struct cairn_recorder **out,
                                  struct cairn_workflow *workflow,
                                  struct cairn_store *store, struct cairn_error *error);
/* Saves a checkpoint with these changes: durable when it returns 0, at the sync level
 * of the store. `id` (may be NULL) receives the id of the checkpoint. */
CAIRN_API int cairn_recorder_save(struct cairn_recorder *recorder,
                                  const struct cairn_change *changes, size_t n,
                                  char id[CAIRN_ID_MAX], struct cairn_error *error);
/* Records the state of the run, gives up ownership and frees the recorder. */
CAIRN_API int cairn_recorder_close(struct cairn_recorder *recorder,
                                   enum cairn_run_state state,
                                   struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
