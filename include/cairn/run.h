/* SPDX-License-Identifier: MIT */
/* cairn: runs a workflow; cancels, undoes and resolves what a run did; external
 * tasks. */
#ifndef CAIRN_RUN_H
#define CAIRN_RUN_H

#include "checkpoint.h"
#include "error.h"
#include "outcome.h"
#include "store.h"
#include "workflow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stops a run from elsewhere. cairn_stop_request may be called in a signal handler and
 * on any thread: the first call stops gracefully (TERM, grace, KILL; cancelled attempts
 * run again on resume), the second kills at once. Free it after cairn_run returned. */
struct cairn_stop;
CAIRN_API int cairn_stop_new(struct cairn_stop **out, struct cairn_error *error);
CAIRN_API void cairn_stop_request(struct cairn_stop *stop);
CAIRN_API void cairn_stop_free(struct cairn_stop *stop);

enum cairn_start {
    CAIRN_START_AUTO,   /* resume the newest run of this workflow and params if it is
                           unfinished, else start a new one; EUSAGE if that run is of a
                           workflow of the same name whose file in another directory is
                           still there */
    CAIRN_START_FRESH,  /* always a new run */
    CAIRN_START_RESUME, /* resume `run` (0: the newest of this workflow) */
    CAIRN_START_FROM    /* a new run that forks from checkpoint `from` */
};
enum cairn_on_change { CAIRN_RERUN, CAIRN_KEEP, CAIRN_REFUSE };
/* What must hold for declared outputs of finished tasks. CHANGED: their sizes, times
 * and inodes are as recorded, or else their content is; CONTENT: their content,
 * whatever their times say; EXIST: they are there. */
enum cairn_check_outputs {
    CAIRN_OUTPUTS_CHANGED,
    CAIRN_OUTPUTS_CONTENT,
    CAIRN_OUTPUTS_EXIST
};
/* What the failure of a task does to the run: what its file says; or: stop, or go on,
 * regardless of the file (then nothing is undone). */
enum cairn_on_failure {
    CAIRN_FAILURE_AS_WRITTEN,
    CAIRN_FAILURE_STOPS,
    CAIRN_FAILURE_GOES_ON
};
enum cairn_saving { CAIRN_BEST_EFFORT, CAIRN_REQUIRED };

enum cairn_event_kind {
    CAIRN_EVENT_RUN_STARTED,   /* text: what was decided (new run, resumed, ...) */
    CAIRN_EVENT_NOTICE,        /* text: something the user should know */
    CAIRN_EVENT_TASK_STARTED,  /* after its intent is durable */
    CAIRN_EVENT_TASK_RETRY,    /* an attempt failed; text: why, next_ms: the delay */
    CAIRN_EVENT_TASK_FINISHED, /* after its checkpoint is durable */
    CAIRN_EVENT_DEGRADED,      /* checkpoints cannot be saved; text: why */
    CAIRN_EVENT_RECOVERED,     /* checkpoints can be saved again */
    CAIRN_EVENT_STOPPING,      /* a stop was requested */
    CAIRN_EVENT_TICK,          /* about every 200 ms, for progress displays */
    CAIRN_EVENT_RUN_FINISHED,
    CAIRN_EVENT_TASK_WAITING, /* an external task can be done now; text: what to do */
    CAIRN_EVENT_TASK_UNDO,    /* the `undo` of a task ended; outcome UNDONE or FAILED */
    CAIRN_EVENT_TASK_OUTPUT,  /* with `stream_output`: whole lines of a running task, in
                                 output[0] or output[1] */
    CAIRN_EVENT_DISK_FULL, /* a process failed, and the disk that it works on is full,
                               or that of the store where it wrote its output; once
                               per run, text: which */
    CAIRN_EVENT_TASK_LINE, /* with `last_lines`: the log of a running task has grown;
                                   its last bytes, at most 1 KiB, in output[0] or
                                   output[1] */
    CAIRN_EVENT_TASK_READING, /* declared files of a task, too large to be read at once,
                                are read now, before it starts (inputs) or after it has
                                ended (outputs); text: the first of them */
    CAIRN_EVENT_TASK_ROUND /* an attempt of a task with `repeat` completed, and another
                                 follows; text: why, next_ms: the delay */
};

