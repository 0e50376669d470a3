/* SPDX-License-Identifier: MIT */
/* Finding the processes of a run in /proc, and ending them. Compiled into the library
 * and into the helper program: nothing but libc.
 *
 * A process is ours if
 *   - its environment holds our token, or
 *   - it is in a group that a slot names, and that group is verified: its leader began
 *     when the slot says, or one of its members has the token.
 * Groups are signalled whole (that is atomic against forks), after one of those that
 * verify them was looked at once more. A single process is held by a pidfd and looked
 * at once more before its signal. The caller and its ancestors are never touched.
 *
 * A slot marked SLOT_KEPT names a keeper (keeper.h), which leads a session: there the
 * session stands for the group. With `spare`, what belongs to a keeper that lives is
 * not ours: the processes with the token of its attempt, and its session. A keeper is
 * older than all of its task, so a list that has its task has the keeper, too, already
 * under the name of its program.
 *
 *   proc_scan_init -> set the options -> proc_scan_round, again -> proc_scan_release */
#ifndef PROCESS_PROC_SCAN_H
#define PROCESS_PROC_SCAN_H

#include "process/slots.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SCAN_TEXT = 64 * 1024, SCAN_NEEDLE = 160, SCAN_REST = 48 };

struct proc_entry {
    pid_t pid, parent, group, session;
    bool alive;     /* not a zombie */
    bool protected; /* the caller or an ancestor of it */
    bool token, keeper, ours;
    uint64_t start;       /* clock ticks since boot */
    char rest[SCAN_REST]; /* what follows the needle in its token, cut */
};

struct proc_scan {
    const struct slots *slots; /* borrowed; NULL: there are no recorded groups */
    bool spare;                /* what belongs to keepers that live */
    /* Which of them; NULL: all. Of keepers without a claim nobody would hear again. */
    bool (*claims)(void *context, const struct proc_entry *keeper);
    /* Asked right before each signal; NULL: always. After it has said no once, nothing
     * more is signalled, and the scan is `barred`. */
    bool (*may_signal)(void *context);
    void *context;
    bool barred;
    const char
        *suffix;       /* NULL, or ".<task>.<attempt>": only tokens that end so count */
    pid_t session;     /* besides the slots: of a keeper that is dead; 0: none */
    bool session_held; /* by a zombie: the number means nobody else */
    uint64_t since;    /* clock ticks: what is older is not asked for its token */
    long ticks;        /* per second */
    struct proc_entry *all; /* as of the last round */
    size_t count, capacity;
    size_t unsure; /* in the last round: processes in the middle of an exec */
    char needle[SCAN_NEEDLE]; /* NUL "CAIRN_TOKEN=" token "." */
    size_t needle_len;
    char text[SCAN_TEXT];
};

/* `token` without its last dot. */
void proc_scan_init(struct proc_scan *scan, const struct slots *slots,
                    const char *token, uint64_t since);
void proc_scan_release(struct proc_scan *scan);

/* One look at all processes; `signal` (0: none) goes to those that are ours. Returns
 * how many of ours were alive before it, so "none is left" takes a further round. They
 * are marked `ours` in scan->all. -1: /proc cannot be read, or no memory. */
int proc_scan_round(struct proc_scan *scan, int signal);

/* Opens /proc/PID/name for reading, as open(2). */
int proc_open(pid_t pid, const char *name);
/* Reads /proc/PID/stat; false if there is no such process. */
bool proc_stat(pid_t pid, struct proc_entry *out);
bool proc_ends_with(const char *text, const char *end);

#endif
