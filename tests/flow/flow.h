/* SPDX-License-Identifier: MIT */
/* The flow tests: random workflows run by the real command, a new process of it for
 * every step.
 *
 *   A  plan = explain = run: after each of many kinds of change, what `plan` said,
 *      what `explain` says of each task, and what really ran (test_plan.c).
 *   B  same answer: a workflow with failures, retries, conditions, gates and undo ends
 *      the same one task at a time, in parallel, and killed and resumed (test_same.c).
 *
 * A workflow is kept here as a model: it is written as YAML, changed, and written
 * again; what has to run is worked out from the two models, not with cairn's own code.
 * A directory holds flow.yaml, the store, `log` (a line per started task, written by
 * the task itself), in/ and out/ (files of tasks), and what each cairn printed. */
#ifndef TESTS_FLOW_H
#define TESTS_FLOW_H

#include "tests/support/program.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { DEFS_MAX = 48, MEMBERS_MAX = 6, NEEDS_MAX = 8, TASKS_MAX = 200 };
enum {
    NAME_SIZE = 24,
    ID_SIZE = 48,
    DIR_SIZE = 512,
    FIELD_SIZE = 2000,
    TEXT_SIZE = 500
};
enum { PARAMS_MAX = 4, SECRETS_MAX = 2, POOLS = 2, NONE = 1000, UNLISTED = 1001 };

/* ---- random.c ---- */

struct rng {
    uint64_t state;
};
uint32_t rng_below(struct rng *rng, uint32_t n);
bool rng_one_in(struct rng *rng, uint32_t n);

/* ---- model.c: a workflow, and random ones ---- */

enum condition { COND_NONE, COND_PARAM, COND_MEMBER, COND_VALUE, COND_STATUS };
enum when { WHEN_SUCCESS, WHEN_FAILED, WHEN_ALWAYS };
enum gate { GATE_NONE, GATE_EXIT, GATE_GOOD, GATE_WARN, GATE_BAD };
enum policy {
    ON_STOP,
    ON_CONTINUE,
    ON_UNDO_FAILED,
    ON_UNDO_ANCESTORS,
    ON_UNDO_ALL,
    ON_CANCEL
};

enum stale { STALE_DEFAULT, STALE_WARN, STALE_REMOVE, STALE_KEEP };

struct def {
    char id[NAME_SIZE];
    bool removed, finally;
    bool added;            /* by `cairn add`: it is not in the file */
    bool adds;             /* it adds those that are to be added, in B */
    bool service, port;    /* others need it while they run */
    uint32_t false_starts; /* of a service: it ends so often by itself first, ... */
    uint32_t restart;      /* ... and is started again so often */
    bool disturbed; /* its outputs were changed, or were none, at times: what lay there
                        may be somebody's */
    enum stale stale; /* what becomes of outputs of members that are gone */
    uint32_t args;    /* version of an argument of its command; 0: none */
    uint32_t args_of; /* need whose files are further ones, or NONE */
    uint32_t needs[NEEDS_MAX], n_needs;      /* indexes of earlier ones */
    bool element[NEEDS_MAX];                 /* element-wise need */
    bool soft[NEEDS_MAX];                    /* see def_is_soft */
    bool order[NEEDS_MAX];                   /* only for the order */
    uint32_t member[MEMBERS_MAX], n_members; /* values of its foreach; 0: none */
    bool sided;                              /* the foreach has another key, `side` */
    bool made;        /* `list_of` makes the members: `member` is what the run has */
    uint32_t list_of; /* that earlier definition, or NONE */
    uint32_t list[MEMBERS_MAX], n_list; /* what it gives those whose list it makes */
    bool depfile;                       /* which names its input */
    uint32_t told_member, told;         /* of a sheet: that value has this cell */
    bool needs_all;                     /* where it wants a group */
    bool exec;                          /* `exec`, not `run` */
    uint32_t version, shell;            /* of the command; which shell */
    uint32_t env, env_more;             /* values; 0: it has none */
    uint32_t passed;                    /* need whose value comes in an `env` */
    uint32_t own_params;                /* 0: all; else a set of them */
    uint32_t secrets;                   /* set */
    bool input, output, gives;          /* gives: writes to $CAIRN_OUTPUT */
    uint32_t input_of;                  /* its input is the output of this */
    enum condition condition;
    uint32_t condition_need, condition_value;
    enum when when;
    enum gate gate;
    uint32_t gate_version, undo; /* undo: version, 0 none */
    bool undo_fails, fails, may_fail;
    bool skips, skip_exit; /* ends with an exit code; which means that it is skipped */
    uint32_t flaky, retries;      /* fails so many times first */
    uint32_t rounds, rounds_more; /* repeats so often; so many more it might. One that
                                     fails comes to the limit instead; 0: no `repeat` */
    uint32_t timeout_s, pool, sleep_ms;
    uint32_t places,
        slots;         /* of the pool, or of both if more than POOLS; of the jobs */
    uint32_t memory;   /* MiB; 0: none */
    uint32_t fallback; /* version of its command; 0: none */
    bool artifacts;    /* what it makes is stored */
    bool cutoff;
    int32_t priority;
};
struct workflow {
    struct def defs[DEFS_MAX];
    uint32_t n_defs;
    uint32_t param[PARAMS_MAX], n_params; /* their defaults */
    uint32_t env;                         /* value of the workflow's own; 0 none */
    uint32_t secret[SECRETS_MAX];         /* values */
    uint32_t jobs, pool_limit[POOLS];
    uint32_t memory;  /* MiB; 0: that of the machine */
    bool shared;      /* its first pool is the store's */
    bool reuse, keep; /* of all tasks that may have it; with copies of outputs */
    bool again_never;
    enum stale stale; /* of tasks that are gone as a whole */
    enum policy policy;
    uint32_t comments; /* blank lines and comments; 0 none */
    bool reversed;     /* needs are written the other way round */
    bool plain;        /* no condition, gate or failure */
    uint32_t note;     /* in a column of sheets that no task names */
    bool report;       /* has a `finally` task that reports on all others */
    bool adopt;        /* on_crash */
};
/* For A. */
void workflow_make(struct workflow *w, struct rng *rng, bool plain);
void workflow_make_top(struct workflow *w, struct rng *rng);
/* A further task, the last one. */
struct def *workflow_add(struct workflow *w, struct rng *rng);
void def_make_needs(struct workflow *w, uint32_t index, struct rng *rng);
void def_decorate(struct workflow *w, uint32_t index, struct rng *rng);
void def_make_service(struct workflow *w, uint32_t index, struct rng *rng);
void def_make_uncertain(struct workflow *w, struct def *def, struct rng *rng);
bool def_needs(const struct def *def, uint32_t target);
bool def_needs_service(const struct workflow *w, const struct def *def);
/* Its own, or that of the defaults. */
enum stale def_stale(const struct workflow *w, const struct def *def);
/* Does it make the list of another one? */
bool def_makes_list(const struct workflow *w, const struct def *def);
/* A made group gets the members that are among these ids (of any tasks); none: it is
 * not known which there are. */