struct cairn_event_output { /* bytes that a task wrote; n 0: none, or not kept */
    const char *bytes;
    size_t n;
    uint64_t gap;  /* so many are missing ... */
    size_t gap_at; /* ... here, an offset in `bytes` */
};

struct cairn_event {
    enum cairn_event_kind kind;
    uint64_t run;
    int64_t time_ns;
    const char *task; /* id, or NULL */
    uint32_t node;    /* its index */
    uint32_t attempt; /* from 1 */
    enum cairn_outcome outcome;
    int exit_code;        /* -1: none */
    int signal;           /* 0: none */
    bool timed_out;       /* ended because of its timeout */
    int64_t duration_ms;  /* of the attempt */
    int64_t reading_ms;   /* beside that: how long its declared files were read */
    int64_t next_ms;      /* delay before the next attempt */
    uint64_t checkpoint;  /* seq of the checkpoint that recorded it, 0: none */
    const char *text;     /* message or NULL */
    const char *tail;     /* last lines of output of a failed attempt, or NULL */
    size_t tail_bytes;    /* length of tail */
    uint32_t done, total; /* tasks with a final outcome; all tasks */
    uint32_t running;     /* processes alive now */
    /* What the attempt wrote: all that is kept of it when it has ended, without what
     * TASK_OUTPUT has told. Without secrets. The first is its log, or where the task
     * wants its stderr apart, its stdout; then the second is its stderr. */
    struct cairn_event_output output[2];
    bool stopping; /* of a TICK: after a failure, or a wish to stop, nothing new starts
                    */
    uint32_t left; /* ... but for so many tasks, those that run now among them */
};
/* Called on the thread that called cairn_run. */
typedef void cairn_observe_fn(void *context, const struct cairn_event *event);

struct cairn_run_options { /* zero is the default everywhere */
    size_t size;           /* of this struct, or 0 */
    enum cairn_start start;
    uint64_t run;     /* for RESUME */
    const char *from; /* for FROM: a checkpoint id */
    uint32_t jobs;    /* 0: the workflow's, or the number of processors */
    enum cairn_on_change on_change;
    enum cairn_check_outputs check_outputs;
    enum cairn_saving saving;
    uint64_t output_limit; /* kept bytes of the log of an attempt, or of each stream
                              where they are apart; 0: 1 MiB; at most 1 GiB */
    uint32_t keep;         /* checkpoints kept at the end; 0: 50 */
    bool keep_all;         /* no retention */
    bool force;            /* also from a checkpoint that is labelled `broken` */
    bool no_wait; /* return, exit status 7, once only external tasks are left */
    const struct cairn_param *secrets; /* values of the workflow's secrets; those not */
    size_t n_secrets;                  /* listed come from the environment */
    bool ignore_outputs; /* plan only: skip the check of declared outputs */
    uint32_t task_files; /* soft limit of descriptors that tasks get, where the program
                            has raised its own (RLIMIT_NOFILE); 0: as the program */
    /* Only these tasks and what they need: ids, groups, patterns with * and ?; n_tasks
     * 0: all. What else would run waits for another call: with such tasks left the run
     * stays unfinished, and its `finally` waits, too. Not stored with the run. */
    const char *const *tasks;
    size_t n_tasks;
    bool again; /* `tasks` run again even if they have completed, and what comes after
                   them; the rest of those needs what it needs */
    bool only;  /* with `again`: without what comes after them */
    enum cairn_on_failure on_failure;
    bool stream_output; /* TASK_OUTPUT events, about five times a second */
    bool last_lines;    /* TASK_LINE events, right before the TICK */
    struct cairn_stop *stop;
    cairn_observe_fn *observe;
    void *observe_context;
    uint32_t memory_mib; /* that tasks which run have together (cairn_task.memory_mib);
                            0: as the workflow says, or what the machine has */
    bool no_reuse;       /* tasks with `reuse` run, whatever earlier runs have done */
    /* cairn_undo only: has the callbacks that undo the run's callbacks; NULL: none. */
    const struct cairn_registry *registry;
};

