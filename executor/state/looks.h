/* SPDX-License-Identifier: MIT */
/* The engine's side of looking at declared files: small ones at once, the others on a
 * thread while the job waits. looks.c is the only writer of `looks`. */
#ifndef EXECUTOR_STATE_LOOKS_H
#define EXECUTOR_STATE_LOOKS_H

#include "runs/outputs.h"

struct engine;
struct job;
struct look_threads;

/* The job's task is to be started, or its intent to be dropped. */
enum errand_end { ERRAND_START = 1, ERRAND_DROP };

/* Work for a job with files and the pool, which may take long: done on one of the
 * threads, with a handle of the store of its own. */
struct errand {
    /* `stop`: not 0 ends it with CAIRN_ESTOPPED; may be NULL. */
    int (*work)(struct errand *errand, struct cairn_store *store,
                const _Atomic uint32_t *stop, struct cairn_error *error);
    /* For the engine: what it came to. The job is in no look any more. Of a job that had
     * not started it may return one of enum errand_end. */
    int (*done)(struct engine *e, struct job *job, struct errand *errand, int rc,
                struct cairn_error *why, struct cairn_error *error);
    void (*release)(struct errand *errand); /* frees all of it */
    bool holds; /* set by `work`: collectors are held off by the handle */
};

struct look { /* one task's; belongs to the threads until it is collected */
    struct file_look files;
    struct errand *errand;     /* NULL: it is a look at `files` */
    struct cairn_store *store; /* of the errand; NULL: it has none yet */
    uint32_t slot;             /* of the job that waits for it; or LOOK_OF_COMMAND */
    _Atomic uint32_t stop;
    int rc; /* once collected: what became of it, and why */
    struct cairn_error error;
    struct look *next;
};

enum { LOOK_OF_COMMAND = UINT32_MAX };

struct looks {
    struct look_threads *threads; /* NULL: none was needed yet */
    struct job *ready; /* their inputs were looked at, and they are to be started; by
                          next_ready */
    /* What a command of another process reports as done: */
    uint64_t command; /* its id; 0: none */
    struct look *of_command;
    bool command_ready; /* it was collected */
};

/* It goes on on a thread. */
enum { LOOK_WAITS = 1 };

/* Looks at the files of the job's task, for job->result. 0: done; LOOK_WAITS: the job
 * waits, and the look is collected; else an error: of inputs, job->result has the one
 * that is missing or cannot be read. */
int looks_begin(struct engine *e, struct job *job, bool inputs,
                struct cairn_error *error);
/* Takes a collected one over into job->result, and frees it. Returns what became of it.
 */
int looks_finish(struct engine *e, struct job *job, struct look *look,
                 struct cairn_error *error);
/* Gives the errand of the job to a thread: LOOK_WAITS, or an error, and nothing is done:
 * there is no thread. `before`: the job has not started yet. */
int looks_send(struct engine *e, struct job *job, struct errand *errand, bool before);
/* An errand that was collected has ended: calls its `done`, unless the run is given up
 * (`failed`, which is returned), and frees it. */
int looks_end_errand(struct engine *e, struct job *job, struct look *look, int failed,
                     struct cairn_error *error);
/* The job's look is to end now, with CAIRN_ESTOPPED. */
void looks_stop(struct engine *e, struct job *job);
struct look *looks_collect(struct engine *e);
/* The same for the outputs of a task that the command reports as done, into `result`.
 * To be called again while it is LOOK_WAITS. */
int looks_for_command(struct engine *e, uint64_t command, const struct asker *asker,
                      struct arena *arena, struct result *result,
                      struct cairn_error *error);
/* It is collected. */
void looks_command_ready(struct engine *e);
/* Jobs whose inputs were looked at, until they are started. */
void looks_add_ready(struct engine *e, struct job *job);
struct job *looks_take_ready(struct engine *e);
void looks_close(struct engine *e);

/* ---- The threads: they know nothing of the engine ---- */

/* Readable when there is something to be collected. */
int look_threads_fd(const struct look_threads *threads);

#endif