typedef const char *nth_id(const void *of, uint32_t i);
void def_learn(struct def *def, const void *of, uint32_t n, nth_id *id);

/* stormy.c: for B. */
void workflow_make_stormy(struct workflow *w, struct rng *rng);
void workflow_make_before(const struct workflow *w, struct workflow *before,
                          struct rng *rng);

struct task {
    uint32_t def, member; /* member: its value, 0 without foreach */
    char id[ID_SIZE];
};
struct tasks {
    struct task task[TASKS_MAX];
    uint32_t n;
};
void workflow_tasks(const struct workflow *w, struct tasks *tasks);
uint32_t tasks_find(const struct tasks *tasks, const char *id); /* or NONE */
/* Is its foreach over a sheet? Then the cell of a member that its command names. */
bool def_has_sheet(const struct workflow *w, const struct def *def);
uint32_t def_cell(const struct def *def, uint32_t member);
/* Does it want success of a group, or of a part of one? */
bool def_wants_group(const struct workflow *w, const struct def *def);
/* However that need has ended will do: where it does not ask for more. */
bool def_is_soft(const struct def *def, uint32_t i);
/* Is `need` needed by `task` directly? order: also if only for the order. */
enum need { NEED_NOT, NEED_SOFT, NEED_HARD };
enum need task_needs(const struct workflow *w, const struct task *task,
                     const struct task *need, bool order);

/* ---- write.c: as YAML ---- */

/* What counts in a task: in the file, for cairn, and in the comparison of models. */
enum field {
    FIELD_COMMAND,
    FIELD_ARGS,
    FIELD_REPEAT,
    FIELD_SHELL,
    FIELD_ENV,
    FIELD_OUTPUTS,
    FIELD_INPUTS,
    FIELD_DEPFILE,
    FIELD_PARAMS,
    FIELD_IF,
    FIELD_WHEN,
    FIELD_CHECK,
    FIELD_SECRETS,
    FIELD_SKIP_EXIT,
    FIELD_FALLBACK,
    FIELD_NEEDS,
    FIELDS
};
/* The value of a field as YAML; "" if it has none. */
void field_text(const struct workflow *w, uint32_t index, enum field field,
                char text[FIELD_SIZE]);
