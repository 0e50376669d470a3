/* SPDX-License-Identifier: MIT
 *
 * cairn: run a graph of tasks and put down a durable, checksummed checkpoint
 * after every task.
 *
 * Conventions
 * - A function that can fail returns 0 or a negative CAIRN_E* code and fills the
 *   caller's `struct cairn_error` (may be NULL). On failure outputs are untouched.
 * - `cairn_X_free`/`cairn_X_close` accept NULL. Strings handed to a callback live
 *   until the callback returns; strings inside a `struct cairn_X_info` filled by a
 *   getter are arrays, so they live as long as the struct.
 * - Text is UTF-8 where it comes from a workflow file; task output is bytes.
 * - Times are nanoseconds since 1970-01-01 UTC (`_ns`) or milliseconds (`_ms`).
 * - A list callback returns 0 to go on, anything else to stop early (no error).
 * - The library never exits, prints, installs signal handlers or reaps children
 *   that are not its own. Handles are not thread-safe; use one per thread.
 *   cairn_stop_request and cairn_attempt_finish may be called from any thread.
 */
#ifndef CAIRN_H
#define CAIRN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CAIRN_API __attribute__((visibility("default")))
#else
#define CAIRN_API
#endif

/* ---- Errors ------------------------------------------------------------- */

enum cairn_code {
    CAIRN_OK = 0,
    CAIRN_EUSAGE = -1,     /* a wrong argument or option                  exit 2 */
    CAIRN_EWORKFLOW = -2,  /* the workflow is invalid                     exit 3 */
    CAIRN_ECHANGED = -3,   /* definition changed and that was refused     exit 4 */
    CAIRN_EDAMAGED = -4,   /* the store, or a record in it, is damaged    exit 5 */
    CAIRN_EOWNED = -5,     /* another run owns the workflow               exit 6 */
    CAIRN_ENOTFOUND = -6,  /* no such run, task or checkpoint             exit 10 */
    CAIRN_EBUSY = -7,      /* a lock wait ran out                         exit 75 */
    CAIRN_EIO = -8,        /* the system refused: I/O, space, permission  exit 75 */
    CAIRN_ENOMEM = -9,     /* out of memory                               exit 75 */
    CAIRN_ENEWER = -10,    /* the store is from a newer cairn             exit 75 */
    CAIRN_ELIMIT = -11,    /* a documented limit is exceeded              exit 3 */
    CAIRN_EAMBIGUOUS = -12 /* a short id matches several checkpoints      exit 2 */
};

struct cairn_error {
    int code;        /* enum cairn_code */
    int sys;         /* errno, or 0 */
    char text[1024]; /* what happened and what to do; may hold several lines */
};

CAIRN_API const char *cairn_version(void);
CAIRN_API const char *cairn_code_name(int code);
/* Exit status of the command for a code (docs/exit-codes.md). */
CAIRN_API int cairn_exit_status(int code);

/* ---- Store -------------------------------------------------------------- */

struct cairn_store;

enum cairn_sync { CAIRN_SYNC_FULL, CAIRN_SYNC_NORMAL, CAIRN_SYNC_OFF };

struct cairn_store_options {
    const char *path;     /* the `.cairn` directory; NULL: find it upward from cwd */
    bool create;          /* make it (in cwd when path is NULL) if there is none */
    bool read_only;       /* never writes, never repairs; works beside a live run */
    enum cairn_sync sync; /* zero is full */
    int lock_wait_ms;     /* longest wait for the write lock; 0: 30,000 */
    const char *key_file; /* its bytes (32 to 4096) are the key of HMACs; NULL: none */
};

/* Opens a store. CAIRN_ENOTFOUND if there is none and `create` is unset;
 * CAIRN_ENEWER for a store of a newer release, which is left untouched. With a key,
 * what is written carries an HMAC, and what does not carry one of this key counts as
 * damaged; runs that were recorded without a key are refused (CAIRN_EUSAGE). Writing to
 * a run that was recorded with a key needs it (CAIRN_EUSAGE); reading does not. */
CAIRN_API int cairn_store_open(struct cairn_store **out,
                               const struct cairn_store_options *options,
                               struct cairn_error *error);
CAIRN_API void cairn_store_close(struct cairn_store *store);
CAIRN_API const char *cairn_store_path(const struct cairn_store *store);

/* ---- Workflow ----------------------------------------------------------- */

struct cairn_workflow;
struct cairn_attempt;

struct cairn_param {
    const char *name, *value;
};

/* Loads a workflow file (YAML or JSON; docs/workflow-file.md), expands foreach and
 * checks everything. CAIRN_EWORKFLOW: error->text has file:line:column, the
 * offending line with a caret and a remedy. `params` override the file's. */
CAIRN_API int cairn_workflow_load(struct cairn_workflow **out, const char *path,
                                  const struct cairn_param *params, size_t n_params,
                                  struct cairn_error *error);
/* The same from memory; `name` stands for the file in messages. */
CAIRN_API int cairn_workflow_parse(struct cairn_workflow **out, const char *text,
                                   size_t length, const char *name,
                                   const struct cairn_param *params, size_t n_params,
                                   struct cairn_error *error);
/* The workflow of a stored run (0: the newest): its file as it is now, with the
 * recorded params and foreach members; the stored definition when the file is gone,
 * which `*from_file` (may be NULL) tells. */
