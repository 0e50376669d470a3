/* SPDX-License-Identifier: MIT */
/* cairn: what a store holds about its runs: tasks, attempts, output. */
#ifndef CAIRN_RUNS_H
#define CAIRN_RUNS_H

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

struct cairn_run_info {
    uint64_t run;
    char workflow[256];
    char file[4096];   /* absolute path, where it is now if the project was
                         moved with its store; "" for one built in memory */
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
    uint32_t undone, unknown; /* these are not final outcomes */
    uint32_t excluded;        /* also in `skipped`: their own condition was not met */
    uint32_t damaged;      /* damaged checkpoints that were skipped to find this one */
    bool keyed;            /* recorded with a key: resuming it needs that key */
    uint64_t parent_run;   /* a task of that run of this store began it; 0: none */
    char parent_task[256]; /* that task, or "" */
    bool parent_open;      /* that run is stored and has not completed */
    bool settled; /* it has completed, with every task, and nothing was begun after that
                     or to undo tasks: none is anything but completed */
};

/* Runs, newest first; `workflow` NULL: all. `total` (may be NULL): how many match. */
CAIRN_API int cairn_runs(struct cairn_store *store, const char *workflow,
                         const struct cairn_page *page,
                         int (*each)(void *, const struct cairn_run_info *),
                         void *context, uint64_t *total, struct cairn_error *error);
/* One run. Here and below 0 is the newest that no task of another run began; for a
 * process inside a task, the newest that this task began, if there is one. */
CAIRN_API int cairn_run_get(struct cairn_store *store, uint64_t run,
                            struct cairn_run_info *out, struct cairn_error *error);
/* The same; but for a run that has no valid checkpoint, or whose records failed
 * verification, what its row says, without counts and a checkpoint, as in cairn_runs.
 */
CAIRN_API int cairn_run_look(struct cairn_store *store, uint64_t run,
                             struct cairn_run_info *out, struct cairn_error *error);
/* Of each workflow and params the newest run, unless it has completed or been undone:
 * what waits to be resumed, and what is running. Newest first. `total` (may be NULL):
 * how many there are; a non-zero return of `each` ends the listing. */
CAIRN_API int cairn_unfinished(struct cairn_store *store,
                               int (*each)(void *, const struct cairn_run_info *),
                               void *context, uint64_t *total,
                               struct cairn_error *error);
/* Every param of a run (0: as above), by name. */
CAIRN_API int cairn_run_params(struct cairn_store *store, uint64_t run,
                               int (*each)(void *, const char *name, const char *value),
                               void *context, struct cairn_error *error);
/* Could the run be resumed? 0 if so, else the reason: ENOTFOUND (no such run), EDAMAGED
 * (no valid checkpoint), EOWNED (live), EUSAGE (recorded with a key and the store
 * opened without one, or the reverse). A finished run can be ("nothing to do"). */
CAIRN_API int cairn_can_resume(struct cairn_store *store, uint64_t run,
                               struct cairn_error *error);

struct cairn_task_info {
    const char *id;
    uint32_t node;
    enum cairn_outcome outcome;
    bool running;                 /* an attempt is open and the run is live, or the
                                     attempt has outlived its cairn (on_crash: adopt) */
    bool interrupted;             /* an attempt is open, and does not run */
    uint32_t attempts;            /* started so far, without those at its undo */
    int64_t started_ns, ended_ns; /* of the newest attempt; ended_ns 0: not known, also
                                     of an interrupted one */
    int64_t attempts_ms;          /* of all attempts that have ended; -1: none has */
    uint32_t latest; /* attempts that have ended: the newest, and those that
                        failed right before it; ... */
    int64_t latest_ms, latest_started_ns; /* ... together, and when the first began */
    int exit_code, signal;                /* of the newest attempt; -1 and 0: none */
    bool timed_out;
    int64_t cpu_ms, peak_kib;
    const char *text;     /* message of the newest attempt, or NULL */
    bool check;           /* it has a check, which decides on resume if it is unknown */
    uint32_t failed_undo; /* newest failed attempt at its undo, 0: none */
    const char *cause;    /* of a skipped task: the one because of which, or NULL */
    uint32_t attempt;     /* the number of the newest one (those at its undo have
                             numbers, too), 0: none */
    bool skipped_itself;  /* CAIRN_EXCLUDED by its exit code, not by its condition */
    bool service;         /* CAIRN_EXCLUDED: nothing that needs it ran; false of one
                             that its condition left out */
    const struct cairn_param *foreach; /* as cairn_workflow_value has them, of the
                                          definition that the run has; in the call */
    size_t n_foreach;
};

