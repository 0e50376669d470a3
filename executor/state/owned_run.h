/* SPDX-License-Identifier: MIT */
/* The run that this engine owns: the lock of its workflow, its row, its live directory,
 * and its situation when it was opened. owned_run.c is the only writer of `run`.
 */
#ifndef EXECUTOR_STATE_OWNED_RUN_H
#define EXECUTOR_STATE_OWNED_RUN_H

#include "plan/situation.h"
#include "runs/additions.h"
#include "storage/object.h"
#include "storage/rows_run.h"

struct engine;

struct take_back {
    uint64_t command; /* 0: nobody asks */
    struct buf data;  /* runs/additions.h */
    bool granted;     /* and that is committed, or to be */
};

/* The definition of a run whose owner takes more tasks, as bytes that only grow. Of those
 * that are stored, the objects that the newest one is made from (object.h): the n-th one
 * is what stands behind the one whose number has the lowest bit of n cleared, so the n-th
 * is made from fewer than log n, and a task is stored in as many. */
struct growth {
    struct buf bytes;
    struct sha256 *sha;   /* of them */
    struct digest digest; /* of them */
    uint32_t n;           /* objects so far, */
    unsigned n_below;     /* the last of which is made from so many, */
    struct grown_object {
        uint32_t n;
        struct shorter_object object;
    } below[LIMIT_OBJECT_BASES]; /* these; it is the last one of them */
    struct shorter_object put;   /* in this turn */
};

struct ending;

struct owned_run {
    struct situation situation;
    struct run_row row;
    int64_t lock_offset;       /* of the workflow, 0: not held */
    uint64_t earlier_commands; /* up to this id they were stored before we had it */
    const char *live_dir;
    char *temporary; /* live directory of a run without a store */
    char identity[64];
    bool bound;        /* we have the store's handle to ourselves */
    bool lost;         /* its store is not at its path any more */
    int64_t looked_ns; /* for that, last; loop_now_ns */
    bool orderly;      /* ended, and all stored: nothing in the live directory counts */
    /* [n_rescued] interrupted attempts whose long output is in the pool already, until
     * its beginning is stored */
    struct ending *rescued;
    uint32_t n_rescued;
    struct addition *waiting; /* taken, but not a part of the run yet */
    size_t n_waiting, waiting_room;
    int64_t grew_ns, took_ns; /* when such became one, and processor time of that */
    bool grown; /* tasks were added, and the run's row and graph are not stored yet */
    struct growth growth;
    uint64_t *refused; /* additions that are to be refused for the value of a secret */
    size_t n_refused, refused_room;
    struct take_back asked;    /* whether added tasks can be withdrawn */
    struct added_names former; /* of tasks in earlier generations, once asked for */
    uint32_t n_former;         /* of so many */
    struct arena arena;
};

/* Ownership of the workflow, before the situation is looked at. */
int owned_run_lock(struct engine *e, struct cairn_error *error);
int owned_run_load(struct engine *e, struct cairn_error *error);
/* A run without a store still needs a place for output. */
int owned_run_make_temporary(struct engine *e, struct cairn_error *error);
/* The row of the run that goes on, or of a new one. */
int owned_run_take_row(struct engine *e, struct cairn_error *error);
/* Nothing is to be done: the row as it is recorded. */
void owned_run_keep_recorded_row(struct engine *e);
/* Stores the row and the definition; inside a transaction. */
int owned_run_put_row(struct engine *e, struct cairn_error *error);
/* 1: a task of that name was in the run before it had the definition that it has; 0; or
 * an error. Reads each earlier generation once. */
int owned_run_had_task(struct engine *e, struct str name, struct cairn_error *error);
/* The workflow has more tasks, of the definitions from index `defs` on, in the same
 * generation: those that there were have the numbers that they had. */
int owned_run_extend(struct engine *e, uint32_t defs, struct cairn_error *error);
/* Stores that; inside a transaction, before anything that names one of them. */
int owned_run_put_extended(struct engine *e, struct cairn_error *error);
/* It is committed. */
void owned_run_note_extended(struct engine *e);
/* One more addition that waits: copies. CAIRN_ENOMEM. */
int owned_run_let_wait(struct engine *e, const char *name, struct str text,
                       uint64_t addition);
/* None waits any more. */
void owned_run_drop_waiting(struct engine *e);
/* The text of this addition has the value of a secret: it is refused, and its text
 * overwritten, in the next transaction. CAIRN_ENOMEM. */
int owned_run_refuse(struct engine *e, uint64_t addition);
/* Somebody asks to withdraw added tasks, which that transaction decides. False: another
 * one waits for that. */
bool owned_run_take_back(struct engine *e, const struct command_row *row);
/* Inside the transaction, before what it starts is acted on. */
int owned_run_put_answers(struct engine *e, struct cairn_error *error);
/* It is committed: what was withdrawn will not run. CAIRN_ENOMEM. */
int owned_run_note_answers(struct engine *e, struct cairn_error *error);
/* In which attempt of another run it goes on, if in any; inside a transaction. */
int owned_run_put_parent(struct engine *e, struct cairn_error *error);
/* An attempt of the last owner was found to be still alive. */
void owned_run_note_outlived(struct engine *e, uint32_t old_task);
/* How the run has ended; stored by owned_run_put_end, inside a transaction. */
void owned_run_end(struct engine *e, enum cairn_run_state state);
int owned_run_put_end(struct engine *e, struct cairn_error *error);
void owned_run_note_orderly(struct engine *e, bool orderly);
/* Has its store been removed, replaced or moved? From then on nothing is made, renamed
 * or removed by a path into it: that may be another run's. */
bool owned_run_lost(struct engine *e);
/* The same in each turn: looks, unless it did less than a millisecond ago. */
void owned_run_watch_store(struct engine *e);
void owned_run_release(struct engine *e);

#endif
