/* SPDX-License-Identifier: MIT */
/* The end of an attempt under a keeper. */
#ifndef EXECUTOR_ATTEMPT_KEPT_H
#define EXECUTOR_ATTEMPT_KEPT_H

#include "executor/state/engine.h"

/* 0: *end is how the task ended; 1: all is settled here. */
int kept_ended(struct engine *e, struct job *job, struct process_end *end,
               struct buf *text, struct cairn_error *error);

#endif