CAIRN_API int cairn_workflow_of_run(struct cairn_workflow **out,
                                    struct cairn_store *store, uint64_t run,
                                    bool *from_file, struct cairn_error *error);
/* An empty workflow to build in memory. `name` is its identity in a store. */
CAIRN_API int cairn_workflow_new(struct cairn_workflow **out, const char *name,
                                 struct cairn_error *error);
CAIRN_API void cairn_workflow_free(struct cairn_workflow *workflow);

enum cairn_outcome {
    CAIRN_PENDING = 0, /* no final outcome yet */
    CAIRN_COMPLETED = 1,
    CAIRN_FAILED = 2,
    CAIRN_SKIPPED = 3, /* it could not run: what it needs failed or was skipped */
    CAIRN_CANCELLED = 4,
    CAIRN_UNDONE = 5,   /* had completed; its `undo` has run since */
    CAIRN_UNKNOWN = 6,  /* `once`, and interrupted: cairn_resolve decides */
    CAIRN_EXCLUDED = 7, /* its condition (`if`, `when`) was not met */
    CAIRN_LATER = 100   /* from a callback: cairn_attempt_finish will tell */
};
CAIRN_API const char *cairn_outcome_name(enum cairn_outcome outcome);

/* A task in process. Runs on the thread that called cairn_run; returns COMPLETED,
 * FAILED or LATER. */
typedef enum cairn_outcome cairn_task_fn(void *context, struct cairn_attempt *attempt);

struct cairn_task {           /* zero what is not needed; everything is copied */
    const char *id;           /* [A-Za-z0-9_.-]+, at most 200 bytes */
    const char *const *argv;  /* NULL-terminated; exactly one of argv, run, */
    const char *run;          /* text for `sh -eu -c`, and */
    cairn_task_fn *call;      /* callback is given */
    void *context;            /* for call */
    const char *version;      /* of a callback: a change makes the task run again */
    const char *const *needs; /* NULL-terminated ids of tasks added before */
    const char *const *outputs;
    const char *const *env; /* "NAME=value", NULL-terminated, no name twice */
    const char *cwd;
    int64_t timeout_ms; /* 0: none */
    int64_t grace_ms;   /* between TERM and KILL; 0: 10,000 */
    uint32_t retries;
    int32_t priority; /* higher first */
};
CAIRN_API int cairn_workflow_add(struct cairn_workflow *workflow,
                                 const struct cairn_task *task,
                                 struct cairn_error *error);

CAIRN_API const char *cairn_workflow_name(const struct cairn_workflow *workflow);

/* Nodes: tasks have indexes 0..tasks-1, the barrier nodes of groups follow. Each
 * need on a whole foreach group leads to its one barrier. */
struct cairn_node_info {
    const char *id;      /* until the workflow is freed */
    const char *group;   /* the task's name in the file; differs for members */
    const char *command; /* run text, or argv joined by spaces; "" for barriers; NULL:
                            there was no memory for it */
    bool barrier;
    uint32_t needs;       /* number of direct needs */
    bool undo;            /* it has an `undo` */
    bool finally;         /* it belongs to `finally` */
    const char *external; /* what is to be done, or NULL */
};
/* Checks and compiles; later additions are refused. Called by whatever needs it. */
CAIRN_API int cairn_workflow_compile(struct cairn_workflow *workflow,
                                     struct cairn_error *error);
CAIRN_API uint32_t cairn_workflow_tasks(const struct cairn_workflow *workflow);
CAIRN_API uint32_t cairn_workflow_nodes(const struct cairn_workflow *workflow);
CAIRN_API uint64_t cairn_workflow_edges(const struct cairn_workflow *workflow);
CAIRN_API int cairn_workflow_node(const struct cairn_workflow *workflow, uint32_t node,
                                  struct cairn_node_info *info);
/* The i-th direct need of a node, as a node index. */
CAIRN_API uint32_t cairn_workflow_need(const struct cairn_workflow *workflow,
                                       uint32_t node, uint32_t i);
/* Index of a task by id, or UINT32_MAX. */
CAIRN_API uint32_t cairn_workflow_find(const struct cairn_workflow *workflow,
                                       const char *id);
/* The i-th warning (file:line:column: text), NULL past the end. */
CAIRN_API const char *cairn_workflow_warning(const struct cairn_workflow *workflow,
                                             size_t i);

/* ---- Running ------------------------------------------------------------ */

/* Asks a run to stop. cairn_stop_request is async-signal-safe: the first call stops
 * politely (TERM, grace, KILL; cancelled attempts run again on resume), the second
 * kills at once. */
struct cairn_stop;
CAIRN_API int cairn_stop_new(struct cairn_stop **out, struct cairn_error *error);
CAIRN_API void cairn_stop_request(struct cairn_stop *stop);
CAIRN_API void cairn_stop_free(struct cairn_stop *stop);

enum cairn_start {
    CAIRN_START_AUTO,   /* go on with the newest run of this workflow and params if it
                           is unfinished, else start the next one */
    CAIRN_START_FRESH,  /* always a new run */
    CAIRN_START_RESUME, /* go on with `run` (0: the newest of this workflow) */
    CAIRN_START_FROM    /* a new run that forks from checkpoint `from` */
};
enum cairn_on_change { CAIRN_RERUN, CAIRN_KEEP, CAIRN_REFUSE };
enum cairn_check_outputs { CAIRN_OUTPUTS_EXIST, CAIRN_OUTPUTS_CONTENT };
enum cairn_saving { CAIRN_BEST_EFFORT, CAIRN_REQUIRED };

