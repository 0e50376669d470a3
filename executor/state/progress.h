/* SPDX-License-Identifier: MIT */
/* The outcome of each task so far, and which are ready. progress.c is the only writer
 * of `progress`: it settles, which means that the end of an attempt becomes an outcome,
 * or a retry. Whether a failure stops the run is decided in attempt/ending.h. */
#ifndef EXECUTOR_STATE_PROGRESS_H
#define EXECUTOR_STATE_PROGRESS_H

#include "executor/state/turn.h"
#include "plan/sched.h"
#include "runs/lookup.h"
#include "runs/outputs.h"

struct engine;

/* What a call knows of tasks that failed and are to be tried again, where it opens its
 * run again. */
struct retries {
    struct arena arena;
    struct retry_left {
        struct str id;
        uint32_t failures;
        int64_t due_ns; /* by loop_now_ns */
    } * at;
    uint32_t n;
};

struct progress {
    struct states states; /* what the next record says: includes all endings */
    uint32_t *failures;   /* [n_tasks] failed attempts of this call, for retries: of a
                             task with `repeat`, since its last round */
    uint32_t *rounds;     /* [n_tasks] rounds that are done; NULL: no task repeats */
    int64_t *due_ns;      /* [n_tasks] none starts before that; NULL: any may */
    struct sched sched;
    struct lookup lookup;     /* of `states` */
    struct output_index seen; /* outputs of attempts that completed now */
    bool *makes_list; /* [n_defs] its end tells the members of others; NULL: none */
    bool list_made;   /* one of them has completed in this engine */
    bool *referred;   /* [n_defs] results of its tasks are asked for; NULL: none */
};

/* From the situation. `early`: tasks that cannot run from the start. */
int progress_open(struct engine *e, struct skip_list *early, struct cairn_error *error);
/* Nothing is to be done: the states as they are recorded. */
int progress_copy_recorded(struct engine *e, struct cairn_error *error);
/* The graph has more tasks than the `before` of so many task_defs. What is known of them
 * from the start is added to the turn. */
int progress_extend(struct engine *e, uint32_t before, uint32_t defs,
                    struct cairn_error *error);
/* These tasks, which were withdrawn, will not run: sched_drop. */
int progress_drop(struct engine *e, const uint32_t *tasks, uint32_t n,
                  struct cairn_error *error);
void progress_release(struct engine *e);
/* For the engine that opens the run again: progress_open takes them from the request.
 */
int progress_keep_retries(const struct engine *e, struct retries *out,
                          struct cairn_error *error);
/* The task, which was taken, waits for the time of its retry. */
bool progress_must_wait(struct engine *e, uint32_t task);
/* The number of the run is known. */
void progress_set_run(struct engine *e, uint64_t run);
/* For `finally`: how the run has gone so far. */
void progress_set_status(struct engine *e, const char *status);
/* A failure of the task now is final, ... */
void progress_no_retry(struct engine *e, uint32_t task);
/* ... or only its fallback may follow. */
void progress_no_more_tries(struct engine *e, uint32_t task);
/* The outputs of an attempt that has just completed with this result. */
void progress_saw_outputs(struct engine *e, const struct digest *digest,
                          const struct result *result);
/* Each of these adds the draft to the turn. */
void settle_ending(struct engine *e, struct ending *ending);
/* A round has ended, and another one is to follow. */
void settle_round(struct engine *e, struct ending *ending);
/* It was interrupted, and must not run twice. */
void settle_unknown(struct engine *e, struct ending *ending);
void settle_undone(struct engine *e, struct ending *ending);
/* An unknown task is to run again. */
void settle_rerun(struct engine *e, struct ending *ending);

#endif
