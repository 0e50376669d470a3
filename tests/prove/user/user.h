/* SPDX-License-Identifier: MIT */
/* What a user does to a project, against a model; see main.c for what is done, model.c
 * for the rules. */
#ifndef TESTS_PROVE_USER_USER_H
#define TESTS_PROVE_USER_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    FLOWS = 3,
    TASKS = 6,
    SOURCES = 3,
    POOL = 9, /* files that tasks write, shared by the workflows */
    FILES = SOURCES + POOL,
    FILES_EACH = 2, /* inputs, outputs of a task, at most */
    PARAMS = 2,
    RUNS = 200, /* in one scenario */
    PATH_SIZE = 400,
    TEXT_SIZE = 1500
};
#define NO_RUN UINT32_MAX
#define NO_SALT UINT32_MAX

/* ---- Definitions and files ---- */

struct task {
    unsigned needs; /* bits */
    uint32_t in[FILES_EACH], out[FILES_EACH], n_in, n_out;
    uint32_t salt, ms;
    bool nested; /* runs the workflow `inner` */
};
enum flow_kind { PLAIN, INNER, OUTER };
struct flow {
    const char *name;
    enum flow_kind kind;
    uint32_t n;
    struct task task[TASKS];
};
/* Digests of contents; 0: not there. */
struct files {
    uint64_t of[FILES];
    int64_t changed_ns[FILES];
};

/* ---- The model ---- */

enum state { OPEN, DONE, FAILED, SKIPPED };
/* What a task that is DONE read, made and was; of one that FAILED what it read. */
struct record {
    uint64_t in[FILES_EACH], out[FILES_EACH];
    uint32_t salt;
};
enum parted { NO, YES, UNSURE };
struct run {
    uint32_t number, flow, param;
    uint8_t state[TASKS]; /* enum state */
    struct record record[TASKS];
    uint32_t salt[TASKS]; /* of the definition that it went on with last */
    unsigned maybe;   /* bits: DONE, or OPEN: its end was seen by us, perhaps by none */
    unsigned unclear; /* bits: OPEN, or FAILED: a kill may have hidden that report */
    unsigned reset;   /* bits: all of these DONE, or all of them OPEN */
    uint32_t reset_salt[TASKS]; /* ... and then this definition is recorded */
    unsigned noted;             /* bits: DONE, but only noted when cairn was killed */
    int64_t left_ns[FILES];     /* changed_ns then */
    unsigned began;             /* bits: an attempt was started, ever */
    enum parted finished;       /* its last session came to an end with nothing left */
    uint64_t changes;           /* of the world, when it was killed */
    bool loose;                 /* what is recorded of it is not known */
    uint32_t inside;            /* index of the run whose task began it, or NO_RUN */
    uint32_t outer_salt;        /* ... of that task then */
    bool outdated;              /* ... and what that task needs has started since */
};
/* Bits of tasks. */
struct fates {
    unsigned will, may;
};
struct outcome {
    uint8_t state[TASKS]; /* afterwards */
    bool nested_fails;    /* set by the caller: what the middle task runs */
    unsigned started;
    uint64_t content[FILES]; /* digests */
};
/* What a resume does, if the states are those recorded. */
struct fates model_fates(const struct flow *flow, const struct run *run,
                         const struct files *files);
/* The fates are one of those that the model allows. If only one state of the run has
 * them, `run` is made to be that; else what is not known stays open. */
bool model_accepts(const struct flow *flow, struct run *run, const struct files *files,
                   struct fates fates);
/* That everything else goes well: what starts, how it ends. */
void model_simulate(const struct flow *flow, const struct run *run,
                    const struct files *files, struct fates fates, struct outcome *end);
/* The digests of what a task makes of what is there. 0: an input is not. */
uint64_t model_makes(const struct flow *flow, uint32_t task, uint32_t param,
                     uint32_t salt, uint32_t out, const uint64_t *in);
void model_inputs(const struct task *task, const uint64_t *content, uint64_t *in);
void run_init(struct run *run, uint32_t number, uint32_t flow, uint32_t param);

/* ---- The world ---- */

