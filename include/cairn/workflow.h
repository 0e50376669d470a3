/* SPDX-License-Identifier: MIT */
/* cairn: workflows, loaded from a file or built in memory. */
#ifndef CAIRN_WORKFLOW_H
#define CAIRN_WORKFLOW_H

#include "error.h"
#include "outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_workflow;
struct cairn_attempt;
struct cairn_registry;
struct cairn_store;

/* A name with a value: a param, a secret, or a value of an external task. */
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
/* Where a workflow is read from, with the callbacks that its tasks name (`call`). */
struct cairn_source {
    size_t size;      /* of this struct, or 0 */
    const char *path; /* of a file, or */
    const char *text; /* this text, */
    size_t length;
    const char *name; /* which has this name in messages; NULL: "workflow" */
    const struct cairn_param *params;
    size_t n_params;
    /* It must outlive the workflow. NULL: none; then it can be looked at, but a run of
     * it is refused if a task names a callback. */
    const struct cairn_registry *registry;
};
/* What cairn_workflow_load and _parse are short for. CAIRN_ENOTFOUND, too: the registry
 * does not have a callback, which is named. */
CAIRN_API int cairn_workflow_open(struct cairn_workflow **out,
                                  const struct cairn_source *source,
                                  struct cairn_error *error);
/* Reads the file again and reports all that is wrong in it, up to 20 mistakes in the
 * order of the file, none of which only follows from another. A visitor that returns
 * anything but 0 ends it. 0: there is none. Else the code of cairn_workflow_load. */
CAIRN_API int cairn_workflow_mistakes(const char *path,
                                      const struct cairn_param *params, size_t n_params,
                                      int (*each)(void *context,
                                                  const struct cairn_error *mistake),
                                      void *context, struct cairn_error *error);
/* The workflow of a stored run (0: as for cairn_run_get): its file as it is now, with
 * the recorded params and foreach members, or the stored definition if the file is
 * gone.
 * `*from_file` (may be NULL) says which. */
CAIRN_API int cairn_workflow_of_run(struct cairn_workflow **out,
                                    struct cairn_store *store, uint64_t run,
                                    bool *from_file, struct cairn_error *error);
/* The same, with the callbacks of a registry, which must outlive the workflow: any
 * program that has them goes on with the run. CAIRN_ENOTFOUND, too: one that a task names
 * is not there. A task whose callback has another version than the run has recorded runs
 * again. */
CAIRN_API int cairn_workflow_of_run_with(struct cairn_workflow **out,
                                         struct cairn_store *store, uint64_t run,
                                         const struct cairn_registry *registry,
                                         bool *from_file, struct cairn_error *error);
/* Tasks of it are functions that it does not have: those of the program that built it, or
 * callbacks that it was read without. cairn_run refuses it. */
CAIRN_API bool cairn_workflow_lacks_functions(const struct cairn_workflow *workflow);
/* An empty workflow to build in memory. `name` is its identity in a store. */
CAIRN_API int cairn_workflow_new(struct cairn_workflow **out, const char *name,
                                 struct cairn_error *error);
/* Frees the workflow and every string that its getters returned. */
CAIRN_API void cairn_workflow_free(struct cairn_workflow *workflow);

/* A task in the calling process. It runs on a thread of the run, not on the one that
 * called cairn_run, and never beside another one that is not `parallel`. It returns
 * COMPLETED, FAILED, CANCELLED or LATER. It must not use the store handle of the run,
 * and a child that it forks must not return. One that takes long asks
 * cairn_attempt_stopped now and then: it cannot be ended from outside, so after its
 * time limit and its grace it is left behind (see cairn_run). */
typedef enum cairn_outcome cairn_task_fn(void *context, struct cairn_attempt *attempt);

/* A task for each of many values. The command has the value as an environment variable,
 * and texts of the task as ${{ key }}; cairn_workflow_value gives it to a callback. */
