/* SPDX-License-Identifier: MIT */
/* Command line and environment of an attempt that starts. command_line.c is the only
 * writer of `environments`. */
#ifndef EXECUTOR_STATE_COMMAND_LINE_H
#define EXECUTOR_STATE_COMMAND_LINE_H

#include "executor/given/invocation.h"

struct engine;
struct job;

int environments_open(struct engine *e, struct cairn_error *error);
/* Fills in the slot's request. On failure the reason is in `why`. */
int command_line_make(struct engine *e, struct job *job, struct buf *why);
int command_line_make_action(struct engine *e, struct job *job,
                             const struct undo_action *action, struct buf *why);

#endif
