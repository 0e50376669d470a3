/* SPDX-License-Identifier: MIT */
/* Becoming the owner of a run: what its last owner left behind, the first commit. */
#ifndef EXECUTOR_OPEN_RUN_H
#define EXECUTOR_OPEN_RUN_H

#include "executor/parts/engine.h"

/* Before it is looked at what became of the attempts of dead owners of the workflow: no
 * keeper takes one any more. */
int engine_close_rooms(struct engine *e, struct cairn_error *error);
int engine_open_run(struct engine *e, struct skip_list *early,
                    struct cairn_error *error);
/* Removes what an owner that died after the end of its run left in the live directory.
 */
void engine_clean_live(const struct engine *e, uint64_t run);

#endif
