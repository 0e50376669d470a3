/* SPDX-License-Identifier: MIT */
/* Which outputs of tasks were there before them. Whoever removes stale files must know
 * what tasks have made anew, and what may be the user's own, changed in place. What a
 * task has recorded, and nobody has changed since, is known to be made. */
#ifndef EXECUTOR_STATE_BEFORE_H
#define EXECUTOR_STATE_BEFORE_H

#include "executor/state/engine.h"
#include "storage/rows_made.h"

/* Before an attempt starts. Only the first one of a task in this process looks: what a
 * later one finds is of the earlier. */
void before_look(struct engine *e, uint32_t task, uint32_t attempt);
/* May the file hold what no task of the store has made? So it is also where nobody has
 * looked: the task was ended elsewhere, or its attempt was taken over. */
bool before_has(const struct engine *e, uint32_t task, struct str place);
/* What is stored of a file by now. */
void before_note(struct engine *e, const struct made_row *row);
/* The graph has more tasks than the `before`. CAIRN_ENOMEM. */
int before_extend(struct engine *e, uint32_t before);
/* NULL is allowed. */
void before_release(struct before *before);

#endif
