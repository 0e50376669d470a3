/* SPDX-License-Identifier: MIT */
/* The spawner: threads that start every process of an engine.
 *
 * A child is made by clone(CLONE_VM | CLONE_VFORK | CLONE_PIDFD) from one of them, with
 * all signals blocked. It sets its process group and a parent-death signal (SIGKILL),
 * checks that the engine still lives, puts its pid into its slot, restores default
 * signal handling, and execs (child.c). One that is `attached` gets no group.
 *
 *   spawner_submit -> spawner_collect: it has started, or says why not
 *                  -> spawner_collect: its child has ended -> process_reap
 *                  -> spawner_go_on: the next one may start
 *
 * The end of a process that the spawner started, and signals until then. */
#ifndef PROCESS_SPAWNER_H
#define PROCESS_SPAWNER_H

#include "base/error.h"
#include "base/str.h"
#include "process/end_notes.h"
#include "process/slot_map.h"
#include "process/slots.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct keeper_order;

/* With a limit: what the end of this child means for those that wait.
 * AFTER_CALLER: the next one starts when the caller has called spawner_go_on.
 * AHEAD_IF_GOOD: it starts at once if this one exited with 0, its `quiet_file` is empty
 * and its `outputs` are files that can be read; else after spawner_go_on. AHEAD: at
 * once. */
enum spawn_ahead { SPAWN_AFTER_CALLER, SPAWN_AHEAD_IF_GOOD, SPAWN_AHEAD };

struct spawn_request {
    /* in; all borrowed until the request comes back */
    char *const *argv;
    char *const *otherwise; /* if argv cannot be executed: this; NULL: nothing */
    char *const *envp;
    const char *path; /* PATH to search when argv[0] has no '/'; NULL: a default one */
    const char *cwd;  /* NULL: inherit */
    int stdout_fd, stderr_fd; /* -1: /dev/null */
    int stdin_fd;             /* 0: /dev/null, or our own of one that is attached */
    /* It is a part of our job: stays in our group, keeps our terminal and stdin, and a
     * SIGINT, SIGQUIT or SIGHUP that we ignore. Its pid is no group, then. */
    bool attached;
    uint8_t nice;                 /* its niceness, above ours */
    uint32_t files;               /* soft limit of its descriptors; 0: as ours */
    struct slot *slot;            /* pid and spawn_boot_ns are set here, */
    const struct slot_map *slots; /* and noted here; NULL: nowhere */
    /* Not NULL: run it under a keeper, see keeper.h. pid and pidfd are the keeper's. */
    const struct keeper_order *keep;
    int hold_fd; /* which the keeper has open as long as it lives; 0: none */
    enum spawn_ahead ahead;
    /* Both must stay until the child's end; NULL: none. */
    const char *quiet_file; /* the one for $CAIRN_OUTPUT */
    const char *outputs;    /* paths, each with its NUL, then an empty one */
    uint64_t ticket;        /* for spawner_go_on; the caller's choice, never reused */
    bool may_recall;
    uint32_t note; /* where its end is noted (end_notes.h); NOTE_NONE: nowhere */
    uint64_t basis, inputs; /* ... with these */
    /* NOTE_...; the caller adds NOTE_TIMED_OUT or NOTE_STOPPED before it signals. */
    _Atomic uint32_t note_flags;
    void *context;
    /* out */
    pid_t pid;
    int pidfd; /* -1 if not spawned */
    int error; /* errno: of exec (then exit_code is 127 or 126), or of what failed
                  before (then exit_code is -1) */
    int exit_code;
    bool other;                 /* it executed `otherwise` */
    const char *stage;          /* what failed: "chdir", "exec", "clone", ... */
    int64_t started_ns;         /* UTC */
    bool watched;               /* it comes back once more when its child has ended; */
    bool ended;                 /* it has: pid and pidfd may be reaped. */
    int64_t ended_ns;           /* UTC */
    struct spawn_request *next; /* of those collected together */
    /* the spawner's own */
    struct spawn_request *link;
    bool listed, over;
};

struct spawner;

/* Starts its threads. At most `limit` children are alive at once (0: any number);
 * further requests wait in the spawner, and the next one starts as soon as a child
 * ends, without waiting for the caller if that child's `ahead` allows it: so hand in a
 * few more than `limit`. The ends come back from spawner_collect, too. Before that, and
 * before the next child starts, each is written to `notes` (borrowed; NULL: nowhere).
 */
int spawner_start(struct spawner **out, uint32_t limit, const struct end_notes *notes,
                  struct cairn_error *error);
/* Ends the threads, and with them (by the parent-death signal) children still alive,
 * but not keepers. What waits is not started; all requests are the caller's again, also
 * those that were started and not collected. NULL is accepted. */
void spawner_stop(struct spawner *spawner);
/* The caller has looked at the end of this child: the next one may start. To be called
 * for each child that ended, in a spawner with a limit. */
void spawner_go_on(struct spawner *spawner, uint64_t ticket);
/* Takes back what is still waiting and may be recalled: it comes from spawner_collect
 * with error ECANCELED, exit_code -1, stage "recall". */
void spawner_recall(struct spawner *spawner);
/* Readable (eventfd) when spawner_collect has something. */
int spawner_fd(const struct spawner *spawner);

/* Until its next spawner_collect, which comes by itself soon, the caller is not woken
 * for each child: not by one that has started, and with REST_ENDS not by the end of one
 * whose place is filled again either, as long as `low` requests are left to start. */
enum spawner_rest { REST_NOT, REST_STARTS, REST_ENDS };

void spawner_rest(struct spawner *spawner, enum spawner_rest rest, uint32_t low);
void spawner_submit(struct spawner *spawner, struct spawn_request *request);
/* A list (by next) of requests that are done or whose child has ended, in order, each
 * once; NULL if none. Never blocks. */
struct spawn_request *spawner_collect(struct spawner *spawner);
/* Why a request did not become a running task, for people. */
void spawn_describe_failure(const struct spawn_request *request, struct buf *text);
/* Of a command that was started and ended with 127: a script that it names may have a
 * wrong first line. Appends nothing if none has. */
void spawn_describe_not_found(const struct spawn_request *request, struct buf *text);

struct process_end {
    int exit_code; /* -1 if signalled */
    int signal;    /* 0 if it exited */
    int64_t cpu_us;
    int64_t peak_kib; /* 0: unknown. Until exec a child counts as large as the engine,
                         so a peak below the engine's own is not visible */
    bool left_behind; /* there was more in its group than itself, which was ended */
    bool unknown;     /* set by the caller where process_reap has failed */
};

/* For a child whose pidfd is readable: ends what is left of its group (SIGKILL), clears
 * the slot, reaps it and closes the pidfd. CAIRN_EIO if the kernel has no such child
 * any more (somebody else reaped it). */
int process_reap(pid_t pid, int pidfd, struct slot *slot, struct process_end *end,
                 struct cairn_error *error);
/* Right after process_reap has said `left_behind`: appends the names of those that are
 * still to be seen, "sleep, node and 3 more". Nothing if there are none any more. What
 * had ended by itself, and was not collected by its new parent, is left out. */
void left_behind_names(pid_t group, struct buf *names);
/* Signals the whole group of an unreaped child. */
void process_signal(pid_t pid, int signal);

#endif
