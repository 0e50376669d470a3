/* SPDX-License-Identifier: MIT */
/* From a plan to a run that this process owns: what its last owner left is ended,
 * claims that no longer hold are dropped, the first commit is made, and everything that
 * the loop needs is opened. */
#ifndef EXECUTOR_OPEN_RUN_H
#define EXECUTOR_OPEN_RUN_H

#include "base/error.h"
#include "executor/state/engine.h"

struct engine;

/* Must come before the ends of attempts of dead owners are read: from now on no keeper
 * starts one of them. */
int engine_close_epochs(struct engine *e, struct cairn_error *error);
/* Removes what an owner that died after the end of its run left in the live directory.
 */
void engine_clean_live(const struct engine *e, uint64_t run);

int engine_open(struct engine *e, struct cairn_error *error);
void engine_close(struct engine *e);

#endif
