/* SPDX-License-Identifier: MIT */
/* Keepers, for `on_crash: adopt`: every task runs under a small process of its own that
 * survives cairn and its guard, enforces the time limit, and writes down how the task
 * ended. The next cairn takes over what still runs, and reads what ended meanwhile.
 *
 *   engine -> spawner -> keeper (own session) -> task (own group, dies with the keeper)
 *
 * One file per attempt, `live/run-N.GEN.TASK.ATTEMPT.keep`, is both the claim and the
 * record. Who makes it (exclusively, complete at once, and durably) has the attempt:
 * the keeper before it starts the task, or a resumer that revokes it. So an attempt
 * starts once or not at all, and one that a resumer could revoke has never started,
 * even if the power failed meanwhile. Its second half is the record of the end, synced
 * before the keeper ends. Each half has a checksum, which tells a torn or damaged file
 * from a true one; it is no protection against somebody who may write to the store.
 *
 * A keeper is (pid, start time, boot id, attempt token): it is held by a pidfd, and all
 * of that is compared while the pidfd says that it lives. Without all of it nobody is
 * signalled, waited for or believed.
 *
 * To start one: set `keep` in a spawn_request; pid and pidfd are then the keeper's. The
 * request fails only for what went wrong before the keeper ran; that a task could not
 * be executed comes with its record. No timer of the engine is needed.
 *   pidfd readable -> keeper_reap -> commit the outcome -> keeper_forget
 * To go on with a dead run:
 *   leftovers_end_unkept -> keeper_look for each attempt with an open intent:
 *     LIVE   give it a job (keeper_to_slot) and watch the pidfd, then as above
 *     ENDED  the true outcome, as if it had been waited for
 *     NEVER  the attempt did not run, and now cannot: start another one, `once` or not
 *     LOST   interrupted; `once`: unknown
 *   and keepers_each for attempts that the store does not know (started while it could
 *   not be written): end those with keeper_signal, keeper_reap and keeper_forget. */
#ifndef PROCESS_KEEPER_H
#define PROCESS_KEEPER_H

#include "process/capture.h"
#include "process/spawner.h"

struct keeper_order { /* all borrowed until the request comes back */
    struct attempt_id id;
    const char *token;  /* CAIRN_TOKEN of the attempt: <slots' token>.<task>.<attempt>,
                           also in the request's envp */
    int64_t timeout_ms; /* 0: none */
    int64_t grace_ms;   /* between TERM and KILL */
    uint64_t inputs;    /* kept for who takes the attempt over: a hash of how its inputs
                           look */
};

enum keeper_fate { KEEPER_LIVE, KEEPER_ENDED, KEEPER_NEVER, KEEPER_LOST };

struct keeper_record {
    int exit_code;  /* -1 if signalled, or if it failed before its exec */
    int signal;     /* 0 if it exited */
    bool timed_out; /* the keeper ended it, because of its time limit */
    bool stopped;   /* the keeper ended it, because it was asked to */
    int error;      /* errno: the task was not executed; as in spawn_request */
    char stage[16]; /* "" or as in spawn_request: "chdir", "exec", ... */
    pid_t pid;      /* of the task */
    int64_t started_ns, ended_ns; /* UTC */
    int64_t cpu_us;
    int64_t peak_kib; /* 0: unknown */
};

struct keeper {
    struct attempt_id id; /* live_dir is borrowed */
    enum keeper_fate fate;
    pid_t pid;
    int pidfd;                    /* -1: none. Whoever has the struct closes it */
    char token[SLOTS_TOKEN + 32]; /* "" if not known */
    int64_t spawn_boot_ns;        /* as in its slot */
    int64_t started_ns;           /* UTC, when it took the attempt; 0 unknown */
    uint64_t inputs;              /* as it was ordered */
    int error;                    /* NEVER: errno that kept it from starting;
                                     EEXIST: revoked */
    bool damaged;                 /* LOST: its file could not be believed */
    struct keeper_record record;  /* ENDED */
};

/* The keeper of a spawned request (which had no error): LIVE, with its pidfd. */
struct keeper keeper_of(const struct spawn_request *request);

/* What became of an attempt whose intent is open and whose owner is dead; revokes it if
 * it has not started yet. When it is LOST, what was left of it is ended before this
 * returns; CAIRN_EBUSY if that does not end. */
int keeper_look(struct keeper *out, const struct attempt_id *id, const char *store_id,
                struct cairn_error *error);
/* 1: revoked now (or by somebody before), 0: it had started, <0 error. Part of
 * keeper_look. */
int keeper_revoke(const struct attempt_id *id, struct cairn_error *error);

/* From now on no keeper of an earlier owner takes an attempt of the run, however late
 * it comes; those that have one keep it. Part of ending left-overs, so before
 * keeper_look: after it the file of a revoked attempt may be forgotten. */
int keepers_close_epochs(const char *live_dir, uint64_t run, struct cairn_error *error);

/* Calls visit for every attempt of the run that has a file, in no order. Revokes
 * nothing, ends nothing (so LOST ones may have left something). A visitor that wants to
 * keep the pidfd sets it to -1. What visit returns other than 0 ends it and is
 * returned. */
int keepers_each(const char *live_dir, const char *store_id, uint64_t run,
                 int (*visit)(void *context, struct keeper *keeper), void *context,
                 struct cairn_error *error);

/* Removes the files of attempts of other stores, which were copied here with the store:
 * they are in the way of attempts of ours with these numbers. */
void keepers_forget_foreign(const char *live_dir, const char *store_id, uint64_t run);

/* An entry in the slot file of the new owner: so its guard, and the run after it, know
 * of the keeper. Gen, task and attempt are those of its attempt. */
void keeper_to_slot(const struct keeper *keeper, struct slot *slot);

enum keeper_wish {
    KEEPER_STOP, /* TERM to the group of the task, KILL after its grace */
    KEEPER_KILL  /* KILL to the group at once */
};
/* It ends by itself then, with a record that says `stopped`. Also continues a stopped
 * keeper. Nothing happens if it has ended. process_signal would reach the keeper alone:
 * its TERM is KEEPER_STOP, but its KILL makes the attempt LOST. */
void keeper_signal(const struct keeper *keeper, enum keeper_wish wish);

/* For a keeper whose pidfd is readable, our child or not: ends what is left of its task
 * if it left no record, clears the slot (may be NULL), reaps it if it is our child, and
 * closes the pidfd. Then fate is ENDED, NEVER or LOST. A child that could not write its
 * record (disk full) but exited is ENDED by its exit status.
 * CAIRN_EIO if it still runs (and nothing has changed: pidfd is still open). After any
 * other trouble (what it left does not end: CAIRN_EBUSY) all else is done, pidfd is -1,
 * and the fate is the best that can be said. */
int keeper_reap(struct keeper *keeper, struct slot *slot, struct cairn_error *error);

/* Stops every live keeper of a run, so that its record says so. Waits for them. `ended`
 * (may be NULL) is told each. */
int keepers_stop(const char *live_dir, const char *store_id, uint64_t run,
                 void (*ended)(void *context, const struct keeper *keeper),
                 void *context, struct cairn_error *error);

/* Removes the files of an attempt: after its outcome was committed, and its output
 * stored. */
void keeper_forget(const struct attempt_id *id);

#endif