/* Every task of a run in file order. */
CAIRN_API int cairn_run_tasks(struct cairn_store *store, uint64_t run,
                              int (*each)(void *, const struct cairn_task_info *),
                              void *context, struct cairn_error *error);

/* How the recorded definitions of two runs differ, in the tasks that both have: the field
 * ("command", "env LC_ALL", "needs", ...) with the old and the new value, NULL: there was,
 * or is, none. Texts are valid in the call alone; a non-zero return of `each` ends it. */
CAIRN_API int cairn_run_changes(struct cairn_store *store, uint64_t from, uint64_t to,
                                int (*each)(void *, const char *task, const char *field,
                                            const char *old, const char *now),
                                void *context, struct cairn_error *error);

struct cairn_value_info {
    const char *task;
    uint32_t node;
    const char *name, *value;
};

/* What completed tasks of a run (0: as above) have told by $CAIRN_OUTPUT or
 * cairn_complete, for later ones: tasks in file order, the names of each sorted. `task`
 * NULL: of all. CAIRN_ENOTFOUND: no such run or task. CAIRN_EDAMAGED after the last one
 * if values of a task cannot be read, which the error names. */
CAIRN_API int cairn_values(struct cairn_store *store, uint64_t run, const char *task,
                           int (*each)(void *, const struct cairn_value_info *),
                           void *context, struct cairn_error *error);

/* A file or directory that a completed task has made or read. Texts are valid in the
 * call alone. */
struct cairn_task_file {
    const char *task;
    uint32_t node;
    const char *name; /* as it is declared, with values put in */
    bool input;       /* it was read; else it is an output */
    bool directory;
    uint64_t size;      /* bytes */
    const char *sha256; /* of the content then, in hex; NULL: not known */
};

/* The outputs and inputs that the attempts recorded by which tasks of a run (0: as
 * above) are completed: of each the outputs first. `task` and the results are those of
 * cairn_values. What lies there now is not looked at. */
CAIRN_API int cairn_task_files(struct cairn_store *store, uint64_t run,
                               const char *task,
                               int (*each)(void *, const struct cairn_task_file *),
                               void *context, struct cairn_error *error);

/* ---- Artifacts ---- */

/* A file or link that an attempt has left. Texts are valid in the call alone. */
struct cairn_artifact_info {
    uint64_t run;
    const char *task;
    uint32_t attempt;
    const char *path;   /* relative to the task's directory */
    const char *target; /* of a symbolic link; NULL: a file */
    uint64_t size;      /* bytes */
    uint32_t mode;      /* the lower 12 bits of st_mode */
    int64_t mtime_ns;
    const char *sha256; /* of the content, in hex; NULL: a link, or above 4 MiB */
    int64_t until_ns;   /* `cairn gc` removes it after that; 0: with its run */
};
/* The artifacts of a run (0: as above), task by task; of each task those of the newest
 * attempt that left some. `task` NULL: of all; the name of a group: of its members. */
CAIRN_API int cairn_artifacts(struct cairn_store *store, uint64_t run, const char *task,
                              int (*each)(void *, const struct cairn_artifact_info *),
                              void *context, struct cairn_error *error);

struct cairn_artifact_get {
    size_t size;              /* of this struct, or 0 */
    uint64_t run;             /* 0: as above */
    const char *task;         /* as above */
    const char *const *names; /* [n_names] paths, or patterns as a line of a .gitignore
                                 has them; none: all */
    size_t n_names;
    const char *directory; /* where they are put; it must be there */
    bool force;            /* files that are there are replaced */
};
/* Puts artifacts below a directory, under their paths: verified first, whole, with mode
 * and time, and durable. `each` (may be NULL) is called for what was put. CAIRN_EUSAGE:
 * something is there already, or two tasks have the same path; nothing was put. With
 * CAIRN_EDAMAGED nothing of the task with the damaged content was. */
CAIRN_API int cairn_artifact_get(struct cairn_store *store,
                                 const struct cairn_artifact_get *get,
                                 int (*each)(void *,
                                             const struct cairn_artifact_info *),
                                 void *context, struct cairn_error *error);

/* ---- Where a file comes from ---- */

enum cairn_input_now {
    CAIRN_INPUT_SAME,
    CAIRN_INPUT_DIFFERS,
    CAIRN_INPUT_GONE,
    CAIRN_INPUT_UNKNOWN /* where it lies depends on a value */
};
struct cairn_maker_input {
    const char *name;   /* relative to the task's directory, or absolute */
    const char *sha256; /* of what the attempt read, in hex; NULL: not known */
    uint64_t size;      /* bytes */
    bool directory;
    enum cairn_input_now now; /* against what is there now */
};

/* An attempt that made a file, as an output that it declares. All texts are valid in
 * the call alone. */
