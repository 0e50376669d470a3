/* SPDX-License-Identifier: MIT */
/* Sweeps: a command of cairn is done again and again in the same project, each time
 * with a fault at another system call, and each time what is left is judged and gone
 * on with until the end.
 *
 * A project is a directory DIRECTORY/project with cairn.yaml (flow.c), the store and
 * `log`, to which tasks append `start|end|check|undo TASK ATTEMPT SESSION`. A session
 * is one process of cairn that starts tasks. Session 0 made the project, 1 is the one
 * with the fault, those after it go on. */
#ifndef TESTS_NTH_SWEEP_H
#define TESTS_NTH_SWEEP_H

#include "nth.h"

enum { TASKS = 8, SESSIONS_MAX = 10, PATIENCE_MS = 20000, GONE_MS = 5000 };
enum task { PREPARE, PART_A, PART_B, GATHER, FLAKY, PAY, BREAKS, RESCUE };
extern const char *const task_names[TASKS];
/* Stands for the members of part before `prepare` has made their list. */
#define PART_UNLISTED "part[i=\xe2\x80\xa6]"
/* TASKS if there is none. */
size_t task_find(const char *name);
enum cairn_outcome task_expected(size_t task);

/* ---- flow.c: the workflow ---- */

bool flow_write(const char *dir, bool adopt);

/* ---- world.c: the project, and cairn in it ---- */

struct world {
    const char *cairn;
    char base[PATH_SIZE / 2], dir[PATH_SIZE], fixture[PATH_SIZE];
    unsigned session;
    char token[128]; /* of an attempt of the fixture, for what it left behind */
};
struct session {
    bool began, finished; /* it ended by itself */
    bool degraded;        /* it told that checkpoints cannot be saved */
    bool told;            /* how the run ended */
    int status;           /* exit status, or 128 + signal */
    bool done_before[TASKS], will[TASKS], may[TASKS];
    bool planned; /* `will` and `may` are set */
    bool adopted[TASKS];
};
bool world_reset(const struct world *world); /* to the fixture */
bool world_keep(const struct world *world);  /* the fixture is as it is now */
bool world_empty(const struct world *world); /* both */
/* The command `cairn ARGUMENTS`: out.TAG and err.TAG in base. */
enum { ARGUMENTS_MAX = 10 };
struct command {
    const char *argv[ARGUMENTS_MAX + 2];
    char *environment[8];
    char variables[8][160];
    char out[PATH_SIZE + 16], err[PATH_SIZE + 16];
    struct start start;
};
void command_make(struct command *command, const struct world *world, const char *tag,
                  const char *const *arguments);
/* Runs it; exit status, 128 + signal, or -1 if it hung. */
int cairn(const struct world *world, const char *tag, const char *const *arguments);
/* What out.TAG or err.TAG has; cut if it does not fit. Length. */
size_t printed(const struct world *world, const char *name, const char *tag, char *text,
               size_t size);
/* What it said on stderr, on one line. */
size_t said(const struct world *world, const char *tag, char *text, size_t size);
/* A process as a task of the fixture could have left it. */
void plant(const struct world *world);

/* ---- look.c: what can be seen from outside ---- */

struct snapshot {
    int code; /* of opening the store and reading the run */
    bool run; /* there is one */
    enum cairn_run_state state;
    enum cairn_outcome outcome[TASKS];
    uint32_t attempts[TASKS];
    bool interrupted[TASKS];
    bool artifact;  /* that of `prepare` is stored */
    char text[200]; /* if it could not be read */
};
void snapshot_take(const struct world *world, struct snapshot *snapshot);
/* From `plan --json` in out.plan. */
bool plan_read(const struct world *world, struct session *session);
/* From `run --json` in out.TAG: completed and saved ones; degraded. */
void events_read(const struct world *world, const char *tag, bool reported[TASKS],
                 struct session *session);
struct line {
    char kind; /* of start, end, check, undo, undone: its first letter; undone: U */
    size_t task;
    unsigned attempt, session;
};
enum { LINES_MAX = 256 };
size_t log_read(const struct world *world, struct line *lines);
/* A digest of the bytes of the database and its log. */
uint64_t store_digest(const struct world *world);

/* ---- judge.c ---- */

struct verdict {
    unsigned lost, repeated, other;
    unsigned shown;
};
struct trial {
    struct world *world;
    struct verdict *verdict;
    const struct sweep_case *of;
    const char *fault; /* how to repeat it */
    char call[TEXT_SIZE];
    uint64_t nth;
    bool killed, failed; /* the kind of fault, if it came */
    bool stopped;        /* by SIGTERM, since it waited */
    struct session sessions[SESSIONS_MAX];
    bool resolved_rerun;
    struct snapshot before, after; /* session 1 */
    uint64_t digest;
    unsigned complaints;
};
enum complaint { LOST, REPEATED, OTHER };
/* Notes a failure unless `good`; returns `good`. */
bool expect(struct trial *trial, bool good, enum complaint kind, const char *format,
            ...) __attribute__((format(printf, 4, 5)));
/* Session 1 is over: what it reported must be there, the store whole. */
void judge_session(struct trial *trial);
/* Sessions without faults to the end, and then all that can be said. */
void go_on(struct trial *trial);
/* Of commands that change nothing that counts: the state is as before. */
void judge_unchanged(struct trial *trial);
void judge_undo(struct trial *trial);
void judge_resolve(struct trial *trial);
void judge_added(struct trial *trial);
void judge_withdrawn(struct trial *trial);
/* The exit status of the command with a fault in a call. */
void judge_status(struct trial *trial);
/* `verify` ends well; says so if not. */
void judge_store(struct trial *trial, const struct snapshot *now);

/* ---- cases.c ---- */

struct sweep_case {
    const char *name, *promises, *what;
    bool (*make)(struct world *world); /* the fixture */
    void (*prepare)(struct trial *trial);
    const char *const *arguments;
    void (*judge)(struct trial *trial);
    bool runs;      /* it starts tasks and prints events */
    bool read_only; /* it never changes the store */
    bool adopts, undoes, resolves;
};
extern const struct sweep_case cases[]; /* ended by a name of NULL */

/* ---- sweep.c ---- */

bool parse_fault(const char *text, struct order *order);
int sweep_main(const char *kind, int argc, char **argv);

#endif
