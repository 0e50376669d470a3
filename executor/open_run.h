/* SPDX-License-Identifier: MIT */
/* Becoming the owner of a run: ends what its last owner left behind, commits first. */
#ifndef EXECUTOR_OPEN_RUN_H
#define EXECUTOR_OPEN_RUN_H

#include "executor/state/engine.h"

/* Must come before the ends of attempts of dead owners are read: from now on no keeper
 * starts one of them. */
int engine_close_epochs(struct engine *e, struct cairn_error *error);
int engine_open_run(struct engine *e, struct skip_list *early,
                    struct cairn_error *error);
/* Removes what an owner that died after the end of its run left in the live directory.
 */
void engine_clean_live(const struct engine *e, uint64_t run);

#endif
