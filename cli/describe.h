/* SPDX-License-Identifier: MIT */
/* Runs and checkpoints in words and as JSON, the same in every command. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "cairn.h"
#include "cli/json.h"

/* running, interrupted, waiting (it ended normally with work left), completed,
 * failed, cancelled or undone. */
const char *run_state_text(const struct cairn_run_info *run);
/* The exit status for how a run ended, or for one that did not. */
int run_exit_status(const struct cairn_run_info *run);
uint32_t run_done(const struct cairn_run_info *run);
/* Members of a run, in an object that is already open. */
void run_document(struct doc *doc, struct cairn_store *store,
                  const struct cairn_run_info *run);
/* `day=2026-01-31 who="you and me"`, cut if it is long; heap, or NULL for none. */
char *params_text(struct cairn_store *store, uint64_t run);
void checkpoint_document(struct doc *doc, const struct cairn_checkpoint_info *info);

#endif
