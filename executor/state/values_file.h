/* SPDX-License-Identifier: MIT */
/* Where an attempt leaves its values. */
#ifndef EXECUTOR_STATE_VALUES_FILE_H
#define EXECUTOR_STATE_VALUES_FILE_H

#include "executor/state/engine.h"

void values_path_of(const struct attempt_id *id, char *out, size_t size);
void values_path(const struct engine *e, const struct job *job, char *out, size_t size);
/* Makes it, empty. An error: an earlier one is in its place and cannot be removed. */
int values_open(struct engine *e, struct job *job, struct cairn_error *error);
/* What there is in the slot's file is from now on in that of the attempt. */
void values_set_aside(const struct engine *e, const struct job *job);
/* Takes the values out of the slot's file; it is empty then. */
int values_take(struct engine *e, struct job *job, struct ending *ending,
                struct buf *text, struct cairn_error *error);

#endif
