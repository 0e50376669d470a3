/* SPDX-License-Identifier: MIT */
/* The crash tests: random graphs of tasks with side-effect logs, run by the real
 * command, which is killed at random or chosen moments and resumed. docs/crash-tests.md
 * tells what is checked.
 *
 * A graph's directory holds flow.yaml, the store, `log` (one line per event of a task,
 * see task.c), locks/, out/, flaky/, and what each session of cairn printed: out.K and
 * err.K. A session is one process of cairn; its number is in the environment of all
 * that it starts (CRASH_SESSION), beside the directory (CRASH_DIR). */
#ifndef TESTS_CRASH_H
#define TESTS_CRASH_H

#include "cairn.h"

#include "tests/support/program.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { TASKS_MAX = 200, DEFS_MAX = 200, NEEDS_MAX = 4, ID_MAX = 48, DIR_SIZE = 512 };
enum { SESSIONS_MAX = 16, PATIENCE_MS = 30000, GONE_MS = 5000 };

/* ---- graph.c: repeatable random numbers, random workflows ---- */

struct rng {
    uint64_t state;
};
uint32_t rng_below(struct rng *rng, uint32_t n);
bool rng_one_in(struct rng *rng, uint32_t n);

enum def_flag {
    DEF_SHELL = 1,   /* `run`, not `exec` */
    DEF_CHILD = 2,   /* starts a process in the background of its group */
    DEF_SESSION = 4, /* starts one that leaves group and session */
    DEF_STUBBORN = 8 /* it and what it starts ignore TERM */,
    DEF_FAILS = 16,
    DEF_FLAKY = 32, /* fails once, then works */
    DEF_OUTPUT = 64,
    /* Only in a shape with `ends`: */
    DEF_ONCE = 128,
    DEF_CHECK = 256,
    DEF_PRINTS = 512,  /* always; and it gets a value of its first need */
    DEF_EXIT = 1024,   /* it exits with `code`, or a signal ends it */
    DEF_TIMEOUT = 2048 /* its time limit ends it */
};
struct def {
    uint32_t first, members; /* its tasks; members 0: no foreach */
    uint32_t needs[NEEDS_MAX], n_needs;
    bool element[NEEDS_MAX]; /* element-wise need */
    uint32_t flags, sleep_ms;
    uint32_t code; /* as END of task.c */
};
struct workflow {
    struct def defs[DEFS_MAX];
    uint32_t n_defs, n_tasks;
    char id[TASKS_MAX][ID_MAX];
    uint32_t def_of[TASKS_MAX];
    bool fails; /* a task fails for good */
    bool ends;  /* of such a shape */
    bool adopt; /* on_crash: adopt */
};
struct shape {
    uint32_t least, most; /* tasks */
    uint32_t sleep_ms;    /* longest */
    bool plain;           /* no failures, no background processes, no foreach */
    bool ends;            /* once, checks, exit codes, signals, time limits; values */
    bool wide;            /* nothing needs anything */
    bool adopt;
};
void workflow_make(struct workflow *w, struct rng *rng, const struct shape *shape);
/* Writes DIR/flow.yaml. */
bool workflow_write(const struct workflow *w, const char *dir, const char *task_path);
uint32_t workflow_find(const struct workflow *w, const char *id);
/* Calls each(context, need) for every task that `task` needs. */
void workflow_needs(const struct workflow *w, uint32_t task,
                    void (*each)(void *, uint32_t), void *context);
/* Outcomes of an unbroken run. */
void workflow_expect(const struct workflow *w, enum cairn_outcome *outcomes);

/* ---- journal.c: the side-effect log ---- */

enum line_kind {
    LINE_START,
    LINE_END,
    LINE_FAIL,
    LINE_OVERLAP,
    LINE_CHECK,
    LINE_CHECKED,
    LINE_UNDO,
    LINE_UNDONE
};
struct line {
    enum line_kind kind;
    uint32_t task, attempt, session;
    int64_t time_ns;
    pid_t pid;
    char got[64];
};
struct journal {
    struct line *lines;
    uint32_t n;
};
bool journal_read(struct journal *journal, const struct workflow *w, const char *dir);
void journal_release(struct journal *journal);

/* ---- scenario.c: one test, its directory and its verdict ---- */

/* By `cairn plan`. TAKEN_OVER: its end was noted, so its outcome is recorded without
 * another attempt. MAY_RUN: it needs one that is taken over and had failed. */
enum planned { NOT_PLANNED, PLANNED, TAKEN_OVER, MAY_RUN };

struct setup {
    const char *cairn, *task, *killer; /* absolute paths */
    const char *work;                  /* where the directories are made */
    uint64_t seed;
};
struct scenario {
    const struct setup *setup;
    char name[64];
    char dir[DIR_SIZE], whole[DIR_SIZE]; /* killed, and unbroken for comparison */
    struct rng rng;
    struct workflow w;
    uint32_t jobs, sessions, failures;
    uint32_t kills, guard_kills;
    uint32_t repeats; /* of tasks that had logged their end when cairn was killed */
    uint32_t sync_ms; /* what each sync of cairn takes longer */
    bool done_before[SESSIONS_MAX][TASKS_MAX]; /* recorded completed before session */
    uint8_t planned[SESSIONS_MAX][TASKS_MAX];  /* enum planned, before session */
    bool gone[SESSIONS_MAX][TASKS_MAX]; /* the task's process had ended well, and was
                                           collected, when the session was killed */
    bool finished[SESSIONS_MAX];        /* the session ended by itself */
    uint32_t settled; /* sessions before the one that first came to the end */
    bool damaged;     /* records were damaged: what was reported need not be there */
};
bool scenario_begin(struct scenario *s, const struct setup *setup, const char *name,
                    uint64_t seed, const struct shape *shape);
