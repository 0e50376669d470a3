/* SPDX-License-Identifier: MIT */
/* The runner seam: what the engine asks of whatever runs its tasks, and of the clock
 * that they go by. Two implementations: processes of this machine (local_runner.c), and
 * the tests' own, whose tasks are scripts and whose clock moves only while the engine
 * waits (tests/support/fake_runner.h). A cluster's would be the third.
 *
 *   open -> submit -> collect: it has started, or says why not; or it was recalled
 *                  -> collect: it has ended -> reap -> go_on: the next one may start
 *        -> close -> free
 * For an attempt that an earlier process started (on_crash: adopt, see keeper.h):
 *   look -> adopt -> collect: it has ended -> reap
 *
 * All calls come from the thread of the engine, and none of them blocks, except wait,
 * discard, open and close. */
#ifndef PROCESS_RUNNER_H
#define PROCESS_RUNNER_H

#include "process/keeper.h"
#include "process/spawner.h"

#include <sys/epoll.h>

/* A started task, until it is reaped. */
struct runner_process {
    pid_t pid; /* of the task, or of its keeper; 0: there is none (any more) */
    int pidfd; /* -1: none */
    struct slot *slot;
    bool kept; /* it runs under a keeper, which is: */
    struct keeper keeper;
};

struct runner_wait {
    int epoll_fd; /* what the engine watches, among it the runner's descriptors; -1: it
                     only wants to wait */
    int64_t now_ns, until_ns; /* monotonic; not longer than this */
    int64_t tick_ns;          /* a tick is due, which may also come late */
    enum spawner_rest rest;   /* as in spawner_rest */
    uint32_t low;
};

enum runner_stop {
    RUNNER_ASK, /* TERM. Under a keeper, which then also sees to the grace: KILL */
    RUNNER_KILL
};

struct runner;

struct runner_ops {
    /* ---- The clock ---- */
    int64_t (*mono_ns)(const struct runner *runner);
    int64_t (*utc_ns)(const struct runner *runner);
    /* epoll_wait on what the engine watches. Comes back early for news. */
    int (*wait)(struct runner *runner, const struct runner_wait *wait,
                struct epoll_event *events, int most);

    /* ---- Its life ---- */
    /* Before the first task; sets the descriptors of struct runner. At most `limit`
     * tasks are alive at once. `slots` and `notes` stay until close. Before the next
     * task starts, the end of one that has a place in `notes` is written there, if the
     * runner knows it. */
    int (*open)(struct runner *runner, const struct slot_map *slots,
                const struct end_notes *notes, uint32_t limit,
                struct cairn_error *error);
    /* Its `tend_fd` is readable. *notice: for people, NULL if there is none. */
    int (*tend)(struct runner *runner, const char **notice, struct cairn_error *error);
    /* Ends what runs, except what is under a keeper; all requests are the caller's
     * again. Also before open, and a second time. */
    void (*close)(struct runner *runner);
    void (*free)(struct runner *runner);

    /* ---- Tasks, by their requests: as in spawner.h ---- */
    void (*submit)(struct runner *runner, struct spawn_request *request);
    /* The list is complete, also when there is an error. */
    int (*collect)(struct runner *runner, struct spawn_request **news,
                   struct cairn_error *error);
    void (*go_on)(struct runner *runner, uint64_t ticket);
    void (*recall)(struct runner *runner);

    /* ---- Tasks, by their processes ---- */
    /* It may have ended before that is collected. */
    bool (*has_ended)(struct runner *runner, const struct runner_process *process);
    void (*stop)(struct runner *runner, const struct runner_process *process,
                 enum runner_stop how);
    /* What process_reap does, or keeper_reap if it is kept: then `end` is untouched,
     * and the keeper says how it ended. Unless it has not ended yet (CAIRN_EIO under a
     * keeper), there is no process afterwards, whatever is returned. */
    int (*reap)(struct runner *runner, struct runner_process *process,
                struct process_end *end, struct cairn_error *error);

    /* ---- What an earlier process has started under keepers ---- */
    /* As keeper_look. */
    int (*look)(struct runner *runner, struct keeper *out, const struct attempt_id *id,
                const char *store_id, struct cairn_error *error);
    /* A live one that was looked at is a process of this runner from now on, and its
     * end is collected as that of the request. */
    int (*adopt)(struct runner *runner, const struct runner_process *process,
                 struct spawn_request *request, struct cairn_error *error);
    /* Ends a live one that nobody will adopt, and gives up what the keeper holds. */
    int (*discard)(struct runner *runner, struct keeper *keeper,
                   struct cairn_error *error);
};

struct runner {
    const struct runner_ops *ops;
    int news_fd; /* readable: collect has something; -1: only wait says so */
    int tend_fd; /* readable: tend is to be called; -1: never */
};

/* The process of a request that has started. */
struct runner_process runner_process_of(const struct spawn_request *request);

/* Processes of this machine, with the machine's clocks; NULL: out of memory. */
struct runner *local_runner_new(void);

#endif
