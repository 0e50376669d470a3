/* SPDX-License-Identifier: MIT */
/* The engine's side of callbacks. calls.c is the only writer of `calls`. */
#ifndef EXECUTOR_STATE_CALLS_H
#define EXECUTOR_STATE_CALLS_H

#include "executor/state/call_threads.h"

struct engine;
struct job;

struct calls {
    struct call_threads *threads; /* NULL: no task is a callback */
    uint32_t left_behind;         /* callbacks that the run did not wait for */
};

int calls_open(struct engine *e, struct cairn_error *error);
void calls_close(struct engine *e);
/* cairn_attempt_stopped is true for the job's attempt from now on. Once its grace is
 * over, see call_grace_over. */
void calls_ask_to_stop(struct engine *e, struct job *job);
/* The run no longer waits for the job's callback. */
void calls_leave(struct engine *e, struct job *job);

#endif