enum cairn_event_kind {
    CAIRN_EVENT_RUN_STARTED,   /* text: what was decided (new run, goes on, ...) */
    CAIRN_EVENT_NOTICE,        /* text: something the user should know */
    CAIRN_EVENT_TASK_STARTED,  /* after its intent is durable */
    CAIRN_EVENT_TASK_RETRY,    /* an attempt failed; text says why, next_ms when */
    CAIRN_EVENT_TASK_FINISHED, /* after its checkpoint is durable */
    CAIRN_EVENT_DEGRADED,      /* checkpoints cannot be saved; text says why */
    CAIRN_EVENT_RECOVERED,     /* saving works again */
    CAIRN_EVENT_STOPPING,      /* a stop was requested */
    CAIRN_EVENT_TICK,          /* about every 200 ms, for progress displays */
    CAIRN_EVENT_RUN_FINISHED,
    CAIRN_EVENT_TASK_WAITING, /* an external task can be done now; text says what */
    CAIRN_EVENT_TASK_UNDO,    /* the `undo` of a task ended; outcome UNDONE or FAILED */
    CAIRN_EVENT_DISK_FULL     /* a process failed where no room is left for its output;
                                 once in a run, text says where */
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
    int64_t next_ms;      /* delay before the next attempt */
    uint64_t checkpoint;  /* seq of the checkpoint that recorded it, 0: none */
    const char *text;     /* message or NULL */
    const char *tail;     /* last lines of output of a failed attempt, or NULL */
    size_t tail_bytes;    /* length of tail */
    uint32_t done, total; /* tasks with a final outcome; all tasks */
    uint32_t running;     /* processes alive now */
};
typedef void cairn_observe_fn(void *context, const struct cairn_event *event);

struct cairn_run_options { /* zero is the default everywhere */
    enum cairn_start start;
    uint64_t run;     /* for RESUME */
    const char *from; /* for FROM: a checkpoint id */
    uint32_t jobs;    /* 0: the workflow's, or the number of processors */
    enum cairn_on_change on_change;
    enum cairn_check_outputs check_outputs;
    enum cairn_saving saving;
    uint64_t output_limit; /* kept bytes per stream of an attempt; 0: 1 MiB */
    uint32_t keep;         /* checkpoints kept at the end; 0: 50 */
    bool keep_all;         /* no retention */
    bool no_wait; /* end, with exit status 7, when only external tasks can go on */
    const struct cairn_param
        *secrets;        /* values of the workflow's secrets; those that */
    size_t n_secrets;    /* are not here come from the environment */
    bool ignore_outputs; /* plan only: skip the check of declared outputs */
    struct cairn_stop *stop;
    cairn_observe_fn *observe;
    void *observe_context;
};

enum cairn_run_state {
    CAIRN_RUN_UNFINISHED = 0, /* running, or interrupted when nobody owns it */
    CAIRN_RUN_COMPLETED = 1,
    CAIRN_RUN_FAILED = 2,
    CAIRN_RUN_CANCELLED = 3,
    CAIRN_RUN_UNDONE = 4 /* tasks of it were undone afterwards (cairn_undo) */
};
CAIRN_API const char *cairn_run_state_name(enum cairn_run_state state);

struct cairn_run_result {
    uint64_t run; /* number, 0 without a store */
    enum cairn_run_state state;
    bool nothing_to_do;
    uint32_t total, completed, failed, skipped, cancelled, pending;
    uint32_t undone, unknown; /* unknown ones are among `pending` */
    uint32_t excluded;        /* among `skipped`: by their own condition */
    uint32_t waiting;         /* external tasks that can be done now */
    uint32_t failed_undos;    /* `undo` commands of this call that failed */
    uint32_t attempts;        /* processes or calls started by this call */
    uint32_t unsaved;         /* outcomes that could not be stored */
    bool end_unsaved; /* the end of the run could not be stored; resuming it is safe */
    bool damaged;     /* damaged records were found and stepped over */
    int exit_status;  /* 0, 1, 7, 8 or 9; where several hold: 8, 9, 1, 7 */
};

/* Runs or goes on with a workflow until it is finished, failed or stopped. Without
 * a store (NULL) nothing is kept and nothing can be resumed. Returns 0 when the run
 * took place, whatever the outcome of its tasks: see result->exit_status. */
CAIRN_API int cairn_run(struct cairn_workflow *workflow, struct cairn_store *store,
                        const struct cairn_run_options *options,
                        struct cairn_run_result *result, struct cairn_error *error);

/* For callbacks. */
CAIRN_API const char *cairn_attempt_task(const struct cairn_attempt *attempt);
CAIRN_API uint32_t cairn_attempt_number(const struct cairn_attempt *attempt);
/* Finishes an attempt whose callback returned LATER; from any thread, once. `text`
 * (may be NULL) is kept as the message. The handle ends with the call. */
CAIRN_API void cairn_attempt_finish(struct cairn_attempt *attempt,
                                    enum cairn_outcome outcome, const char *text);

/* ---- Plan and explain --------------------------------------------------- */