struct cairn_foreach { /* zero unused fields; everything is copied */
    size_t size;       /* of this struct, or 0 */
    const char *key;   /* its name: a-z, 0-9 and _, not beginning with a digit */
    const char *const *values; /* NULL-terminated, none twice; or */
    const char *from;          /* the id of a task added before, which makes a list: */
    const char *value;         /* the name of a value that it passes on, */
    const char *lines;         /* a file whose lines it leaves, or */
    const char *glob; /* a pattern of files that it leaves, or csv, tsv, json or jsonl.
                         Of a group: the lists of its members in order; the name of a file
                         then has its keys: "out/${{ part }}.txt" */
    uint32_t max;     /* entries of such a list, at most; 0: 10,000 */
    bool allow_empty; /* it may have none */
    const char *const *columns; /* of `values`, NULL-terminated: names of further values
                                   of each member, as of a row of a sample sheet; of csv
                                   and tsv: of a file whose first line has no names */
    const char *const *cells;   /* [values * columns], those of one member together */
    const char *csv, *tsv, *json, *jsonl; /* a sheet that it leaves: one of its columns
                                             has the values, the others are values of
                                             each member whose texts name them */
    const char *column; /* of such a sheet: the column of the values; NULL: `key` */
    const char *where;  /* the same: an expression over its columns and params, of the
                           rows that are members; NULL: all are */
};

/* ---- Callbacks by name ---- */

/* What a program can call for tasks that name it (struct cairn_registry). A stored run has
 * the names, and so goes on in a new process, or in another program with the same
 * registry. */
struct cairn_callback {  /* zero unused fields; everything but `context` is copied */
    size_t size;         /* of this struct, or 0 */
    const char *name;    /* as the id of a task */
    cairn_task_fn *call; /* it may be that of several names */
    void *context;       /* for call */
    const char *version; /* changing it makes its tasks run again; NULL: "" */
    bool parallel;       /* it may run beside others, up to `jobs` at once */
    const char *description; /* for people; NULL: "" */
};
/* An empty registry. It is not thread-safe while callbacks are added. */
CAIRN_API int cairn_registry_new(struct cairn_registry **out,
                                 struct cairn_error *error);
/* CAIRN_EUSAGE: the name is not good, or there already. */
CAIRN_API int cairn_registry_add(struct cairn_registry *registry,
                                 const struct cairn_callback *callback,
                                 struct cairn_error *error);
/* The i-th callback, in the order in which they were added; its texts live as long as the
 * registry. CAIRN_ENOTFOUND past the last. */
CAIRN_API int cairn_registry_get(const struct cairn_registry *registry, size_t i,
                                 struct cairn_callback *out);
/* After the workflows that use it. NULL is allowed. */
CAIRN_API void cairn_registry_free(struct cairn_registry *registry);

enum cairn_when {
    CAIRN_WHEN_SUCCESS, /* all have completed */
    CAIRN_WHEN_FAILED,  /* one has failed */
    CAIRN_WHEN_ALWAYS   /* whatever they are */
};

