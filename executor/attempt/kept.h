/* SPDX-License-Identifier: MIT */
/* The end of an attempt under a keeper. */
#ifndef EXECUTOR_ATTEMPT_KEPT_H
#define EXECUTOR_ATTEMPT_KEPT_H

#include "executor/state/engine.h"
#include "runs/stored.h"

/* 0: *end is how the task ended; 1: all is settled here. */
int kept_ended(struct engine *e, struct job *job, struct process_end *end,
               struct buf *text, struct cairn_error *error);

/* Whether an attempt that must not run twice was begun by another definition of its
 * task than the present one, which its end would be recorded for. Where that is not
 * known any more it is taken for another one. */
int kept_is_edited(struct engine *e, struct past_definition *past,
                   const struct attempt_id *id, uint32_t task, bool *edited,
                   struct cairn_error *error);

#endif