struct cairn_plan;
enum cairn_will { CAIRN_WILL_NOT, CAIRN_WILL, CAIRN_MAY };
enum cairn_reason {
    CAIRN_REASON_DONE, /* completed and unchanged */
    CAIRN_REASON_NEVER_RAN,
    CAIRN_REASON_FAILED, /* last time */
    CAIRN_REASON_CANCELLED,
    CAIRN_REASON_SKIPPED,      /* last time, because a need failed */
    CAIRN_REASON_INTERRUPTED,  /* started, no end recorded */
    CAIRN_REASON_DAMAGED,      /* the record of its end is damaged */
    CAIRN_REASON_CHANGED,      /* its definition; detail names the fields */
    CAIRN_REASON_OUTPUT,       /* a declared output is missing or differs */
    CAIRN_REASON_UPSTREAM,     /* `cause` runs again */
    CAIRN_REASON_KEPT,         /* completed, changed since, kept by CAIRN_KEEP */
    CAIRN_REASON_INPUT,        /* the content of a declared input differs */
    CAIRN_REASON_SECRET,       /* the value of a secret that it uses differs */
    CAIRN_REASON_UNDONE,       /* it was undone */
    CAIRN_REASON_UNKNOWN,      /* it waits for a decision (cairn_resolve) */
    CAIRN_REASON_EXCLUDED,     /* its condition is not met */
    CAIRN_REASON_NEED_SKIPPED, /* `cause`, which it needs, does not complete */
    CAIRN_REASON_HANDLED,      /* it failed, and a task with `when: failed` took care */
    CAIRN_REASON_ADOPTED,      /* its attempt outlived the run, and is taken over */
    CAIRN_REASON_LAST = CAIRN_REASON_ADOPTED
};
/* WILL: it runs, unless something fails first or the run is stopped. MAY: whether it
 * runs depends on a condition, on a task that failed last time, on a decision or on
 * somebody outside; `detail` tells. */
struct cairn_decision {
    const char *task;
    uint32_t node;
    enum cairn_will will;
    enum cairn_reason reason;
    const char *cause;  /* task id for UPSTREAM, or NULL */
    const char *detail; /* a sentence for people; never NULL */
};
CAIRN_API const char *cairn_reason_name(enum cairn_reason reason);
/* Decides, without doing anything, what cairn_run would do with these options. Needs
 * no write access. `store` may be NULL: everything runs. */
CAIRN_API int cairn_plan(struct cairn_plan **out, struct cairn_workflow *workflow,
                         struct cairn_store *store,
                         const struct cairn_run_options *options,
                         struct cairn_error *error);
CAIRN_API void cairn_plan_free(struct cairn_plan *plan);
/* The run it goes on with, or 0 for a new one. */
CAIRN_API uint64_t cairn_plan_run(const struct cairn_plan *plan);
CAIRN_API uint32_t cairn_plan_tasks(const struct cairn_plan *plan);
/* How many run, and how many may. */
CAIRN_API uint32_t cairn_plan_will(const struct cairn_plan *plan);
CAIRN_API uint32_t cairn_plan_may(const struct cairn_plan *plan);
/* What changed in the definition of a task, or in what it reads: field ("command", "env
 * LC_ALL", "needs", "input a.csv", ...) with its old and new value; NULL: there was, or
 * is, none. Values of secrets are never told. */
CAIRN_API int cairn_plan_changes(const struct cairn_plan *plan, uint32_t node,
                                 int (*each)(void *, const char *field, const char *old,
                                             const char *now),
                                 void *context, struct cairn_error *error);
CAIRN_API void cairn_plan_get(const struct cairn_plan *plan, uint32_t node,
                              struct cairn_decision *decision);
/* The i-th notice (skipped damaged checkpoints, vanished tasks), NULL past the end. */
CAIRN_API const char *cairn_plan_notice(const struct cairn_plan *plan, size_t i);

/* ---- Runs, tasks, output ------------------------------------------------ */

struct cairn_run_info {
    uint64_t run;
    char workflow[256];
    char file[4096];   /* absolute path, "" for one built in memory */
    char params[1024]; /* "name=value ..." for display, cut if longer */
    enum cairn_run_state state;
    bool live; /* owned by a running process now */
    int64_t owner_pid;
    char owner_host[64];
    int64_t started_ns, ended_ns; /* ended_ns 0: not ended */
    uint64_t from_run;            /* forked from, 0: none */
    uint64_t from_seq;
    uint64_t checkpoint; /* newest checkpoint, 0: none */
    uint32_t total, completed, failed, skipped, cancelled, running;
    uint32_t unsaved;         /* degraded: outcomes not yet stored, as last reported */
    uint32_t undone, unknown; /* no final outcomes */
    uint32_t excluded;        /* among `skipped`: by their own condition */
    uint32_t damaged; /* checkpoints that are damaged, and were passed over for this */
    bool keyed;       /* recorded with a key: it can be gone on with only with that */
};
struct cairn_page {
    uint32_t limit; /* 0: 10; at most 100 unless `all` */
    uint64_t offset;
    bool oldest_first;
    bool all;
};
/* Runs, newest first; `workflow` NULL: all. `total` (may be NULL): how many match. */
CAIRN_API int cairn_runs(struct cairn_store *store, const char *workflow,
                         const struct cairn_page *page,
                         int (*each)(void *, const struct cairn_run_info *),
                         void *context, uint64_t *total, struct cairn_error *error);
