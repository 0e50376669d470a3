/* SPDX-License-Identifier: MIT */
/* The threads that callbacks of tasks run on, and the attempts that callbacks carry
 * out.
 *
 * A callback cannot be ended from outside. One that does not return in time is left
 * behind: the run goes on, and may end, without it. So the threads, this struct and the
 * attempts do not belong to the engine alone: each is freed by its last user, and
 * nothing here points into the engine or the workflow.
 *
 * Two switches of threads cost more than a callback that does next to nothing. So the
 * engine may call one itself (call_run) once many in a row were quick (call_quick).
 * calls.c is the only writer of `calls`. */
#ifndef EXECUTOR_STATE_CALLS_H
#define EXECUTOR_STATE_CALLS_H

#include "cairn/run.h"
#include "graph/definition.h"

struct call_threads;

/* What a task that the callback's task needs has passed on. */
struct call_need {
    const char *task;
    const struct key_value *values; /* [n] */
    uint32_t n;
};

struct call_order {
    cairn_task_fn *call;
    void *context;
    const char *task;              /* copied */
    const struct call_need *needs; /* [n_needs] copied */
    uint32_t n_needs;
    const struct key_value *arguments; /* [n_arguments] copied; sorted by name */
    uint32_t n_arguments;
    uint32_t number, slot;
    bool parallel; /* may run beside others; else not beside another one without it */
    const struct cairn_stop *stop; /* call_run: may be used while it runs; or NULL */
};

/* Readable when a callback has returned, or an attempt was finished. */
int call_threads_fd(const struct call_threads *threads);
/* Runs the callback on another thread. *out lives until it is released or left. */
int call_start(struct call_threads *threads, const struct call_order *order,
               struct cairn_attempt **out, struct cairn_error *error);
/* Have the last callbacks all returned at once? */
bool call_quick(const struct call_threads *threads);
/* Runs the callback on this thread. `*out` is NULL if it has ended, as *outcome says,
 * and left nothing; else it is finished later, or has been already, and will be
 * collected. */
int call_run(struct call_threads *threads, const struct call_order *order,
             struct cairn_attempt **out, enum cairn_outcome *outcome,
             struct cairn_error *error);
/* A callback that is not `parallel` has not returned yet. */
bool call_threads_busy(const struct call_threads *threads);
/* Attempts that have finished since the last time, as a list by call_next; each to be
 * released. */
struct cairn_attempt *call_threads_collect(struct call_threads *threads);
struct cairn_attempt *call_next(const struct cairn_attempt *attempt);
uint32_t call_slot(const struct cairn_attempt *attempt);
enum cairn_outcome call_outcome(const struct cairn_attempt *attempt);
/* NULL: no message. */
const char *call_text(const struct cairn_attempt *attempt);
/* The values that a finished attempt has set, sorted by name; copied to the arena.
 * CAIRN_ENOMEM. */
int call_values(const struct cairn_attempt *attempt, struct arena *arena,
                struct key_value **values, uint32_t *n, struct cairn_error *error);
void call_release(struct cairn_attempt *attempt);

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
