/* SPDX-License-Identifier: MIT */
/* Where a workflow stands in a store, and what follows: which run is continued, its
 * recorded states, what is missing or damaged, and the decision per task. Reads only.
 */
#ifndef PLAN_SITUATION_H
#define PLAN_SITUATION_H

#include "cairn/plan.h"
#include "checkpoint/outcomes.h"
#include "plan/evidence.h"
#include "plan/reuse.h"
#include "plan/stale.h"
#include "process/end_notes.h"
#include "runs/marks.h"
#include "runs/outputs.h"
#include "runs/stored.h"
#include "storage/rows_run.h"
#include "workflow/workflow.h"

/* Under which numbers the keeper of an attempt, or the note of its end, has it. They
 * are those of an earlier generation if an owner took the attempt over after an edit.
 */
struct kept_as {
    uint32_t gen, task; /* gen 0: neither was found */
    bool newest;        /* the task's newest attempt is one of the run's newest
                           generation, and open: what a keeper, a note or a claim of
                           these numbers says is said of it */
    bool moved;         /* ... and it was taken over from an earlier generation */
    bool fallback;      /* the newest attempt runs its fallback */
    bool completed;     /* the newest attempt has, and it was no undo */
};

/* What the store has: the run to continue, or the checkpoint that a new one forks
 * from. Tasks are numbered as in the graph that they were recorded with
 * (situation_old). */
struct recorded {
    bool exists;                 /* there are states from before */
    bool recovered;              /* ... from a run to continue: `recovery` is valid */
    struct run_row row;          /* that run; row.run 0: a new one begins */
    struct recovery recovery;    /* its chain */
    uint64_t latest_run;         /* the workflow's newest run, which may be another */
    uint64_t from_run, from_seq; /* of a fork; from_seq 0: none */
    struct digest from_digest;
    struct states states;
    bool same_graph;   /* recorded with the workflow's very definition; otherwise: */
    bool graph_loaded; /* these two are valid */
    struct definition definition;
    struct graph graph;
    uint8_t *marks;         /* [states.n] enum mark, or-ed */
    uint32_t n_outlived;    /* of them MARK_OUTLIVED */
    struct kept_as *kept;   /* [states.n] */
    struct end_note *noted; /* the notes of those that have ended, sorted by task, which
                               is the recorded one */
    uint32_t n_noted;
    uint32_t *last_attempt; /* [states.n] highest attempt number known */
    uint64_t last_named;    /* highest checkpoint that an attempt names */
};

/* The attempt that completed; number 0: none. */
struct put_back {
    uint32_t number;
    struct digest outputs; /* its result; zeros: it had none */
};

/* The workflow as it is now, and how what is recorded stands by it. Tasks are numbered
 * as in the workflow's graph. */
struct present {
    struct digest digest; /* of the definition */
    struct buf encoded;   /* the definition, if its digest was not known before */
    uint32_t *old_task;   /* [n_tasks] the recorded number, or NODE_NONE */
    uint8_t *new_marks;   /* [n_tasks] enum mark, of tasks without an old number that a
                             lost generation of the run had */
    uint32_t *new_attempts; /* [n_tasks] highest attempt number, of tasks without an old
                               number that an earlier generation of the run had */
    struct put_back *put_back; /* [n_tasks] of `once` tasks that had completed and were
                                  taken out or skipped by an edit; NULL: none */
    uint32_t
        *rounds; /* [n_tasks] of tasks with `repeat`: so many are done, and the next
                         one follows; NULL: none are */
    struct states states; /* the recorded ones */
    struct lookup lookup; /* of `states` */
    uint8_t *evidence;    /* [n_tasks] enum evidence; NULL: nothing was looked at */
    const char **which; /* [n_tasks] file or secret that is not as it was; NULL: none */
    const char **writer; /* [n_tasks] who wrote that output since; NULL: not known */
    /* [n_tasks + 1] where in `makers` a task's begin: of one that needs others only for
     * the order, the tasks that made what it has read; NULL: there are none. */
    uint32_t *first_maker;
    struct buf makers;            /* uint32_t, tasks */
    const struct reused **reused; /* [n_tasks] by CAIRN_REASON_REUSED; in the arena */
    const char **nearest;         /* [n_tasks] why a task that can be reused is not */
    struct output_index index;    /* what was seen of outputs */
    char *index_path;             /* NULL: it is not used */
    struct stale_gone gone;       /* files that a run removes first */
    bool root_gone; /* outputs are gone together with the workflow's directory */
};

/* A run of this workflow and params that the task had begun before, where another one
 * begins now. */
struct begun_earlier {
    uint64_t run; /* 0: none */
    bool ask;     /* about what must not run twice and has completed in it, too */
};

struct situation {
    struct arena arena; /* texts of recorded.row and present.which */
    struct recorded recorded;
    struct present present;
    struct run_parent inside; /* the attempt that this process runs in; run 0: none */
    bool begun_before;        /* ... and its task began the run to continue before */
    struct begun_earlier earlier;
    struct secrets secrets; /* values as they are given now */
    struct decisions decisions;
    struct buf notices; /* NUL-terminated, one after the other */
};

/* Attempts of earlier generations of a run, for an owner that opens it again and again:
 * each generation is read once. Zeroed at first. */