/* One run; 0: the newest. */
CAIRN_API int cairn_run_get(struct cairn_store *store, uint64_t run,
                            struct cairn_run_info *out, struct cairn_error *error);
/* The same; but of a run that has no valid checkpoint, or that is not to be believed,
 * what its row says, without counts and a checkpoint: as cairn_runs shows it. */
CAIRN_API int cairn_run_look(struct cairn_store *store, uint64_t run,
                             struct cairn_run_info *out, struct cairn_error *error);
/* Every param of a run (0: the newest), by name. */
CAIRN_API int cairn_run_params(struct cairn_store *store, uint64_t run,
                               int (*each)(void *, const char *name, const char *value),
                               void *context, struct cairn_error *error);
/* Could the run be resumed? 0 if so, else why not: ENOTFOUND (no such run), EDAMAGED
 * (no valid checkpoint), EOWNED (live), EUSAGE (recorded with a key, and the store was
 * opened without one, or the other way round). A finished run can ("nothing to do"). */
CAIRN_API int cairn_can_resume(struct cairn_store *store, uint64_t run,
                               struct cairn_error *error);

struct cairn_task_info {
    const char *id;
    uint32_t node;
    enum cairn_outcome outcome;
    bool running;                 /* an attempt is open and the run is live */
    bool interrupted;             /* an attempt is open and the run is not live */
    uint32_t attempts;            /* started so far */
    int64_t started_ns, ended_ns; /* of the newest attempt */
    int exit_code, signal;        /* of the newest attempt; -1 and 0: none */
    bool timed_out;
    int64_t cpu_ms, peak_kib;
    const char *text; /* message of the newest attempt, or NULL */
    bool check; /* it has one: if it is unknown, that decides when the run goes on */
    uint32_t failed_undo; /* attempt at its undo that failed last, 0: none */
};
/* Every task of a run in file order. */
CAIRN_API int cairn_run_tasks(struct cairn_store *store, uint64_t run,
                              int (*each)(void *, const struct cairn_task_info *),
                              void *context, struct cairn_error *error);

struct cairn_attempt_info {
    uint32_t attempt;
    bool open; /* no end recorded */
    enum cairn_outcome outcome;
    int exit_code, signal;
    bool timed_out;
    int64_t started_ns, ended_ns, cpu_ms, peak_kib;
    uint64_t stdout_bytes, stderr_bytes; /* as written, before the limit */
    const char *text;
    bool undo;     /* it ran the undo, not the task */
    bool check;    /* the task's check decided */
    bool external; /* somebody outside told how it ended */
};
/* Attempts of one task, oldest first. */
CAIRN_API int cairn_attempts(struct cairn_store *store, uint64_t run, const char *task,
                             int (*each)(void *, const struct cairn_attempt_info *),
                             void *context, struct cairn_error *error);
/* Output of an attempt (0: the newest), also while it runs. `stream` 1 or 2. Where
 * the middle was dropped, `gap_bytes` is not 0 in the first call after it. */
CAIRN_API int cairn_output(struct cairn_store *store, uint64_t run, const char *task,
                           uint32_t attempt, int stream,
                           int (*each)(void *, const char *bytes, size_t n,
                                       uint64_t gap_bytes),
                           void *context, struct cairn_error *error);
/* Asks the owner of a live run to stop; marks an unowned unfinished run cancelled. */
CAIRN_API int cairn_cancel(struct cairn_store *store, uint64_t run,
                           struct cairn_error *error);

/* Runs the `undo` commands of completed tasks of a run, in reverse order, with a
 * checkpoint after each: of `tasks` (ids), or of all with n 0. Undone tasks run again
 * when the run is resumed. ENOTFOUND, EUSAGE (no such task, or it has not completed or
 * has no undo), EOWNED. result->failed_undos tells how many failed; exit_status is 1
 * then. */
CAIRN_API int cairn_undo(struct cairn_store *store, uint64_t run,
                         const char *const *tasks, size_t n,
                         const struct cairn_run_options *options,
                         struct cairn_run_result *result, struct cairn_error *error);

enum cairn_resolution {
    CAIRN_RESOLVED_DONE = 1,
    CAIRN_RESOLVED_FAILED,
    CAIRN_RESOLVED_RERUN
};
/* Decides what became of an unknown task. Durable when it returns 0: taken by the
 * run's owner, or put down here if nobody owns it. EUSAGE if the task is not unknown;
 * EBUSY: stored, but the owner has not taken it in time. */
CAIRN_API int cairn_resolve(struct cairn_store *store, uint64_t run, const char *task,
                            enum cairn_resolution resolution,
                            struct cairn_error *error);

/* ---- External tasks ----------------------------------------------------- */

struct cairn_next_info {
    uint64_t run;
    const char *task;
    uint32_t node;
    const char *text;      /* what is to be done */
    bool claimed;          /* somebody has it; else it can be taken */
    const char *holder;    /* who, or NULL */
    int64_t lease_left_ms; /* 0: not claimed */
};
/* External tasks of an unfinished run (0: the newest) that can be done now; with
 * `claimed`, also those that somebody has taken. */
CAIRN_API int cairn_next(struct cairn_store *store, uint64_t run, bool claimed,
                         int (*each)(void *, const struct cairn_next_info *),
                         void *context, struct cairn_error *error);