struct cairn_task {           /* zero unused fields; everything is copied */
    size_t size;              /* of this struct, or 0 */
    const char *id;           /* [A-Za-z0-9_.-]+, at most 200 bytes; `/` between two of
                                 these: ${{ tasks.X }} in its texts then is the X with
                                 the same beginning, as in an included file */
    const char *const *argv;  /* NULL-terminated; exactly one of argv, run, */
    const char *run;          /* text for `sh -eu -c`, external and */
    cairn_task_fn *call;      /* callback is given (or `callback` alone, its name) */
    void *context;            /* for call */
    const char *version;      /* of a callback: changing it makes the task run again */
    const char *const *needs; /* NULL-terminated ids of tasks added before */
    const char *const *outputs;
    const char *const *env; /* "NAME=value", NULL-terminated, no name twice */
    const char *cwd;        /* env, cwd: not of a callback */
    int64_t timeout_ms;     /* 0: none */
    int64_t grace_ms; /* between TERM and KILL, or until a callback is left behind; 0:
                         10,000 */
    uint32_t retries;
    int32_t priority; /* higher first */
    bool parallel; /* of a callback: it may run beside others, up to `jobs` at once */
    bool stderr_apart; /* else stdout and stderr are one log, in the order in which they
                          were written; not of a callback */
    const char *depfile; /* a file that it writes, in the form of make: what it read.
                            Changes of these files make it run again; NULL: none */
    const char *description;  /* for people; a change of it changes nothing */
    const char *const *after; /* as needs, but only for the order: when one of them runs
                                 again, this task does not */
    const char *const *soft;  /* as needs, but it runs however these have ended */
    bool may_fail;     /* its failure stops nothing, and the run does not fail for it */
    uint8_t skip_exit; /* this exit code says that there was nothing to do: skipped; 0:
                          none; not of a callback */
    bool reuse;  /* it is done if an earlier run of the workflow has done it with the
                    same command, inputs and values: it reads nothing else. It needs
                    outputs or values */
    bool cutoff; /* what needs it stays done if it runs again and makes the same outputs
                    and values */
    const char *ready; /* text for `sh -eu -c`: the task is a service, and this command
                          succeeds once it can be used. It lives as long as tasks that
                          need it are left (a need that is only for the order), is never
                          done, and has no outputs, depfile and time limit; not of a
                          callback. NULL: it is none. `retries`: how often it is started
                          again if it ends by itself */
    int64_t ready_within_ms; /* after that long it has failed; 0: 30,000 */
    int64_t ready_every_ms;  /* between two answers that it is not; 0: 200 */
    const char *until; /* it runs in rounds until this expression holds, as in the file
                          (`repeat`): "outputs.left == 0"; NULL: it does not */
    uint32_t rounds;   /* at most; given with `until`, and only then */
    int64_t round_delay_ms; /* before each further one */
    uint32_t slots; /* of the run's `jobs`, which it takes while it runs; 0: one */
    /* Of a service: a free TCP port of 127.0.0.1 is picked for its start, and given to it
     * as CAIRN_PORT, and to it and the processes that need it as CAIRN_PORT_ID, with its
     * id in capitals, and _ for - . and /. */
    bool port;
    /* It is a group: `id[key=value]`; NULL: one task. */
    const struct cairn_foreach *foreach;
    /* Its processes have so much more niceness than the program, to 19; not of a
     * callback. */
    uint8_t nice;
    const char *const *pools;       /* "NAME" or "NAME=PLACES" of cairn_workflow_pool,
                                 NULL-terminated, no name twice */
    int64_t retry_delay_ms;         /* before the first of the `retries`; ... */
    uint32_t retry_factor_permille; /* ... each later pause is so much longer: 2000
                                       doubles it; 0: they are all the same ... */
    int64_t retry_cap_ms;           /* ... and none is longer than this; 0: a day */
    bool retry_jitter;              /* times 0.5 to 1.5, at random */
    uint8_t retry_on;               /* only after these failures, CAIRN_RETRY_... */
    /* And these exit codes, up to a 0. Neither: after any failure. */
    const uint8_t *retry_exits;
    const char
        *fallback; /* text for `sh -eu -c`, run once when no try has ended well: it
                             makes what the task would have made, which has completed if
                             it succeeds; not of a callback or service. NULL: none */
    /* Of a service, instead of `port`: names (a-z, 0-9 and _) of ports, each of which
     * is picked and given as CAIRN_PORT_ID_NAME; the first one to the service as
     * CAIRN_PORT, too. NULL-terminated. */
    const char *const *ports;
    /* Patterns of files and directories below its directory, NULL-terminated, which are
     * stored when it has completed, before that is reported (cairn_artifacts); ... */
    const char *const *artifacts;
    int64_t artifacts_ms;   /* ... for so long; 0: as long as the run. ... */
    bool artifacts_wanted;  /* ... One that matches nothing is a failure. ... */
    uint8_t artifacts_when; /* ... How it has to end: enum cairn_artifacts_when */
    int64_t reuse_ms; /* with `reuse`: for so long after the last run that made or used
                         its outputs copies of them are kept, and put back where they
                         are gone or changed; 0: none are */
    uint32_t memory_mib; /* that it takes of the run's memory while it runs */
    /* Of `run`: what its text, and `fallback`, have as "$@"; NULL-terminated.
     * "${{ tasks.X.files }}" is as many arguments as there are files. */
    const char *const *args;
    /* What a run does with outputs of members of the group that are gone from it, while
     * they are as they were recorded: enum cairn_on_stale */
    uint8_t stale;
    /* Of a callback: its name in the registry of each program that is to go on with the
     * run; NULL: only this one can. ... */
    const char *callback;
    /* ... And "NAME=value", NULL-terminated, no name twice: what
     * cairn_attempt_argument gives it. ${{ }} is replaced. */
    const char *const *with;
    /* These are read when the workflow is compiled, as the keys of the file are
     * (docs/workflow-file.md), with the mistakes that the file would have. */
    const char *external;       /* instead of a command: what somebody is to do */
    const char *condition;      /* `if`: an expression; without it it is skipped */
    enum cairn_when when;       /* after which ends of its needs it runs */
    bool once;                  /* it must not run twice */
    const char *const *inputs;  /* files that it reads, NULL-terminated */
    const char *const *secrets; /* names of secrets that it gets, NULL-terminated */
    const char
        *check; /* text for `sh -eu -c`: whether what it made is good; of a callback
                          the name of another one, or NULL beside `check_call` */
    const char *undo; /* text for `sh -eu -c`: takes back what it did; of a callback as
                          `check` */
    /* Of a callback, instead of those that the registry has by these names; they get
     * `context`, and what cairn_attempt_get says of the task itself is what it has set. A
     * check completes if what was made is good; its message may be a confidence
     * (docs/workflow-file.md, `check`). NULL: none. */
    cairn_task_fn *check_call, *undo_call;
};

