/* SPDX-License-Identifier: MIT */
/* Processes: starting them (a spawner's threads), guarding them (one guard process per
 * run), collecting their end, and ending what a dead run left behind.
 *
 * A child is made by clone(CLONE_VM | CLONE_VFORK | CLONE_PIDFD) from one of the
 * spawner's threads, with all signals blocked. It sets its process group, a
 * parent-death signal (SIGKILL), checks that the engine still lives, puts its pid into
 * its slot, restores default signal handling, and execs. */
#ifndef PROCESS_SPAWN_H
#define PROCESS_SPAWN_H

#include "base/str.h"
#include "process/slots.h"

#include <stdbool.h>
#include <sys/types.h>

/* ---- The slots ---- */

struct slot_map {
    struct slots *slots; /* shared with children and the guard; for others a copy */
    size_t bytes;
    int fd;   /* of that memory, for the guard */
    int file; /* the slot file, written by slots_tell; -1: not ours */
    char path[4096];
};
/* Creates `DIR/run-N.slots` anew for n slots, filled with the owner's identity and a
 * token "<store id>.<run>.<16 random hex digits>". */
int slots_create(struct slot_map *map, const char *live_dir, const char *store_id,
                 uint64_t run, uint32_t n, struct cairn_error *error);
/* Writes a slot, or what stands before the slots, into the file, for those who come
 * later. */
void slots_tell(const struct slot_map *map, const struct slot *slot);
void slots_tell_head(const struct slot_map *map);
/* Reads an existing file; checks magic, version and size. ENOTFOUND, EDAMAGED. */
int slots_open(struct slot_map *map, const char *live_dir, uint64_t run,
               struct cairn_error *error);
/* Unmaps; `remove` also deletes the file. */
void slots_close(struct slot_map *map, bool remove);

/* ---- The guard ---- */

struct guard {
    pid_t pid;
    int pidfd;   /* readable when the guard has died: start another one */
    int life_fd; /* write end; its closing, by death or guard_stop, wakes the guard */
};
int guard_start(struct guard *guard, const struct slot_map *map,
                struct cairn_error *error);
/* Ends the guard after all slots are empty; reaps it. */
void guard_stop(struct guard *guard);

/* ---- Spawning ---- */

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
    int stdout_fd, stderr_fd;     /* -1: /dev/null */
    struct slot *slot;            /* pid and spawn_boot_ns are set here, */
    const struct slot_map *slots; /* and told here; NULL: nowhere */
    /* Not NULL: run it under a keeper, see keeper.h. pid and pidfd are the keeper's. */
    const struct keeper_order *keep;
    enum spawn_ahead ahead;
    /* Both must stay until the child's end; NULL: none. */
    const char *quiet_file;
    const char *outputs; /* paths, each with its NUL, then an empty one */
    uint64_t ticket;     /* for spawner_go_on; the caller's choice, never reused */
    bool may_recall;
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
 * few more than `limit`. The ends come back from spawner_collect, too. */
int spawner_start(struct spawner **out, uint32_t limit, struct cairn_error *error);
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

/* ---- The end of a process ---- */

struct process_end {
    int exit_code; /* -1 if signalled */
    int signal;    /* 0 if it exited */
    int64_t cpu_us;
    int64_t peak_kib; /* 0: unknown. Until exec a child counts as large as the engine,
                         so a smaller peak than the engine's own cannot be told */
};
/* For a child whose pidfd is readable: ends what is left of its group (SIGKILL), clears
 * the slot, reaps it and closes the pidfd. CAIRN_EIO if the kernel has no such child
 * any more (somebody else reaped it). */
int process_reap(pid_t pid, int pidfd, struct slot *slot, struct process_end *end,
                 struct cairn_error *error);
/* Signals the whole group of an unreaped child. */
void process_signal(pid_t pid, int signal);

/* ---- Left-overs ---- */

struct leftovers {
    uint32_t found, ended, survived;
};
/* Ends what a dead run left behind: processes whose environment has CAIRN_TOKEN with
 * the store id and run, and groups recorded in its slot file (same boot, leader's start
 * time right). TERM, up to grace_ms, KILL. Never by pid alone: each is held by a pidfd
 * and checked again before the signal. Does nothing to its own ancestors or itself. */
int leftovers_end(const char *live_dir, const char *store_id, uint64_t run,
                  int64_t grace_ms, struct leftovers *out, struct cairn_error *error);
/* The same for a run that is to be adopted: processes of attempts whose keeper lives,
 * and that keeper itself, are neither touched nor counted. */
int leftovers_end_unkept(const char *live_dir, const char *store_id, uint64_t run,
                         int64_t grace_ms, struct leftovers *out,
                         struct cairn_error *error);

/* Why a request did not become a running task. */
void spawn_describe_failure(const struct spawn_request *request, struct buf *text);

#endif