struct past_attempts {
    uint64_t run;
    uint32_t up_to; /* all generations up to this one are in it */
    struct past_attempt {
        struct str id; /* of the task */
        uint32_t gen, number;
        bool began; /* and was no undo */
    } * at;
    size_t n, room;
    struct arena arena; /* of the ids */
};
void past_attempts_release(struct past_attempts *past);
/* May read the workflow's file again with recorded foreach members. CAIRN_ENOTFOUND,
 * CAIRN_EDAMAGED (no valid checkpoint), CAIRN_ECHANGED, CAIRN_EUSAGE (the run or
 * checkpoint belongs to another workflow, perhaps one of the same name elsewhere). */
int situation_load(struct situation *situation, struct cairn_workflow *workflow,
                   struct cairn_store *store, const struct cairn_run_options *options,
                   struct cairn_error *error);
/* The same for a run, without the words of a plan. `past`: NULL, or kept for the next. */
int situation_load_again(struct situation *situation, struct cairn_workflow *workflow,
                         struct cairn_store *store,
                         const struct cairn_run_options *options,
                         struct past_attempts *past, struct cairn_error *error);
/* The same for a run that is only looked at or gets a single turn: everything stays as
 * it is recorded, but interrupted `once` tasks are unknown. Of the options (may be
 * NULL) only the secrets count. */
int situation_load_as_is(struct situation *situation, struct cairn_workflow *workflow,
                         struct cairn_store *store, uint64_t run,
                         const struct cairn_run_options *options,
                         struct cairn_error *error);
void situation_release(struct situation *situation);

/* The attempt that has done a task before (CAIRN_REASON_REUSED), or NULL. */
static inline const struct reused *situation_reused(const struct situation *s,
                                                    uint32_t task)
{
    return s->decisions.reason[task] == CAIRN_REASON_REUSED ? s->present.reused[task]
                                                            : NULL;
}

/* The mark (runs/marks.h) of a task of the workflow, 0: none. */
static inline uint8_t situation_mark(const struct situation *s, uint32_t task)
{
    const struct recorded *r = &s->recorded;
    uint32_t old = r->marks ? s->present.old_task[task] : NODE_NONE;
    return !r->marks          ? 0
           : old == NODE_NONE ? s->present.new_marks[task]
                              : r->marks[old];
}

/* It is recorded as pending because it is to run again. */
static inline bool situation_is_reset(const struct situation *s, uint32_t task)
{
    return situation_mark(s, task) & MARK_RESET &&
           s->present.old_task[task] != NODE_NONE &&
           !s->recorded.kept[s->present.old_task[task]].newest;
}

/* A `once` task that has completed, was skipped by an edit, and is to run again: not
 * without a decision. */
bool situation_is_put_back(const struct situation *situation,
                           const struct cairn_workflow *workflow, uint32_t task);
/* The note of the end of a recorded task's newest attempt, or NULL. */
const struct end_note *situation_noted_end(const struct situation *situation,
                                           uint32_t old_task);
/* The recorded task whose newest attempt this is, of a keeper, or NODE_NONE. */
uint32_t situation_kept_task(const struct situation *situation,
                             const struct attempt_id *id);

/* The graph that what is recorded is numbered by. */
static inline const struct graph *situation_old(const struct situation *s,
                                                const struct cairn_workflow *w)
{
    return s->recorded.same_graph ? &w->graph : &s->recorded.graph;
}

/* How many attempts of a task of the workflow the run has had. A fork begins at 0. */
static inline uint32_t situation_attempts(const struct situation *s, uint32_t task)
{
    const struct recorded *r = &s->recorded;
    uint32_t old = s->present.old_task[task];
    if (!r->recovered || !r->last_attempt)
        return 0;
    return old == NODE_NONE ? s->present.new_attempts[task] : r->last_attempt[old];
}
/* The workflow's task that is recorded under the number `old`, or NODE_NONE. */
uint32_t situation_task_now(const struct situation *s, const struct cairn_workflow *w,
                            uint32_t old);
/* The states that the run starts from, in the workflow's numbers: what is kept has its
 * outcome, everything that runs or may run is pending. `states` is initialised here. */
int situation_states(const struct situation *situation,
                     const struct cairn_workflow *workflow, struct states *states,
                     struct cairn_error *error);

/* The workflow has more tasks than it had, which are new in the run, and this digest.
 * CAIRN_ENOMEM. */
int situation_extend(struct situation *situation, struct cairn_workflow *workflow,
                     const struct digest *digest, struct cairn_error *error);

struct others_search {
    uint64_t run;       /* neither this one, nor those inside it or around it */
    int64_t after_ns;   /* attempts that ended later (UTC), or are recorded after: */
    uint64_t since;     /* this checkpoint, since clocks are set back */
    uint32_t rows_left; /* so many runs and attempts are looked at, in all searches */
};

/* Which task of another run has written a file as it is now: appends its name and that
 * run's number; nothing if none is known to. */
int situation_find_other_writer(struct cairn_workflow *workflow,
                                struct cairn_store *store, struct others_search *others,
                                const struct result_file *now, struct buf *name,
                                struct cairn_error *error);
/* Appends the condition of a task and what its names are now, as the decision saw them:
 * "params.a == 'x' (params.a is 'y')". Nothing if it has none. CAIRN_ENOMEM. */
int situation_show_condition(struct situation *situation,
                             const struct cairn_workflow *workflow, uint32_t task,
                             struct buf *out, struct cairn_error *error);
/* The i-th notice, or NULL. */
const char *situation_notice(const struct situation *situation, size_t i);
/* Where a run cannot be continued because of its key (`rc` CAIRN_EUSAGE), adds to the
 * error what else can be done. Returns `rc`. */
int situation_advise_fresh(int rc, const struct cairn_workflow *workflow,
                           struct cairn_error *error);

#endif