#define CAIRN_CLAIM_MAX 40 /* bytes of a claim's token, with the final NUL */
/* Takes an external task for `lease_ms` (more than 0). `holder` (a name for people; may
 * be NULL: user@host). One winner: EOWNED, naming the holder, while a lease runs;
 * EUSAGE if the task is not external or cannot be done now. */
CAIRN_API int cairn_claim(struct cairn_store *store, uint64_t run, const char *task,
                          int64_t lease_ms, const char *holder,
                          char token[CAIRN_CLAIM_MAX], struct cairn_error *error);
/* Completes an external task with values for later tasks, or fails it. `token` is that
 * of the claim; NULL is good only for a task that was never claimed. EOWNED: the lease
 * is over or somebody else has the task. Durable as cairn_resolve. */
CAIRN_API int cairn_complete(struct cairn_store *store, uint64_t run, const char *task,
                             const char *token, const struct cairn_param *values,
                             size_t n_values, struct cairn_error *error);
CAIRN_API int cairn_fail(struct cairn_store *store, uint64_t run, const char *task,
                         const char *token, const char *message,
                         struct cairn_error *error);

/* ---- Why nothing goes on ------------------------------------------------- */

enum cairn_waits_for {
    CAIRN_WAITS_RUNNING = 1, /* it runs */
    CAIRN_WAITS_SLOT,        /* ready: for a free job, or for an owner to run it */
    CAIRN_WAITS_POOL,        /* ready: for room in its pool */
    CAIRN_WAITS_EXTERNAL,    /* for somebody to do it */
    CAIRN_WAITS_DECISION     /* unknown: for its check, or cairn_resolve */
};
struct cairn_waiting_info {
    const char *task;
    uint32_t node;
    enum cairn_waits_for waits_for;
    const char *text;      /* the pool, the external task's text, or NULL */
    int64_t since_ns;      /* when it started, 0: not known */
    uint32_t behind;       /* tasks that need it, directly or not, and have not ended */
    const char *holder;    /* who has claimed the external task, or NULL */
    int64_t lease_left_ms; /* 0: not claimed */
    bool check;            /* DECISION: its check decides when the run goes on */
};
/* Every task of a run (0: the newest) that could go on or goes on, with what it waits
 * for; those with most tasks behind them first. */
CAIRN_API int cairn_waiting(struct cairn_store *store, uint64_t run,
                            int (*each)(void *, const struct cairn_waiting_info *),
                            void *context, struct cairn_error *error);

/* ---- The audit log -------------------------------------------------------- */

struct cairn_log_event {
    uint64_t run, turn; /* events of one turn became durable together */
    int64_t time_ns;
    const char *kind;           /* "task_started", ...: docs/json.md */
    const char *task;           /* id, or NULL */
    uint32_t attempt;           /* 0: none */
    enum cairn_outcome outcome; /* PENDING: none */
    int exit_code, signal;      /* -1 and 0: none */
    uint64_t checkpoint;        /* seq, 0: none or pruned */
    const char *reason;         /* a short word, or NULL */
    const char *text;           /* for people, or NULL */
};
/* Everything that was decided in a run (0: the newest) in turns after `after`, in
 * order. The order of what was told never changes, and nothing is told before it is
 * durable: going on after the last turn seen follows a live run. `last` (may be NULL):
 * the newest turn. */
CAIRN_API int cairn_events(struct cairn_store *store, uint64_t run, uint64_t after,
                           int (*each)(void *, const struct cairn_log_event *),
                           void *context, uint64_t *last, struct cairn_error *error);

/* ---- Checkpoints -------------------------------------------------------- */

#define CAIRN_ID_MAX 48 /* bytes of a printed id, with the final NUL */

struct cairn_checkpoint_info {
    uint64_t seq;
    char id[CAIRN_ID_MAX]; /* workflow:42-9f3ac1d20b7e */
    char workflow[256];
    uint64_t run;
    uint64_t parent; /* seq, 0: the first of its stream or pruned */
    int64_t time_ns;
    bool full;
    bool head;         /* newest of its run */
    bool damaged;      /* then only seq, run and what the columns say is set */
    uint64_t position; /* number in its stream, from 1; 0 when damaged */
    uint32_t bytes;    /* stored size of the record */
    uint32_t changes;  /* outcomes in a delta */
    uint32_t total, completed, failed, skipped, cancelled; /* when `counted` */
    bool counted;
    char digest[65]; /* SHA-256 of the record, hex */
};
struct cairn_checkpoint_filter {
    const char *workflow; /* NULL: any */
    uint64_t run;         /* 0: any */
    struct cairn_page page;
};
/* Checkpoints by seq, newest first. With a key, CAIRN_EDAMAGED after the last one if
 * the row of a run is forged: what is told of its checkpoints is that they are damaged.
 */
CAIRN_API int cairn_checkpoint_list(
    struct cairn_store *store, const struct cairn_checkpoint_filter *filter,
    int (*each)(void *, const struct cairn_checkpoint_info *), void *context,
    uint64_t *total, struct cairn_error *error);
/* One checkpoint by id: `workflow:42-9f3ac1d20b7e`, `workflow:42`, `42`, or 4 or more
 * hex digits of its digest. Verified, rebuilt and counted. ENOTFOUND (also
 * where a record that it needs was deleted), EAMBIGUOUS or EDAMAGED otherwise; a digest
 * part that does not match is refused. */
