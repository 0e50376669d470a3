/* SPDX-License-Identifier: MIT */
/* Compensation: the undo of tasks. undo.c is the only writer of `undoing`. */
#ifndef EXECUTOR_ATTEMPT_UNDO_H
#define EXECUTOR_ATTEMPT_UNDO_H

#include "executor/state/engine.h"

/* Takes over the list, which is on the heap. */
void undo_open(struct engine *e, uint32_t *tasks, uint32_t n);
void undo_release(struct engine *e);
int undo_collect(struct engine *e, enum undo_scope scope, struct cairn_error *error);
/* An intent for the next one of the list. */
int undo_next(struct engine *e, struct cairn_error *error);
/* See roles.h. */
int undo_launch(struct engine *e, struct job *job, struct buf *why);
int undo_not_started(struct engine *e, const struct intent *intent,
                     const struct result *read, const char *why,
                     struct cairn_error *error);
int undo_ended(struct engine *e, struct job *job, const struct process_end *end,
               const struct buf *text, struct cairn_error *error);

#endif
