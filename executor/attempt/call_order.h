/* SPDX-License-Identifier: MIT */
/* What callbacks are given, and their start. */
#ifndef EXECUTOR_ATTEMPT_CALL_ORDER_H
#define EXECUTOR_ATTEMPT_CALL_ORDER_H

#include "executor/state/engine.h"

/* What it is given is in the scratch arena. `own`: what its task itself has set, NULL:
 * nothing. `undo` NULL: its arguments are those of the task, as they are now. */
int call_order_make(struct engine *e, const struct job *job, struct program_call call,
                    const struct result *own, const struct undo_action *undo,
                    struct arena *scratch, struct call_order *order,
                    struct cairn_error *error);
/* On another thread, for a job whose call has begun, with its time limit. */
int call_order_start(struct engine *e, struct job *job, const struct call_order *order,
                     struct cairn_error *why);
/* Has a callback do what the role of a taken slot is. It gets the arguments of `undo`, or
 * (NULL) those that the task has now, and the values that the task has set beside those
 * of what it needs. On failure the reason is in `why`. */
int call_beside_task(struct engine *e, struct job *job, const struct program_call *call,
                     const struct undo_action *undo, struct buf *why);
/* What undoes the task, with its arguments as they are now, in the arena. It has no shell:
 * every command has one. */
int call_describe_undo(const struct asker *asker, struct arena *arena,
                       struct undo_action *out, struct cairn_error *error);
static inline bool undo_is_call(const struct undo_action *undo)
{
    return undo->text.len && !undo->n_shell;
}

#endif