struct cairn_run_result {
    uint64_t run; /* number, 0 without a store */
    enum cairn_run_state state;
    bool nothing_to_do;
    uint32_t total, completed, failed, skipped, cancelled, pending;
    uint32_t undone, unknown; /* unknown ones are also in `pending` */
    uint32_t excluded;        /* also in `skipped`: their own condition was not met */
    uint32_t waiting;         /* external tasks that can be done now */
    uint32_t failed_undos;    /* `undo` commands of this call that failed */
    uint32_t attempts;        /* processes or calls started by this call */
    uint32_t unsaved;         /* outcomes that could not be stored */
    bool end_unsaved;     /* the end of the run could not be stored; resuming is safe */
    bool damaged;         /* damaged records were found and skipped */
    int exit_status;      /* 0, 1, 7, 8 or 9; where several hold: 8, 9, 1, 7 */
    uint32_t left_behind; /* callbacks that may still run, and use what they got */
    uint32_t lost_outputs; /* attempts whose output could not be kept */
    uint32_t not_chosen;   /* tasks that wait because they were not among `tasks` */
    uint32_t gone;         /* failed members of a `glob` whose file is gone */
};

/* Starts or resumes a run of the workflow, and returns when it has completed, failed or
 * been stopped. Without a store (NULL) nothing is recorded and nothing can be resumed.
 * Returns 0 if the run took place, whatever became of its tasks: see
 * result->exit_status.
 *
 * A callback whose time limit and grace are over fails its attempt, and one that has
 * not ended when the grace after a second stop is over is cancelled. Neither can be
 * ended: it is left behind, on its thread, and counted in result->left_behind. */
CAIRN_API int cairn_run(struct cairn_workflow *workflow, struct cairn_store *store,
                        const struct cairn_run_options *options,
                        struct cairn_run_result *result, struct cairn_error *error);

/* What a callback may ask about the attempt that it carries out. */
CAIRN_API const char *cairn_attempt_task(const struct cairn_attempt *attempt);
CAIRN_API uint32_t cairn_attempt_number(const struct cairn_attempt *attempt);
/* The run is being stopped, or the attempt has reached its time limit: its callback
 * should return soon. From any thread. */
CAIRN_API bool cairn_attempt_stopped(const struct cairn_attempt *attempt);
/* Sets a value of the attempt, as a process does by $CAIRN_OUTPUT (the same names and
 * limits: 1,000 values, 1 MiB in all); of several with one name the last one counts. It
 * is stored with the end of the attempt, in one transaction, if that completes, and
 * then survives what memory does not: a kill, a restart. From any thread, until the
 * attempt is finished. EUSAGE, ELIMIT. */
CAIRN_API int cairn_attempt_set(struct cairn_attempt *attempt, const char *name,
                                const char *value, struct cairn_error *error);
/* The value that a task has set (or written to $CAIRN_OUTPUT) which this attempt's task
 * names in `needs`. The text lives as long as the attempt's handle. ENOTFOUND: it has
 * set none of this name, or is not needed. */
CAIRN_API int cairn_attempt_get(const struct cairn_attempt *attempt, const char *task,
                                const char *name, const char **value,
                                struct cairn_error *error);
/* The message of the attempt, which is stored with its end, whatever its outcome; NULL:
 * none. That of cairn_attempt_finish takes its place. */
CAIRN_API int cairn_attempt_message(struct cairn_attempt *attempt, const char *text,
                                    struct cairn_error *error);
/* An argument of the attempt's task (`with`), with the values put in; NULL: it has none of
 * this name. The text lives as long as the attempt's handle. */
CAIRN_API const char *cairn_attempt_argument(const struct cairn_attempt *attempt,
                                             const char *name);
/* Finishes an attempt whose callback returned LATER; from any thread, once. `text`
 * (may be NULL) is stored as its message. The handle is invalid after the call. An
 * attempt that was left behind is finished in the same way, also after cairn_run has
 * returned, which frees it; what it answers is ignored. */
CAIRN_API void cairn_attempt_finish(struct cairn_attempt *attempt,
                                    enum cairn_outcome outcome, const char *text);

enum cairn_cancelling { CAIRN_CANCEL_ASKED = 1, CAIRN_CANCEL_MARKED };
/* Asks the owner of a live run to stop; undoing and `finally` go on to their end. An
 * unfinished run without an owner is marked cancelled, unless another run of its
 * workflow is live: EOWNED. EUSAGE: it has ended. `how` (may be NULL): which of the two it was.
 */
CAIRN_API int cairn_cancel(struct cairn_store *store, uint64_t run,
                           enum cairn_cancelling *how, struct cairn_error *error);