struct cairn_maker {
    uint64_t run;
    const char *workflow;
    const char *file; /* of the workflow, where it is now; "" or NULL: it has none */
    const char *task; /* NULL: the definition is gone or damaged */
    uint32_t attempt;
    int64_t started_ns, ended_ns;
    uint64_t reused_from; /* the run that really made it (`reuse: true`), 0: this one */
    const char *output;   /* its name, relative to the task's directory, or absolute */
    const char *path;     /* where it was made; NULL: that depends on a value */
    const char *sha256;   /* of the content that was made, in hex */
    uint64_t size;        /* of it, in bytes */
    bool directory;
    bool same;              /* the file has this content now */
    bool here;              /* it was made in the place where the file is, or was */
    const char *command;    /* of the task, as it was defined; NULL: none, not known */
    const char *definition; /* SHA-256 of the workflow's definition, or NULL */
    const struct cairn_maker_input *inputs; /* [n_inputs] what the attempt read */
    uint32_t n_inputs;
};

/* With `all` every completed attempt in the store that made the file at `path`, or a
 * file of the same content (but for an empty one), newest runs first; else the newest
 * that made this content in this place, or else this content elsewhere, or else this
 * file. There need not be a file. A non-zero return of `each` ends the search. Cost:
 * each result in the store is read. CAIRN_ENOTFOUND: none. */
CAIRN_API int cairn_whence(struct cairn_store *store, const char *path, bool all,
                           int (*each)(void *, const struct cairn_maker *),
                           void *context, struct cairn_error *error);

struct cairn_attempt_info {
    const char *task;
    uint32_t attempt;
    bool open; /* no end recorded: it runs, or was interrupted; ended_ns is 0 */
    enum cairn_outcome outcome;
    int exit_code, signal;
    bool timed_out;
    int64_t started_ns, ended_ns, cpu_ms, peak_kib;
    uint64_t stdout_bytes, stderr_bytes; /* as written, before the limit; `merged`:
                                            both are in the first */
    const char *text;
    bool undo;     /* it ran the undo, not the task */
    bool check;    /* the task's check decided */
    bool external; /* its end was reported from outside (cairn_complete) */
    bool merged;   /* its stdout and stderr are one log */
    bool fallback; /* it ran the task's fallback */
};

/* Whether the run's present definition has that task: 1, 0, or an error. */
CAIRN_API int cairn_run_has_task(struct cairn_store *store, uint64_t run,
                                 const char *task, struct cairn_error *error);
/* Attempts of one task, oldest first; NULL: of all tasks, each definition's for
 * themselves. */
CAIRN_API int cairn_attempts(struct cairn_store *store, uint64_t run, const char *task,
                             int (*each)(void *, const struct cairn_attempt_info *),
                             void *context, struct cairn_error *error);
/* Output of an attempt (0: the newest), also while it runs. `stream` 1 is its log, with
 * both streams in the order in which they were written; of an attempt that is not
 * `merged` it is stdout, and 2 is stderr. Where the middle was dropped, `gap_bytes` is
 * not 0 in the first call after it. */
CAIRN_API int cairn_output(struct cairn_store *store, uint64_t run, const char *task,
                           uint32_t attempt, int stream,
                           int (*each)(void *, const char *bytes, size_t n,
                                       uint64_t gap_bytes),
                           void *context, struct cairn_error *error);
/* A part of the same; what it costs follows from the part, not from the whole. Bytes are
 * counted as they were written, with the middle that was dropped. */
struct cairn_output_part {
    uint64_t from, to; /* these bytes are wanted, UINT64_MAX: to the end; `to` is set to
                          the end of what is there, where that is less */
    uint64_t last; /* 0, or: so many at the end; then from and to are 0, and are set */
    /* What is there, set before `each` is called: */
    uint64_t bytes;             /* all that was written so far */
    uint64_t gap_at, gap_bytes; /* the middle that was dropped; 0: none */
};
/* `at` is the place of the first of these n bytes. Anything but 0 ends it, with 0. */
typedef int cairn_output_fn(void *context, const char *bytes, size_t n, uint64_t at);
/* CAIRN_EDAMAGED: something of it is damaged, as the error says; of output that is
 * stored in chunks (more than 4 MiB) all the rest was given before. */
CAIRN_API int cairn_output_part(struct cairn_store *store, uint64_t run,
                                const char *task, uint32_t attempt, int stream,
                                struct cairn_output_part *part, cairn_output_fn *each,
                                void *context, struct cairn_error *error);
/* When the log of an ended attempt that is `merged` grew, as far as cairn looked (about
 * five times a second): at `time_ns` it had `bytes`, and what was written since the
 * call before came in between. The last call is its end. An `each` that returns
 * anything but 0 ends it. CAIRN_ENOTFOUND: it still runs, or is not merged. */
