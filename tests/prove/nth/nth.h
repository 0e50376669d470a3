/* SPDX-License-Identifier: MIT */
/* Faults at every system call of the command.
 *
 * nth runs a command under ptrace, counts the system calls of its own threads, and at
 * the N-th kills it, or lets that call fail. Processes that the command makes (tasks,
 * the guard, keepers) run free: only what is made as a thread is followed. On its own
 * it does that once (main.c); sweeps do it for N = 1, 2, ... over the commands of
 * cairn, and judge each time what is left (sweep_kill.c, sweep_fault.c).
 *
 * nth is the reaper of all that it starts, so whatever a dead cairn leaves behind
 * becomes its child: nothing is left if there is no child any more. */
#ifndef TESTS_NTH_H
#define TESTS_NTH_H

#include "cairn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { PATH_SIZE = 512, TEXT_SIZE = 600 };

/* ---- calls.c: the system calls, by what they do ---- */

enum {
    SHORT_WRITE = 1000 /* in place of an error: half of the bytes are written */
};
enum call_class {
    CALLS_ALL,
    CALLS_CHANGE, /* all that changes anything outside of the process */
    CALLS_OPEN,
    CALLS_WRITE, /* to files; not to stderr, where the message goes */
    CALLS_READ,  /* of files */
    CALLS_SYNC,
    CALLS_RENAME,
    CALLS_UNLINK,
    CALLS_MKDIR,
    CALLS_TRUNCATE,
    CALLS_ATTRIBUTE,
    CALLS_STAT,
    CALLS_LOCK,     /* not unlocking */
    CALLS_OWN_LOCK, /* those that are cairn's, not SQLite's */
    CALLS_MEMORY,
    CALLS_SPAWN, /* processes and threads */
    CALLS_DESCRIPTOR,
    CALLS_WATCH,
    CALLS_WAIT,
    CALLS_LAST = CALLS_WAIT
};
struct fault {
    enum call_class class;
    int error; /* an errno, or SHORT_WRITE */
    bool once; /* it makes no sense, or cannot be, from then on */
};
/* What can really occur, for the sweeps; ended by CALLS_ALL. */
extern const struct fault faults[];
const char *class_name(enum call_class class);
/* CALLS_ALL if there is none. */
enum call_class class_find(const char *name);
/* A short name of an errno or SHORT_WRITE; never NULL. */
const char *error_name(int error);
int error_find(const char *name);

struct call {
    pid_t process, thread;
    uint64_t number, arguments[6];
};
bool call_is(const struct call *call, enum call_class class);
/* Is its first argument a descriptor? */
bool call_has_fd(const struct call *call);
/* The name in its second argument, cut. */
void call_name(const struct call *call, char *text, size_t size);
/* For people: its name, and the file it is about. */
void call_describe(const struct call *call, char *text, size_t size);

/* ---- start.c: processes ---- */

struct start {
    const char *const *argv;
    char *const *environment;
    const char *dir, *out, *err; /* NULL: ours */
    bool traced;
    bool session; /* it gets one of its own */
};
/* -1 and errno. */
pid_t start(const struct start *start);
/* The wait status. After `timeout_ms` it is killed, and *hung set. */
int await(pid_t pid, int timeout_ms, bool *hung);
void become_reaper(void);
/* Reaps until no descendant is left; false if there still is one after `timeout_ms`.
 * Describes (to `left`, may be NULL) and kills those. */
bool none_left(int timeout_ms, char *left, size_t size);
/* SIGALRM after so long, 0: no more. Interrupts waits. */
void set_alarm(int timeout_ms);
bool alarmed(void);
int64_t now_us(void);

/* ---- trace.c ---- */

enum at_nth { COUNT_ONLY, KILL_AT_ENTRY, KILL_AT_EXIT, FAIL_ONCE, FAIL_FROM_THEN_ON };
/* While it can save nothing cairn may wait, for ever: what is done if it has not made a
 * call for a while, though calls fail. */
enum if_waiting { LET_WAIT, STOP_IT /* SIGTERM */, LIFT_FAULT };
struct order {
    enum at_nth what;
    enum if_waiting if_waiting;
    uint64_t nth; /* from 1, among the calls of `class` */
    enum call_class class;
    int error;
    int timeout_ms;
};
struct outcome {
    uint64_t calls;       /* of the class */
    bool fired;           /* the N-th call came */
    bool hung;            /* ended by the timeout */
    bool stopped, lifted; /* as `if_waiting` says */
    int status;           /* wait status of the command */
    char what[TEXT_SIZE]; /* the N-th call; of a hang, the last calls */
};
/* Calls are counted from the end of the dynamic loader's work. False: cannot start. */
bool trace(const struct start *start, const struct order *order,
           struct outcome *outcome);

#endif