/* Prints the TAP line; removes the directories unless something failed. */
void scenario_end(struct scenario *s, const char *detail);
/* Ends it without a line. */
void scenario_discard(struct scenario *s);
void scenario_skip(const char *name, const char *why);
/* Notes a failure unless `good`; returns `good`. */
bool check(struct scenario *s, bool good, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* `N passed, N failed, N skipped`; returns the exit status. */
int scenario_totals(void);

/* ---- drive.c: the command ---- */

struct session {
    pid_t pid;
    int64_t started_ms;
};
/* Starts `cairn ARGUMENTS...` in dir; output to out.TAG and err.TAG. `kill_at` (may be
 * NULL) goes to the shim, see killer.c. */
bool cairn_start(struct scenario *s, struct session *session, const char *dir,
                 const char *tag, const char *kill_at, const char *const *arguments);
/* Waits; the exit status, or 128 + signal. A hang is ended and is a failure. */
int cairn_wait(struct scenario *s, const struct session *session);
/* Both. */
int cairn_do(struct scenario *s, const char *dir, const char *tag,
             const char *const *arguments);
/* SIGKILL, the guard before it if asked for; notes who was gone by then. */
void cairn_kill(struct scenario *s, const struct session *session, bool guard_too);
/* The text of DIR/NAME.TAG; NULL if it cannot be read. To be freed. */
char *printed(const char *dir, const char *name, const char *tag);

/* ---- left.c: processes ---- */

/* How many processes of sessions below `below` live, guards included. `in_session`:
 * those that left their session count, too. */
uint32_t left_over(const char *dir, uint32_t below, bool in_session);
/* Polls until there are none. */
bool left_none(const char *dir, uint32_t below, bool in_session);
/* Ends them, for the clean-up. */
void left_end(const char *dir);
/* A process that is the guard of a run of the store in `dir`. */
bool is_guard(pid_t pid, const char *dir);
/* ... a keeper of a task of it. */
bool is_keeper(pid_t pid, const char *dir);

/* ---- state.c: what the store says ---- */

struct snapshot {
    bool exists; /* there is a run */
    uint64_t run;
    enum cairn_run_state state;
    enum cairn_outcome outcome[TASKS_MAX];
    uint32_t attempts[TASKS_MAX];
    bool interrupted[TASKS_MAX]; /* an attempt is open, though its keeper may live */
};
bool snapshot_take(struct scenario *s, const char *dir, struct snapshot *snapshot);
/* Outcomes as of a checkpoint. */
bool checkpoint_outcomes(struct scenario *s, const char *dir, uint64_t seq,
                         enum cairn_outcome *outcomes);
enum { SEQS_MAX = 4096 };
/* Checkpoints, newest first; how many. */
uint32_t checkpoint_seqs(struct scenario *s, const char *dir, uint64_t *seqs);
/* Changes one byte of a stored record. */
bool damage_record(struct scenario *s, const char *dir, uint64_t seq);
/* What `plan --json` printed as out.TAG. */
bool plan_read(struct scenario *s, const char *dir, const char *tag, uint8_t *planned,
               uint32_t *n);
/* Tasks that out.TAG of `run --json` reports as completed. */
bool reported_read(struct scenario *s, const char *dir, const char *tag,
                   bool *reported);

/* ---- checks.c ---- */

/* Over the whole journal, at the end. */
void check_journal(struct scenario *s);
void check_order(struct scenario *s, const char *dir);
void check_final(struct scenario *s, bool compare_whole);
/* True if the run came to its end: what left its session on purpose may live on. */
bool run_has_ended(const struct snapshot *snapshot);
/* Between two sessions: snapshot, what was reported, the plan of the next session. */
void check_between(struct scenario *s, struct snapshot *snapshot);
/* The unbroken run; its duration in milliseconds, or -1. */
int64_t run_whole(struct scenario *s);
/* The next session of s->dir: `run` if there is no run yet, else `resume`. */
bool session_start(struct scenario *s, struct session *session, const char *kill_at);
/* Notes how a session ended. */
void session_end(struct scenario *s, int status);
/* Sessions without kills until it is done. */
void session_finish(struct scenario *s);

/* ---- the kinds of tests ---- */

void test_random(const struct setup *setup, uint32_t count);
/* `count` kills. */
void test_storm(const struct setup *setup, uint32_t count);
void test_windows(const struct setup *setup, uint32_t count);
void test_damage(const struct setup *setup, uint32_t count);
void test_bytes(const struct setup *setup);
void test_from(const struct setup *setup, uint32_t count);
/* `count` kills under on_crash: adopt, or under kill with `once` tasks. */
void test_adopt(const struct setup *setup, uint32_t count);
void test_once(const struct setup *setup, uint32_t count);
/* Chosen situations, `count` times each. */
void test_adopt_cases(const struct setup *setup, uint32_t count);

#endif