/* Runs the `undo` commands and callbacks of completed tasks of a run, in reverse order,
 * with a checkpoint after each: of `tasks` (ids), or of all with n 0. Undone tasks run
 * again when the run is resumed. ENOTFOUND, EUSAGE (no such task, or it has not completed
 * or has no undo, or it is a callback that options->registry does not have: then nothing
 * is undone), EOWNED. result->failed_undos counts those that failed; exit_status is
 * then 1. A first stop lets all of them finish, a second one ends them. */
CAIRN_API int cairn_undo(struct cairn_store *store, uint64_t run,
                         const char *const *tasks, size_t n,
                         const struct cairn_run_options *options,
                         struct cairn_run_result *result, struct cairn_error *error);

enum cairn_resolution {
    CAIRN_RESOLVED_DONE = 1,
    CAIRN_RESOLVED_FAILED,
    CAIRN_RESOLVED_RERUN
};
/* Decides the outcome of an unknown task. Durable when it returns 0: applied by the
 * owner of the run, or recorded by this call if no process owns it. EUSAGE if the task
 * is not unknown; EBUSY: stored, but the owner has not applied it in time. */
CAIRN_API int cairn_resolve(struct cairn_store *store, uint64_t run, const char *task,
                            enum cairn_resolution resolution,
                            struct cairn_error *error);

/* ---- External tasks, which a person or another program carries out ---- */

struct cairn_next_info {
    uint64_t run;
    const char *task;
    uint32_t node;
    const char *text;      /* what to do */
    bool claimed;          /* someone holds it; else it can be claimed */
    const char *holder;    /* who, or NULL */
    int64_t lease_left_ms; /* 0: not claimed */
    int64_t claimed_ns;    /* UTC; 0: not claimed */
    uint32_t
        leases_lost; /* that ran out before anybody reported, since it is offered */
};

/* External tasks of an unfinished run (0: as for cairn_run_get) that can be done now;
 * with `claimed`, also those that are claimed. */
CAIRN_API int cairn_next(struct cairn_store *store, uint64_t run, bool claimed,
                         int (*each)(void *, const struct cairn_next_info *),
                         void *context, struct cairn_error *error);

#define CAIRN_CLAIM_MAX 40 /* bytes of a claim's token, with the final NUL */

/* Claims an external task for `lease_ms` (more than 0). One of which 10 leases were
 * lost has failed instead (EUSAGE): the task itself may be killing its workers. `holder` is a
 * name for people (NULL: user@host). Only one caller wins: EOWNED, naming the holder,
 * while a lease runs; EUSAGE if the task is not external or cannot be done now. */
CAIRN_API int cairn_claim(struct cairn_store *store, uint64_t run, const char *task,
                          int64_t lease_ms, const char *holder,
                          char token[CAIRN_CLAIM_MAX], struct cairn_error *error);
/* What cairn_claim_any has claimed. */
struct cairn_claimed {
    uint64_t run;
    uint32_t node;
    const char *task, *text; /* text: what to do */
    char token[CAIRN_CLAIM_MAX];
};

/* Claims one of the external tasks of a run (0: as for cairn_run_get) that can be done
 * now and that nobody has: the first in file order. Chosen and claimed in one
 * transaction, so of many who call it each gets a task of its own. *out NULL: there is
 * none now. */
CAIRN_API int cairn_claim_any(struct cairn_claimed **out, struct cairn_store *store,
                              uint64_t run, int64_t lease_ms, const char *holder,
                              struct cairn_error *error);
CAIRN_API void cairn_claimed_free(struct cairn_claimed *claimed);
/* Extends the lease of a claim to `lease_ms` from now; 0 gives the task back, for others
 * to claim, and does not count as a lease that ran out. EOWNED: the lease is
 * over, or the claim is void because something before the task ran again; EUSAGE: the
 * task was ended with this token. */
CAIRN_API int cairn_renew(struct cairn_store *store, uint64_t run, const char *task,
                          const char *token, int64_t lease_ms,
                          struct cairn_error *error);
/* Completes an external task with values for later tasks, or fails it. `token` is that
 * of the claim, or NULL for a task that was never claimed. EOWNED: the lease has
 * expired or someone else holds the task. Durable when it returns 0, as cairn_resolve.
 * A task that was claimed before its run failed or was cancelled can be completed with
 * its token: that counts when the run goes on, unless the task was edited, or what it
 * needs ends anew. */