CAIRN_API int cairn_output_times(struct cairn_store *store, uint64_t run,
                                 const char *task, uint32_t attempt,
                                 int (*each)(void *, uint64_t bytes, int64_t time_ns),
                                 void *context, struct cairn_error *error);

enum cairn_waits_for {
    CAIRN_WAITS_RUNNING = 1, /* it runs */
    CAIRN_WAITS_SLOT, /* ready: for a free job, or for a process to resume the run */
    CAIRN_WAITS_POOL, /* ready: for room in its pool */
    CAIRN_WAITS_EXTERNAL, /* for someone to do it */
    CAIRN_WAITS_DECISION, /* unknown: for its check, or cairn_resolve */
    CAIRN_WAITS_MEMORY    /* ready: for memory that others have */
};

struct cairn_waiting_info {
    const char *task;
    uint32_t node;
    enum cairn_waits_for waits_for;
    const char *text;      /* the pool, the external task's text, or NULL */
    int64_t since_ns;      /* when it started, 0: not known */
    uint32_t behind;       /* unfinished tasks that need it, directly or not */
    const char *holder;    /* who has claimed the external task, or NULL */
    int64_t lease_left_ms; /* 0: not claimed */
    bool check;            /* DECISION: its check decides on resume */
    uint32_t leases_lost;  /* of the external task: cairn/run.h */
    const char *held_by;   /* POOL, if runs share it: who has it, or comes before, as
                              "run 3 (train), run 4 (eval)"; else NULL */
};

/* Every task of a run (0: as above) that runs or could run, with what it waits for;
 * those with most tasks behind them first. */
CAIRN_API int cairn_waiting(struct cairn_store *store, uint64_t run,
                            int (*each)(void *, const struct cairn_waiting_info *),
                            void *context, struct cairn_error *error);

/* ---- What the process of an attempt was given, to do the same again by hand ---- */

struct cairn_shell_options {           /* zero is the default everywhere */
    size_t size;                       /* of this struct, or 0 */
    uint32_t attempt;                  /* 0: the newest that ran the task */
    const struct cairn_param *secrets; /* values of the task's secrets; those not */
    size_t n_secrets;                  /* listed come from the environment */
    const char *output; /* path for CAIRN_OUTPUT; NULL: the variable is not set */
    bool shown;         /* it is to be shown, not executed: see below */
    const char *const *command; /* for `script`: NULL-terminated words in place of the
                                   task's own command; NULL: that one */
    const char *inputs; /* path for CAIRN_INPUTS, a file that the caller makes */
};

/* Lists are NULL-terminated. */
struct cairn_shell {
    uint64_t run;
    uint32_t attempt;
    uint32_t generation; /* of the run's definition, from 1 */
    const char *workflow, *task;
    const char *directory;   /* absolute; "": that of the caller */
    const char *text;        /* of a `run:` task, or NULL */
    const char *const *argv; /* its command line: shell options and text, or `exec:` */
    /* NAME=value: the task's own variables, n_own of them, then what it inherits of the
     * environment of this process. CAIRN_TOKEN is a new one each time, and of no
     * attempt. With `shown` only the own ones, without CAIRN_TOKEN and secrets, and
     * what is found of the values of secrets is [REDACTED], in all texts. */
    const char *const *env;
    size_t n_own;
    const char *const *secrets;  /* names of those that the task is given */
    const char *const *missing;  /* of these, the ones that were not given */
    const char *const *withheld; /* variables that it does not inherit: other secrets */
    const char *script;          /* with `shown`: a text for sh that does the same */
    const char *inputs;          /* what is in that; NULL: nothing, it is not made */
};

/* What an attempt of a task of a run (0: as for cairn_run_get) was given, and would be
 * again: command line, environment and directory, made by the same code as for the
 * attempt itself, of the definition that it had, with the values that the tasks it
 * needs had then. Reads only, also beside a live run. What is inherited comes from the
 * environment of this process, as for cairn_run. A missing secret is no error: it is
 * in `missing` and not in `env`.
 * ENOTFOUND (run, task or attempt), EUSAGE (the task is external or a callback, the
 * attempt ran the undo, a secret is too short, the run needs a key), EWORKFLOW (a text
 * cannot be evaluated, as when the attempt failed before its process started),
 * EDAMAGED. */
CAIRN_API int cairn_shell(struct cairn_shell **out, struct cairn_store *store,
                          uint64_t run, const char *task,
                          const struct cairn_shell_options *options,
                          struct cairn_error *error);
/* Overwrites what it has of secrets. */
CAIRN_API void cairn_shell_free(struct cairn_shell *shell);

#ifdef __cplusplus
}
#endif
#endif