CAIRN_API int cairn_checkpoint_get(struct cairn_store *store, const char *id,
                                   struct cairn_checkpoint_info *out,
                                   struct cairn_error *error);
/* The newest valid checkpoint of a workflow. `skipped` (may be NULL): how many newer
 * ones are damaged or cannot be rebuilt. */
CAIRN_API int cairn_checkpoint_latest(struct cairn_store *store, const char *workflow,
                                      struct cairn_checkpoint_info *out,
                                      uint32_t *skipped, struct cairn_error *error);
/* The outcome of every task as of a checkpoint. */
CAIRN_API int cairn_checkpoint_tasks(struct cairn_store *store, const char *id,
                                     int (*each)(void *, const char *task,
                                                 enum cairn_outcome outcome,
                                                 uint32_t attempts),
                                     void *context, struct cairn_error *error);

enum cairn_problem_kind {
    CAIRN_PROBLEM_DAMAGE, /* bytes are not as they were written, or are missing */
    CAIRN_PROBLEM_HMAC,   /* bytes are sound, but carry no HMAC of the key */
    CAIRN_PROBLEM_KEY,    /* no HMAC in the store is of the key: it is another one */
    CAIRN_PROBLEM_HEAD    /* against an exported head */
};
struct cairn_problem {
    uint64_t seq;          /* checkpoint, 0: something else */
    char id[CAIRN_ID_MAX]; /* as far as it can be told */
    const char *text;      /* what is wrong and what it means */
    enum cairn_problem_kind kind;
};
struct cairn_verify_result {
    uint64_t checked, damaged; /* records */
    uint64_t objects, bad_objects;
    uint64_t pruned; /* covered by tombstones */
    int64_t duration_ms;
    uint64_t hmacs;           /* sound records that carry one */
    uint64_t unchecked_hmacs; /* of these, not checked, as no key was given */
    uint64_t unkeyed_runs;    /* with a key: recorded without one; checked all the same,
                                 but nothing shows who wrote them */
    uint64_t bad_hmacs; /* among `damaged`: sound, but without an HMAC of the key */
};
/* Checks one checkpoint (id), or every record, chain link and object (id NULL).
 * Returns CAIRN_EDAMAGED if anything is wrong, after reporting all of it. */
CAIRN_API int cairn_checkpoint_verify(struct cairn_store *store, const char *id,
                                      int (*each)(void *, const struct cairn_problem *),
                                      void *context, struct cairn_verify_result *result,
                                      struct cairn_error *error);
/* The newest records, to be written down elsewhere: only against them it shows that
 * records were removed whole, or that the store was replaced by an older copy. */
struct cairn_head_store {
    char store[33];    /* the store's id */
    uint64_t next_seq; /* of the next checkpoint */
};
struct cairn_head {
    uint64_t run, seq, position;
    uint64_t records;      /* of the run that are kept */
    char id[CAIRN_ID_MAX]; /* made from seq and digest */
    char digest[65];       /* SHA-256 of the record, hex */
};
/* The newest record of a run (0: of every run), oldest run first. CAIRN_EDAMAGED if one
 * of them is. */
CAIRN_API int cairn_checkpoint_head(struct cairn_store *store, uint64_t run,
                                    int (*each)(void *, const struct cairn_head *),
                                    void *context, struct cairn_head_store *of,
                                    struct cairn_error *error);
/* Compares with heads that were exported before; later records and deleted ones are
 * fine. Returns CAIRN_EDAMAGED after telling what is missing, replaced or older. */
CAIRN_API int cairn_checkpoint_compare(struct cairn_store *store,
                                       const struct cairn_head_store *of,
                                       const struct cairn_head *heads, size_t n,
                                       int (*each)(void *,
                                                   const struct cairn_problem *),
                                       void *context, struct cairn_error *error);
/* Deletes one checkpoint. A full one with deltas after it is refused: its deltas
 * would be lost. So is the newest of an unfinished run, and a fork's parent. */
CAIRN_API int cairn_checkpoint_delete(struct cairn_store *store, const char *id,
                                      struct cairn_error *error);
struct cairn_prune_options {
    uint64_t run;  /* 0: every run */
    uint32_t keep; /* newest per run, at least 1 */
    bool dry_run;
};
struct cairn_prune_result {
    uint64_t total, kept, deleted, freed_bytes;
    uint64_t surplus; /* of those kept: more than `keep` asks for */
};
/* Deletes whole segments (a full record with its deltas) older than the newest `keep`
 * checkpoints of each run; one that a run forked from stays. More than `keep` can stay:
 * `surplus`. Content that nobody refers to any more goes with the next cairn_gc. */
CAIRN_API int cairn_checkpoint_prune(struct cairn_store *store,
                                     const struct cairn_prune_options *options,
                                     struct cairn_prune_result *result,
                                     struct cairn_error *error);

/* Garbage: whole runs, and content that nothing refers to any more. Runs go only if at
 * least one of the two limits is set, and then only those that have ended (completed,
 * failed, cancelled or undone), that both limits allow to go, that are not the newest
 * of their workflow and params, and from which no run forks that stays. */
