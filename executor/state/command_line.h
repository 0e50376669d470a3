/* SPDX-License-Identifier: MIT */
/* Command line and environment of an attempt that starts, and the file for its values.
 * command_line.c is the only writer of `environments`. */
#ifndef EXECUTOR_STATE_COMMAND_LINE_H
#define EXECUTOR_STATE_COMMAND_LINE_H

#include "executor/given/invocation.h"

struct attempt_id;
struct ending;
struct engine;
struct job;

void values_path_of(const struct attempt_id *id, char *out, size_t size);
void values_path(const struct engine *e, const struct job *job, char *out, size_t size);
/* Makes it, empty. An error: an earlier one is in its place and cannot be removed. */
int values_open(struct engine *e, struct job *job, struct cairn_error *error);
/* What there is in the slot's file is from now on in that of the attempt. */
void values_set_aside(const struct engine *e, const struct job *job);
/* Takes the values out of the slot's file; it is empty then. */
int values_take(struct engine *e, struct job *job, struct ending *ending,
                struct buf *text, struct cairn_error *error);

/* Makes the file for $CAIRN_INPUTS of an attempt of a task with inputs, or of its check,
 * which has that of the task if it is there. What is told where it cannot be made: see
 * there. An error: an earlier one is in its place and cannot be removed. */
int inputs_open(struct engine *e, struct job *job, struct cairn_error *error);
void inputs_remove(const struct attempt_id *id);

int environments_open(struct engine *e, struct cairn_error *error);
/* Fills in the slot's request. On failure the reason is in `why`. */
int command_line_make(struct engine *e, struct job *job, struct buf *why);
int command_line_make_action(struct engine *e, struct job *job,
                             const struct undo_action *action, struct buf *why);

#endif