enum cairn_on_stale {
    CAIRN_ON_STALE_WARN = 0,   /* it names them; cairn_clean_stale removes them */
    CAIRN_ON_STALE_REMOVE = 1, /* it removes them before anything runs */
    CAIRN_ON_STALE_KEEP = 2    /* nothing */
};

/* How a task has to end for its artifacts to be stored. */
enum cairn_artifacts_when {
    CAIRN_ARTIFACTS_SUCCESS,
    CAIRN_ARTIFACTS_FAILURE, /* when it has failed */
    CAIRN_ARTIFACTS_ALWAYS   /* either */
};

/* Failures, or-ed: cairn_task.retry_on. */
enum cairn_retry {
    CAIRN_RETRY_TIMEOUT = 1, /* its time limit ended it */
    CAIRN_RETRY_SIGNAL = 2,  /* a signal did, or it exits with 129 to 192 */
    CAIRN_RETRY_SPAWN = 4    /* it could not be started, or it exits with 126 or 127 */
};

/* Adds a pool, of whose places no more are taken at the same time than it has, at most
 * 1,000,000. Before the tasks that take some. */
CAIRN_API int cairn_workflow_pool(struct cairn_workflow *workflow, const char *name,
                                  uint32_t places, struct cairn_error *error);
/* Its places are those of all live runs of the store together, of whatever workflow has
 * a shared pool of that name. Each run keeps to its own number of places. */
CAIRN_API int cairn_workflow_share_pool(struct cairn_workflow *workflow,
                                        const char *name, struct cairn_error *error);
/* Adds a task. Its needs must have been added before. */
CAIRN_API int cairn_workflow_add(struct cairn_workflow *workflow,
                                 const struct cairn_task *task,
                                 struct cairn_error *error);

/* Sets a key that the workflow file has, of the top level or of a task that was added, to
 * a value as it stands in the file (YAML or JSON): cairn_task_set(w, "a", "retries", "{max:
 * 3, on: [timeout]}", ...). So everything that the file can say can be said, and means the
 * same; `tasks` and `finally` add tasks. A key that a field or a call says already, or
 * that is set already, is CAIRN_EUSAGE; CAIRN_EWORKFLOW: there is no such key, or the
 * value is no YAML. All else is checked by cairn_workflow_compile, with the messages of
 * the file; a workflow that it refuses can only be freed. A field that is 0 leaves its
 * key to `defaults`. */
CAIRN_API int cairn_workflow_set(struct cairn_workflow *workflow, const char *key,
                                 const char *value, struct cairn_error *error);
CAIRN_API int cairn_task_set(struct cairn_workflow *workflow, const char *task,
                             const char *key, const char *value,
                             struct cairn_error *error);