struct cairn_gc_options {
    uint32_t keep_runs;    /* 0: no limit; the newest so many of each workflow stay */
    int64_t older_than_ms; /* 0: no limit; runs that ended less long ago stay */
    bool dry_run;
};
struct cairn_gc_result {
    uint64_t runs, kept_runs; /* removed; still there */
    uint64_t checkpoints, attempts;
    uint64_t objects, kept_objects;
    uint64_t freed_bytes;  /* of checkpoints and content; the file does not shrink: the
                              room is used again */
    uint64_t damaged_runs; /* that were to go, and stay because they are damaged */
    uint32_t slices;       /* write transactions */
    int64_t longest_us;    /* the longest of them: so long a run beside it waited */
};
/* Works beside live runs, in many short transactions, and can be cut off at any moment:
 * the store stays whole, and the next call finishes it. With damaged checkpoints in the
 * store no content is deleted (CAIRN_EDAMAGED; `result` is set all the same), since
 * nobody can tell what they refer to. CAIRN_EBUSY: another call is at work. */
CAIRN_API int cairn_gc(struct cairn_store *store,
                       const struct cairn_gc_options *options,
                       struct cairn_gc_result *result, struct cairn_error *error);

/* The checkpoint service on its own, for programs with their own executor: a recorder
 * owns a new run of the workflow (CAIRN_EOWNED otherwise) and saves outcomes. */
struct cairn_recorder;
struct cairn_change {
    uint32_t task; /* index in the workflow */
    enum cairn_outcome outcome;
    uint32_t attempts; /* 0 means 1 */
};
CAIRN_API int cairn_recorder_open(struct cairn_recorder **out,
                                  struct cairn_workflow *workflow,
                                  struct cairn_store *store, struct cairn_error *error);
/* Durable when it returns 0 (at the store's sync level). `id` may be NULL. */
CAIRN_API int cairn_recorder_save(struct cairn_recorder *recorder,
                                  const struct cairn_change *changes, size_t n,
                                  char id[CAIRN_ID_MAX], struct cairn_error *error);
/* Marks the run's state and gives up ownership. */
CAIRN_API int cairn_recorder_close(struct cairn_recorder *recorder,
                                   enum cairn_run_state state,
                                   struct cairn_error *error);

/* ---- Health ------------------------------------------------------------- */

enum cairn_health { CAIRN_HEALTH_OK, CAIRN_HEALTH_WARN, CAIRN_HEALTH_BAD };
struct cairn_finding {
    enum cairn_health health;
    const char *what;   /* a short name: file-system, schema, records, ... */
    const char *text;   /* what was found */
    const char *remedy; /* what to do, or NULL */
};
/* Looks at the store and its surroundings; changes nothing. Returns CAIRN_EDAMAGED if
 * something is bad, CAIRN_ENOMEM, CAIRN_EBUSY or CAIRN_EIO if not all could be looked
 * at. Works on a store that cairn_store_open refuses. */
CAIRN_API int cairn_doctor(const char *path,
                           int (*each)(void *, const struct cairn_finding *),
                           void *context, struct cairn_error *error);
/* The same with a key (struct cairn_store_options). */
CAIRN_API int cairn_doctor_keyed(const char *path, const char *key_file,
                                 int (*each)(void *, const struct cairn_finding *),
                                 void *context, struct cairn_error *error);

/* Saves every valid record, and all other rows whose checksums hold, out of a damaged
 * store into a new one with the same id, which takes its place; the damaged files are
 * kept in it, in `damaged-TIME/`. Nothing is changed if nothing is damaged. Cut off at
 * any moment, either the old or the new store is there, or none can be opened until the
 * next repair has finished the change. CAIRN_EOWNED while a run is live (named),
 * CAIRN_EBUSY while somebody writes, CAIRN_ENEWER for a store of a newer release. The
 * calling process must have no handle of the store open. What was lost is told one by
 * one; it counts as lost only once: after the repair the store verifies. */
enum cairn_loss_kind {
    CAIRN_LOSS_CHECKPOINT, /* seq, id, run if it is known */
    CAIRN_LOSS_TASK,       /* its end was recorded only there: it runs again */
    CAIRN_LOSS_RUN,        /* its row; the text tells whether it was made again */
    CAIRN_LOSS_ATTEMPT,    /* what is shown of one attempt */
    CAIRN_LOSS_OBJECT,     /* stored content: output, a result, or a graph */
    CAIRN_LOSS_ROW,        /* something else that is only shown */
    CAIRN_LOSS_FILE        /* part of a file: what stood there nobody can tell */
};
struct cairn_loss {
    enum cairn_loss_kind kind;
    uint64_t seq; /* checkpoint, or 0 */
    char id[CAIRN_ID_MAX];
    uint64_t run;  /* or 0 */
    uint32_t task; /* index in the run's graph, as cairn_run_tasks counts */
    const char *text;
};
struct cairn_repair_result {
    bool repaired; /* false: nothing was damaged, nothing was changed */
    char kept[64]; /* name of the directory with the damaged files */
    uint64_t checkpoints, objects, runs, attempts, events, others; /* saved */
    uint64_t lost;
    /* Names, in the store's directory, of what stood in the place of its lock file or
     * of `live/`, and was put aside: two at most, with a space between them. Set even
     * if the repair has failed after that; not counted as damage. */
    char aside[128];
};
CAIRN_API int cairn_store_repair(const char *path,
                                 int (*each)(void *, const struct cairn_loss *),
                                 void *context, struct cairn_repair_result *result,
                                 struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
