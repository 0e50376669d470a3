/* SPDX-License-Identifier: MIT */
/* From a taken slot to a process. If not, `why` says why. */
#ifndef EXECUTOR_ATTEMPT_LAUNCH_H
#define EXECUTOR_ATTEMPT_LAUNCH_H

#include "executor/state/engine.h"

/* LOOK_WAITS: launch_looked_at is to be called once its inputs were looked at. */
int launch_task(struct engine *e, struct job *job, struct buf *why);
int launch_looked_at(struct engine *e, struct job *job, struct buf *why);
/* The shell text of a check or an undo. */
int launch_action(struct engine *e, struct job *job, const struct undo_action *action,
                  struct buf *why);
/* The action of a task as it stands: its text under its shell, environment, directory.
 */
int launch_describe(const struct asker *asker, struct str text, struct arena *arena,
                    struct undo_action *out, struct cairn_error *error);
/* Adds marks of the values of its secrets to what is known of the attempt. */
int launch_mark_secrets(const struct engine *e, uint32_t task, struct arena *arena,
                        struct result *r, struct cairn_error *error);
bool task_was_interrupted(const struct engine *e, uint32_t task);

#endif
