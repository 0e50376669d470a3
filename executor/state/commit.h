/* SPDX-License-Identifier: MIT */
/* Committing a turn: whether saving works, and the chain that records go to. commit.c
 * is the only writer of `saving`. */
#ifndef EXECUTOR_STATE_COMMIT_H
#define EXECUTOR_STATE_COMMIT_H

#include "checkpoint/outcomes.h"

struct engine;

struct ending;

/* Most intents beyond those for what may run now, where processes are started. */
enum { AHEAD_MOST = 32 };

struct saving {
    struct run_stream stream;
    uint64_t since; /* the newest record of the run when this owner began; 0: none */
    struct sha256 *sha;
    uint32_t ahead;        /* intents beyond those for what may run now */
    int64_t acted_ns;      /* of the last commit */
    bool degraded;         /* the last commit failed */
    bool waits;            /* for TIMER_COMMIT, before the next one is tried */
    int64_t busy_since_ns; /* another process has the write lock; 0: no */
    uint32_t unsaved;      /* outcomes that the end could not save */
    bool end_unsaved;
    bool holds_content; /* what was put for the next commit is not to be collected */
};

int saving_open(struct engine *e, uint32_t ahead, struct cairn_error *error);
void saving_release(struct engine *e);
/* Takes over the lock of what was just put into the pool, if *locked: nobody collects it
 * until the turn is committed. */
void saving_hold_content(struct engine *e, bool *locked);
/* Ends that, outside of turns. */
void saving_let_go_of_content(struct engine *e);
/* What is longer than this is stored before the transaction that refers to it, in short
 * ones, in which others can write in between. What cannot be stored so is stored by that
 * transaction. */
enum { LONG_OUTPUT_BYTES = 16 << 20 };
void saving_put_long_output(struct engine *e, struct ending *ending);
/* Records go behind `head` from now on; inside a transaction. */
void saving_begin_chain(struct engine *e, const struct run_stream *head);
/* A full record of the states; inside a transaction. */
int saving_put_full(struct engine *e, struct cairn_error *error);
/* TIMER_COMMIT is due. */
void saving_try_now(struct engine *e);

/* Commits if there is anything to commit; acts on it. Only trouble that ends the run is
 * an error. */
int engine_commit(struct engine *e, struct cairn_error *error);
/* The last commit: the run's state, a full record, retention. */
int engine_commit_end(struct engine *e, enum cairn_run_state state,
                      struct cairn_error *error);
/* All of `put` in one transaction, or nothing. */
int engine_transact(struct engine *e, int wait_ms,
                    int (*put)(struct engine *, struct cairn_error *),
                    struct cairn_error *error);

#endif