/* Where the callbacks come from that tasks only name: as cairn_source.registry. Before it
 * is compiled, which is CAIRN_ENOTFOUND if one is missing. */
CAIRN_API int cairn_workflow_callbacks(struct cairn_workflow *workflow,
                                       const struct cairn_registry *registry,
                                       struct cairn_error *error);

/* The name that identifies the workflow in a store. */
CAIRN_API const char *cairn_workflow_name(const struct cairn_workflow *workflow);

/* Nodes: tasks have indexes 0..tasks-1, the barrier nodes of groups follow. Each
 * need on a whole foreach group is an edge to the one barrier of the group. */
struct cairn_node_info {
    const char *id;      /* until the workflow is freed */
    const char *group;   /* the task's name in the file; differs for members */
    const char *command; /* run text, or argv joined by spaces; "" for barriers; NULL:
                            out of memory */
    bool barrier;
    uint32_t needs;       /* number of direct needs */
    bool undo;            /* it has an `undo` */
    bool finally;         /* it belongs to `finally` */
    const char *external; /* text of an external task, or NULL */
};

/* Checks the workflow and builds its graph; nothing can be added afterwards. The
 * functions that need a graph call it themselves. */
CAIRN_API int cairn_workflow_compile(struct cairn_workflow *workflow,
                                     struct cairn_error *error);
/* Counts of the compiled workflow. */
CAIRN_API uint32_t cairn_workflow_tasks(const struct cairn_workflow *workflow);
CAIRN_API uint32_t cairn_workflow_nodes(const struct cairn_workflow *workflow);
CAIRN_API uint64_t cairn_workflow_edges(const struct cairn_workflow *workflow);
/* What tells one definition from another: the SHA-256, in hex, of all that the workflow
 * says, as docs/definition-format.md has it, with the params that it was loaded with.
 * Comments and the order of keys do not count. */
CAIRN_API int cairn_workflow_digest(const struct cairn_workflow *workflow,
                                    char digest[65], struct cairn_error *error);
/* Describes one node; CAIRN_ENOTFOUND past the last, or before it is compiled. */
CAIRN_API int cairn_workflow_node(const struct cairn_workflow *workflow, uint32_t node,
                                  struct cairn_node_info *info);
/* The i-th direct need of a node, as a node index; UINT32_MAX past the last. */
CAIRN_API uint32_t cairn_workflow_need(const struct cairn_workflow *workflow,
                                       uint32_t node, uint32_t i);
/* The `description` of a node's task, of UINT32_MAX that of the workflow; NULL: it has
 * none. It lives as long as the workflow. */
CAIRN_API const char *cairn_workflow_description(const struct cairn_workflow *workflow,
                                                 uint32_t node);
/* The i-th foreach key of a task and its whole value, of which the id may have a part
 * only, then the columns of a sample sheet that its texts name; both live as long as the
 * workflow. CAIRN_ENOTFOUND past the last. */
CAIRN_API int cairn_workflow_value(const struct cairn_workflow *workflow, uint32_t node,
                                   uint32_t i, const char **key, const char **value);
/* The i-th secret that a task lists, NULL past the end; it lives as long as the
 * workflow. Without its value nothing starts. */
CAIRN_API const char *cairn_workflow_secret(const struct cairn_workflow *workflow,
                                            size_t i);
/* Index of a task by id, or UINT32_MAX. */
CAIRN_API uint32_t cairn_workflow_find(const struct cairn_workflow *workflow,
                                       const char *id);
/* Is it the id of a task, that of its group, a part of the group that has the task
 * (`a[w=3]`, as in `needs`), the name of an included file that the task is in (`lint` of
 * `lint/test`), or a pattern of id or group: `*` stands for any bytes, `?` for one, all
 * else for itself? As in cairn_run_options.tasks. */
CAIRN_API bool cairn_name_matches(const char *name, const char *id);
/* The i-th warning (file:line:column: text), NULL past the end. */
CAIRN_API const char *cairn_workflow_warning(const struct cairn_workflow *workflow,
                                             size_t i);

#ifdef __cplusplus
}
#endif
#endif