bool workflow_write(const struct workflow *w, const char *dir);
/* The tasks that are to be added, for `cairn add`, as DIR/added.yaml; only `one` unless
 * that is NONE. */
bool workflow_write_added(const struct workflow *w, uint32_t one, const char *dir);

/* ---- change.c: kinds of change ---- */

/* EFFECT_ADDED, EFFECT_WITHDRAWN: by a command, the file stays as it is. */
enum effect {
    EFFECT_DEFINITION, /* shows in the comparison of the models */
    EFFECT_TUNING,     /* nothing may run because of it */
    EFFECT_WORLD,      /* on a file or a secret: `hit` tells whom */
    EFFECT_NEW_RUN,    /* `run FILE` begins a new run */
    EFFECT_ADDED,      /* `which` is added to the run */
    EFFECT_WITHDRAWN   /* and taken back */
};
struct change {
    const char *name, *option; /* option: for plan, explain and resume; or NULL */
    enum effect effect;
    bool hit[DEFS_MAX]; /* definitions whose file or secret changed */
    uint32_t which;
    const char *reason; /* of them */
    bool made;          /* false: the workflow has no place for it */
};
uint32_t change_kinds(void);
/* Changes model and files; the caller writes the file. */
void change_make(struct change *change, uint32_t kind, struct workflow *w,
                 struct rng *rng, const char *dir);

/* ---- drive.c: processes, files ---- */

struct setup {
    const char *cairn; /* absolute path */
    const char *work;  /* where the directories are made */
    uint64_t seed;
    bool full;
};
/* Starts `cairn ARGUMENTS...` in dir with the secrets of `w`; output to out.TAG and
 * err.TAG. The process, or -1. */
pid_t cairn_start(const struct setup *setup, const struct workflow *w, const char *dir,
                  const char *tag, const char *const *arguments);
/* The exit status, or 128 + signal. Ends what hangs (then -2). */
int cairn_wait(pid_t pid);
int cairn_do(const struct setup *setup, const struct workflow *w, const char *dir,
             const char *tag, const char *const *arguments);
bool make_dir(const char *dir);
bool file_write(const char *dir, const char *name, const char *text);
/* To be freed; NULL if it cannot be read. */
char *file_read(const char *dir, const char *name);

/* ---- read.c: what cairn printed ---- */

enum will { WILL_NOT, WILL_MAY, WILL };
struct verdict {
    char task[ID_SIZE], reason[32], cause[ID_SIZE], detail[TEXT_SIZE];
    enum will will;
};
struct plan {
    struct verdict verdict[TASKS_MAX];
    uint32_t n, will, may;
    bool run_known; /* it is about a run that is there */
};
bool plan_read(const char *dir, const char *tag, struct plan *plan);
bool explain_read(const char *dir, const char *tag, struct verdict *verdict);
const struct verdict *plan_find(const struct plan *plan, const char *id);
struct state {
    char task[ID_SIZE], state[16], text[TEXT_SIZE];
    uint32_t attempts;
    int exit_code; /* -1: none */
};
struct status {
    struct state state[TASKS_MAX];
    uint32_t n, run;
    char run_state[16];
};
bool status_read(const char *dir, const char *tag, struct status *status);
const struct state *status_find(const struct status *status, const char *id);
/* What out.TAG of `run --json` says of each task. ENDED_EARLY: cairn ended its only
 * attempt with a signal before it was ready, as it does with a service when the run
 * stops; that attempt may have had no time to write to the log. */
enum seen { SEEN_NOT, SEEN_STARTED, SEEN_STARTED_AGAIN, SEEN_READY, SEEN_ENDED_EARLY };
bool started_read(const char *dir, const char *tag, const struct tasks *tasks,
                  enum seen *seen);
/* Marks tasks with a line in DIR/log after `offset`; moves offset. */
bool log_read(const char *dir, const struct tasks *tasks, long *offset, bool *ran);

/* ---- facts.c: how a run ended, as lines of text that can be compared ---- */

struct facts {
    char **line; /* sorted, each once */
    uint32_t n;
};
bool facts_read(const struct setup *setup, const struct workflow *w, const char *dir,
                int exit_status, struct facts *facts);
void facts_release(struct facts *facts);

/* ---- flow.c: verdicts ---- */

struct test {
    char name[64], where[200]; /* where: what is being looked at */
    const struct setup *setup;
    char dir[DIR_SIZE];
    struct rng rng;
    uint32_t failures;
};
bool test_begin(struct test *t, const struct setup *setup, const char *name,
                uint64_t seed);
void test_end(struct test *t, const char *detail);
/* Notes a failure unless `good`; returns `good`. */
bool check(struct test *t, bool good, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void test_plan(const struct setup *setup, uint32_t count);
void test_same(const struct setup *setup, uint32_t count);

#endif
