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
 *   lets tasks that need it start, only after its checkpoint is committed. While saving
 *   fails and the policy is best effort, both happen unsaved, and are written by the
 *   next commit that succeeds: nothing leaves `endings` or `intents` before.
 * - `states` is what the next record would say: it includes all of `endings`. */
#ifndef EXECUTOR_STATE_ENGINE_H
#define EXECUTOR_STATE_ENGINE_H

#include "base/limits.h"
#include "executor/state/audit.h"
#include "executor/state/calls.h"
#include "executor/state/command_line.h"
#include "executor/state/commit.h"
#include "executor/state/halt.h"
#include "executor/state/jobs.h"
#include "executor/state/looks.h"
#include "executor/state/loop.h"
#include "executor/state/noting.h"
#include "executor/state/owned_run.h"
#include "executor/state/progress.h"
#include "executor/state/shares.h"
#include "executor/state/turn.h"
#include "plan/choice.h"

/* A run is its tasks, then the undoing (on_failure: undo), then `finally`. */
enum phase { PHASE_MAIN, PHASE_UNDO, PHASE_FINALLY };

struct undoing { /* tasks to be undone, in order */
    uint32_t *tasks;
    uint32_t n, next;
    uint32_t failed;
};

/* SETTLE: take commands, settle what follows, start no process. UNDO: only undo. */
enum engine_mode { MODE_RUN, MODE_SETTLE, MODE_UNDO };

struct request { /* what was asked for; constant, but for the graph's compilation */
    enum engine_mode mode;
    uint64_t run; /* MODE_SETTLE and MODE_UNDO: of it */
    struct cairn_workflow *workflow;
    const struct graph *graph;
    struct cairn_store *store; /* NULL: nothing is kept */
    const struct cairn_run_options *options;
    struct runner *runner;      /* and the clock */
    int64_t spent_ns;           /* of the deadline, before a list was made */
    struct retries *retries;    /* from before that; NULL: none */
    struct past_attempts *past; /* the same */
};

/* Each part is written by one file; everybody may read. */
struct engine {
    struct request request;           /* engine.c */
    struct owned_run run;             /* owned_run.c */
    struct progress progress;         /* progress.c */
    struct tally reported;            /* report.c: what the observer was told */
    enum phase phase;                 /* phases.c */
    struct undoing undoing;           /* undo.c */
    struct halting halting;           /* halt.c */
    struct turn turn;                 /* turn.c */
    struct event_list events;         /* report.c */
    struct saving saving;             /* commit.c */
    struct starts starts;             /* turn.c */
    struct jobs jobs;                 /* jobs.c */
    struct shares shares;             /* shares.c */
    struct noting noting;             /* noting.c */
    struct calls calls;               /* calls.c */
    struct looks looks;               /* looks.c */
    struct loop loop;                 /* loop.c */
    struct environments environments; /* command_line.c */
    struct made_files *made;          /* attempt/made.c; NULL: not needed yet */
    struct before *before;            /* before.c; NULL: not needed yet */
    struct reuse *spared;             /* attempt/spared.c; NULL: there can be none */
    bool spared_planned; /* phases.c; what was known at the beginning is settled */
    struct spared_files *put_back; /* attempt/spared.c: [n_tasks]; NULL: none can be */
    struct digest *keys; /* with it: [n_tasks] from when the task is ready, before it
                            can change what it reads; zeros: it has none */
    bool broken;         /* engine_break: out of memory, it cannot go on */
};

/* Its outputs are to be put back when it is its turn, instead of running it. */
bool task_is_put_back(const struct engine *e, uint32_t task);

/* Whose texts are expanded: those of the job's attempt. */
static inline struct asker job_asker(struct engine *e, const struct job *job)
{
    return (struct asker){.lookup = &e->progress.lookup,
                          .task = job->intent.task,
                          .attempt = job->intent.attempt,
                          .ports = e->jobs.port,
                          .ports_each = e->jobs.ports_each};
}

/* Which round of a task with `repeat` runs, or comes next, from 1; 0: it has none. */
static inline uint32_t round_of(const struct engine *e, uint32_t task)
{
    return e->progress.rounds && graph_def(e->request.graph, task)->repeat.max
               ? e->progress.rounds[task] + 1
               : 0;
}

/* The same of an attempt; 0 also of a fallback. */
static inline uint32_t job_round(const struct engine *e, const struct job *job)
{
    return job->intent.fallback ? 0 : round_of(e, job->intent.task);
}

/* Its tries are used up: its next attempt is its fallback. */
static inline bool falls_back(const struct engine *e, uint32_t task)
{
    const struct task_def *def = graph_def(e->request.graph, task);
    return def->fallback.len && e->progress.failures[task] > def->retry.max;
}

static inline enum on_failure failure_policy(const struct engine *e)
{
    return choice_on_failure(e->request.graph->definition,
                             e->request.options->on_failure);
}

/* Whether tasks wait because they were not chosen: so does `finally`. */
static inline bool is_partial(const struct engine *e)
{
    return e->request.mode == MODE_RUN && e->run.situation.decisions.n_aside;
}

/* It failed in an earlier part of the run, and stays so: it was not chosen. */
static inline bool failed_before(const struct engine *e, uint32_t task)
{
    return is_partial(e) && e->run.situation.decisions.aside[task] &&
           e->progress.states.outcome[task] == CAIRN_FAILED;
}

/* Bytes kept of each stream that a task writes. */
static inline uint64_t output_limit(const struct engine *e)
{
    uint64_t limit = e->request.options->output_limit;
    return limit ? limit : LIMIT_OUTPUT_BYTES;
}

/* A task has made a list: nothing more starts, and once nothing runs the run is opened
 * again, with the members that there are now (engine.c). */
static inline bool awaits_list(const struct engine *e)
{
    return e->progress.list_made && e->request.mode == MODE_RUN &&
           e->phase == PHASE_MAIN && !e->halting.level;
}

/* Out of memory where nobody can return it: the turn ends the run. */
static inline void engine_break(struct engine *e)
{
    e->broken = true;
}

#endif
