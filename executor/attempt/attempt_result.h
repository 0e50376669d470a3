/* SPDX-License-Identifier: MIT */
/* The result of an attempt: what its process or call leaves, as output, row, declared
 * outputs and values. */
#ifndef EXECUTOR_ATTEMPT_ATTEMPT_RESULT_H
#define EXECUTOR_ATTEMPT_ATTEMPT_RESULT_H

#include "executor/state/engine.h"

/* Takes what it wrote, and resets the slot's files for the next one. */
void job_capture(struct engine *e, struct job *job, struct ending *ending);
void job_describe_end(const struct engine *e, const struct job *job,
                      struct ending *ending);
void job_describe_signal(int signal, struct buf *text);
/* A draft: what every end of a job's process, or call, leaves in its row. `end` may be
 * NULL. NULL: out of memory. */
struct ending *ending_of_job(struct engine *e, struct job *job,
                             const struct process_end *end, struct cairn_error *error);
/* What the process used, and whether it ran out of time. */
void ending_add_usage(struct ending *ending, const struct job *job,
                      const struct process_end *end);

/* An attempt that completed without what it declared has failed. LOOK_WAITS: its
 * outputs are being looked at, the job holds the draft, and result_finish is to be
 * called with what became of that; 0: the draft has its outcome. Else an error for
 * which the run is given up; the draft is released. */
int result_begin(struct engine *e, struct job *job, struct ending *ending,
                 struct cairn_error *error);
int result_finish(struct engine *e, struct job *job, struct ending *ending, int rc,
                  struct cairn_error *why);
/* Memory or descriptors of our own were short: that says nothing of the attempt. */
bool is_our_want(const struct cairn_error *why);
/* The job waits for a look or an errand; the draft is kept with it. */
void ending_hold(struct engine *e, struct job *job, const struct ending *ending);
/* Looks at the outputs alone, for job->result: as looks_begin. */
int result_look(struct engine *e, struct job *job, struct ending *ending,
                struct cairn_error *why);
/* The look at its outputs was stopped, which `why` says. */
void ending_stop_look(struct engine *e, struct ending *ending, const char *why);
/* The declared outputs as they are now, into `result`. Without one of them: an error
 * that names it. */
int read_outputs(const struct asker *asker, struct arena *arena, struct result *result,
                 struct cairn_error *error);
/* Of an attempt that did not complete after all. */
void ending_drop_result(struct ending *ending);
/* Of an unknown task that counts as done: the values that it had passed on, if it had
 * completed before an edit took it out of the workflow or skipped it; its inputs and
 * secrets as they are now, when it is decided. */
int result_add_earlier(struct engine *e, const struct asker *asker, struct arena *arena,
                       struct result *result, struct cairn_error *error);
/* Of a task that is not run: what another attempt has left, which was looked at.
 * `stored`: the store has just that under this digest, and `result` lives as long as the
 * ending; or NULL. */
int ending_keep_spared(struct engine *e, struct ending *ending,
                       const struct result *result, const struct digest *stored,
                       struct cairn_error *error);
/* Of one that failed: what it read, which tells later whether it would fail again. */
void ending_keep_inputs(struct engine *e, const struct result *known,
                        struct ending *ending);
/* The same of an unknown task that is decided to have failed: its inputs and secrets as
 * they are now. CAIRN_ENOMEM, CAIRN_ESTOPPED; what cannot be read else is left out. */
int ending_keep_inputs_now(struct engine *e, const struct asker *asker,
                           struct ending *ending, struct cairn_error *error);
/* Encodes the result and its digest into the ending. */
int ending_keep_result(struct engine *e, struct ending *ending,
                       const struct result *result, struct cairn_error *error);

#endif
