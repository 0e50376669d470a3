/* SPDX-License-Identifier: MIT */
/* The engine behind cairn_run: one loop, one turn at a time. For executor/ only.
 *
 *   collect   what happened: exits, spawned, timers, stop, finished callbacks, commands
 *   decide    outcomes, retries, skips, what is ready (sched.h; no I/O)
 *   commit    outcomes, checkpoints and intents in one transaction (commit.c)
 *   act       start what has a durable intent, report what is durable
 *
 * Invariants
 * - An attempt starts only after its intent is committed; an outcome is reported, and
 *   releases its users' starts, only after its checkpoint is committed. While saving
 *   fails and the policy is best effort, both happen unsaved, and are written by the
 *   next commit that succeeds: nothing leaves `endings` or `intents` before.
 * - `states` is what the next record would say: it includes all of `endings`. */
#ifndef EXECUTOR_PARTS_ENGINE_H
#define EXECUTOR_PARTS_ENGINE_H

#include "executor/parts/audit.h"
#include "executor/parts/calls.h"
#include "executor/parts/command_line.h"
#include "executor/parts/commit.h"
#include "executor/parts/halt.h"
#include "executor/parts/jobs.h"
#include "executor/parts/loop.h"
#include "executor/parts/progress.h"
#include "executor/parts/starts.h"
#include "executor/parts/tenure.h"
#include "executor/parts/turn.h"

/* A run is its tasks, then the undoing (on_failure: undo), then `finally`. */
enum phase { PHASE_MAIN, PHASE_UNDO, PHASE_FINALLY };

struct undoing { /* tasks to be undone, in order */
    uint32_t *tasks;
    uint32_t n, next;
    uint32_t failed;
};

/* TURN: take commands, settle what follows, start no process. UNDO: only undo. */
enum engine_mode { MODE_RUN, MODE_TURN, MODE_UNDO };

struct request { /* what was asked for; constant, but for the graph's compilation */
    enum engine_mode mode;
    uint64_t run; /* MODE_TURN and MODE_UNDO: of it */
    struct cairn_workflow *workflow;
    const struct graph *graph;
    struct cairn_store *store; /* NULL: nothing is kept */
    const struct cairn_run_options *options;
};

/* Each part is written by one file; everybody may read. */
struct engine {
    struct request request;           /* engine.c */
    struct tenure tenure;             /* tenure.c */
    struct progress progress;         /* progress.c */
    struct tally reported;            /* report.c: what the observer was told */
    enum phase phase;                 /* phases.c */
    struct undoing undoing;           /* undo.c */
    struct halting halting;           /* halt.c */
    struct turn turn;                 /* turn.c */
    struct event_list events;         /* audit.c */
    struct saving saving;             /* commit.c */
    struct starts starts;             /* starts.c */
    struct jobs jobs;                 /* jobs.c */
    struct calls calls;               /* calls.c */
    struct loop loop;                 /* loop.c */
    struct environments environments; /* command_line.c */
    bool broken;                      /* engine_break: out of memory, it cannot go on */
};

/* Out of memory where nobody can return it: the turn ends the run. */
static inline void engine_break(struct engine *e)
{
    e->broken = true;
}

#endif