CAIRN_API int cairn_complete(struct cairn_store *store, uint64_t run, const char *task,
                             const char *token, const struct cairn_param *values,
                             size_t n_values, struct cairn_error *error);
CAIRN_API int cairn_fail(struct cairn_store *store, uint64_t run, const char *task,
                         const char *token, const char *message,
                         struct cairn_error *error);

/* Tasks for a run, beside those of its file: a text like that of a workflow file (YAML or
 * JSON) with nothing but `tasks`. They may need the tasks that the run has. */
struct cairn_addition {
    size_t size; /* of this struct, or 0 */
    const char *text;
    size_t length;
    const char *name; /* of the text, for messages; NULL: "addition" */
    const char *by;   /* who adds them; NULL: user@host */
    /* Values of secrets, before those of the environment: of each that the workflow
     * declares one is needed, for the text is refused if a value is in it. */
    const struct cairn_param *secrets;
    size_t n_secrets;
};
struct cairn_added {
    uint64_t run;
    uint32_t tasks; /* how many, members of groups counted */
    bool live;      /* the run has an owner, ... */
    bool taken;     /* which goes on with them; else they run when the run goes on */
    bool same;      /* this very text was added before: nothing is done */
};
/* Adds all of them to a run (0: as for cairn_run_get), or none: CAIRN_EWORKFLOW with the
 * place, if they are not right behind the run's file and all that was added before.
 * The file stays as it is; the run remembers them: cairn_plan and cairn_run take them
 * with its file, also after an edit of that, for this run alone. CAIRN_ELIMIT,
 * CAIRN_ENOTFOUND; CAIRN_EUSAGE: the run has no file, or a secret is not given, or its
 * value is in the text, also one that only the run's owner knows. `added` may be NULL. */
CAIRN_API int cairn_add(struct cairn_store *store, uint64_t run,
                        const struct cairn_addition *addition,
                        struct cairn_added *added, struct cairn_error *error);
/* Takes added tasks back, all of them or none: by their names in what was added, groups
 * as a whole. What they made is stale then, as of tasks that were taken out of the file.
 * Where the run is live, its owner is waited for, and they are skipped. `by`: NULL:
 * user@host. CAIRN_EWORKFLOW: something needs one of them. CAIRN_ENOTFOUND: none of that
 * name was added. CAIRN_EOWNED: one of them has started in a live run, or another run of
 * the workflow is live. CAIRN_EBUSY: the owner has not answered; nothing is withdrawn. */
CAIRN_API int cairn_withdraw(struct cairn_store *store, uint64_t run,
                             const char *const *tasks, size_t n, const char *by,
                             struct cairn_error *error);
/* How many added tasks of a run (its number) wait until it goes on, groups counted as
 * one: also of a run that has completed. 0: nothing was added, or the run has taken all of it up. */
CAIRN_API int cairn_added_waiting(struct cairn_store *store, uint64_t run, uint32_t *n,
                                  struct cairn_error *error);

/* ---- A run whose tasks another program carries out ----
 *
 * The checkpoint service on its own, for programs that run tasks themselves. */

/* Owns a new run of a workflow, and saves outcomes in it. */
struct cairn_recorder;

struct cairn_change {
    uint32_t task; /* index in the workflow */
    enum cairn_outcome outcome;
    uint32_t attempts; /* 0 means 1 */
};

/* Starts the run. CAIRN_EOWNED if another run owns the workflow. The store must outlive
 * the recorder. */
CAIRN_API int cairn_recorder_open(struct cairn_recorder **out,
                                  struct cairn_workflow *workflow,
                                  struct cairn_store *store, struct cairn_error *error);
/* Saves a checkpoint with these changes: durable when it returns 0, at the sync level
 * of the store. `id` (may be NULL) receives the id of the checkpoint. */
CAIRN_API int cairn_recorder_save(struct cairn_recorder *recorder,
                                  const struct cairn_change *changes, size_t n,
                                  char id[CAIRN_ID_MAX], struct cairn_error *error);
/* Records the state of the run, gives up ownership and frees the recorder. */
CAIRN_API int cairn_recorder_close(struct cairn_recorder *recorder,
                                   enum cairn_run_state state,
                                   struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