enum how { TO_ITS_END, KILLED, TERMINATED, CANCELLED, HOWS };
struct world {
    uint64_t seed;
    char base[PATH_SIZE], dir[PATH_SIZE + 16]; /* of the scenario, of the project */
    char self[PATH_SIZE], cairn[PATH_SIZE];
    char **env;
    unsigned moves;
    uint64_t changes; /* of files */
    unsigned ghosts;  /* bits: of a workflow and param, a run without a known number */
    bool nested, trace, ghosts_inside;
    bool veto;     /* the middle task fails, though the run inside it completes */
    bool in_place; /* tasks write their outputs in place, and no two runs at once */
    uint32_t n_flows, n_runs;
    struct flow flow[FLOWS];
    struct run run[RUNS];
    long log_at;
    /* Counted over all scenarios: */
    uint64_t steps, tasks;
    unsigned lost, repeated, undetected, other;
};
uint32_t below(struct world *w, uint32_t n);
bool one_in(struct world *w, uint32_t n);
/* One line of what went wrong; counted in *count. */
void wrong(struct world *w, unsigned *count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void say(struct world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool world_make(struct world *w);
void flow_write(struct world *w, uint32_t flow);
void file_name(uint32_t file, char *name, size_t size);
void file_path(const struct world *w, const char *name, char *path, size_t size);
uint64_t text_digest(const char *text, size_t n);
/* The text that a task makes, which its digest is that of. */
void made_text(uint64_t key, char *text, size_t size);
uint64_t made_key(const char *flow, const char *task, const char *param,
                  const char *salt, uint32_t out, const uint64_t *in, uint32_t n_in);
uint64_t path_digest(const char *path);
void world_look(const struct world *w, struct files *files);
void file_put(const char *path, const char *text);
bool flow_writes(const struct flow *flow, uint32_t file);

/* ---- The command ---- */

struct said { /* with --json, by run or resume */
    uint32_t run;
    bool begun, finished;
    int exit_status; /* if finished */
    unsigned started, done, failed, skipped, cancelled;
};
struct logged { /* by the tasks */
    unsigned started, ended, twice;
    pid_t pid[TASKS];
    uint32_t run;
};
struct planned {
    unsigned adopted; /* bits: had ended when cairn was killed */
    uint32_t run;     /* 0: a new one */
    struct fates fates;
};
pid_t cairn_start(struct world *w, const char *tag, const char *const *arguments);
/* Exit status, waited for within bounds. */
int cairn_wait(struct world *w, pid_t pid, const char *what);
int cairn_do(struct world *w, const char *tag, const char *const *arguments);
/* A number of a document. */
uint32_t number_read(struct world *w, const char *tag, const char *key);
bool plan_read(struct world *w, uint32_t flow, const char *tag, struct planned *plan);
void said_read(struct world *w, uint32_t flow, const char *name, struct said *said);
void log_read(struct world *w, uint32_t flow, long at, struct logged *logged);
long log_size(const struct world *w);
bool has_ended(pid_t pid);
/* Nothing of this scenario runs any more. */
void await_nobody(struct world *w);
void show_errors(struct world *w, const char *tag);
uint32_t task_number(const struct flow *flow, const char *name);

/* ---- What is done ---- */

struct session {
    uint32_t flow, param, run; /* index of the run; NO_RUN: a new one */
    enum how how;
    char tag[16];
    struct planned plan;
    struct files before;
    struct logged seen; /* a moment before the kill */
    unsigned gone;      /* bits: had ended, and its process was gone by then */
    pid_t pid;
    int status;
    long log_at;
    bool loose;                      /* another one ran beside it */
    bool middle_done, middle_failed; /* of an inner one: the task that runs it */
    int nested; /* not 0: the middle task fails, if it comes to its end */
    pid_t reader;
    bool by_file; /* `cairn run FILE` */
};
/* Plans, compares, runs, compares. */
void session_do(struct world *w, struct session *s);
/* Two at the same time, then one after the other. */
void session_pair(struct world *w, struct session *a, struct session *b);
/* Nobody knows whether these tasks have lost their outcomes. */
void forget(const struct flow *flow, struct run *run, unsigned planned);
/* Its plan, compared. */
int session_plan(struct world *w, struct session *s);
/* The run inside of it, if there is to be one. */
bool nested_prepare(struct world *w, struct session *s, struct session *inner);
void nested_settle(struct world *w, struct session *s, struct session *inner);
void nested_look(struct world *w);
void step_resume(struct world *w);
void step_move(struct world *w);
void step_copy(struct world *w);
void step_tidy(struct world *w);
void session_settle(struct world *w, struct session *s);
void check_plan(struct world *w, uint32_t run);
void step(struct world *w);

/* The parts of the program that tasks are. */
int task_main(int argc, char **argv);
int nest_main(int argc, char **argv);
int reader_main(int argc, char **argv);
/* Another process that reads the store; ends by itself. -1: none. */
pid_t reader_start(struct world *w, bool holds);

#endif
