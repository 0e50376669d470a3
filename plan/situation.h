/* SPDX-License-Identifier: MIT */
/* Where a workflow stands in a store, and what follows: which run goes on, its recorded
 * states, what is missing or damaged, and the decision per task. Reads only. */
#ifndef PLAN_SITUATION_H
#define PLAN_SITUATION_H

#include "checkpoint/stream.h"
#include "plan/evidence.h"
#include "runs/stored.h"
#include "workflow/workflow.h"

struct situation {
    struct arena arena;       /* texts of `row` */
    struct run_row row;       /* of the run that goes on; row.run 0: a new run */
    uint64_t latest_run;      /* newest run of the workflow, for naming its owner */
    bool recorded;            /* there are states from before */
    bool same_graph;          /* ... of this very definition */
    bool root_gone;           /* ... and what they made is, with its directory */
    struct recovery recovery; /* valid when going on with a run */
    bool recovered;
    struct states before;        /* recorded states, in the old graph's numbers */
    uint64_t from_run, from_seq; /* a fork */
    struct digest from_digest;
    struct definition old_definition;
    struct graph old_graph; /* unless same_graph */
    bool old_loaded;
    uint32_t *old_task;     /* [n_tasks] */
    uint8_t *marks;         /* [old tasks] */
    uint8_t *new_marks;     /* [n_tasks] of those that are not in the old graph */
    uint32_t n_kept;        /* of them MARK_KEPT */
    uint32_t *last_attempt; /* [old tasks] highest attempt number known */
    uint64_t last_named;    /* highest checkpoint that an attempt names */
    struct states now;      /* `before`, in the workflow's numbers */
    uint8_t *evidence;      /* [n_tasks] enum evidence */
    const char **which;   /* [n_tasks] file or secret that is not as it was; or NULL */
    struct lookup lookup; /* of `now` */
    struct secrets secrets;
    struct decisions decisions;
    struct buf notices;  /* NUL-terminated, one after the other */
    struct digest graph; /* digest of the workflow's definition */
    struct buf encoded;  /* the definition, if its digest was not known before */
};

/* May read the workflow's file again with recorded foreach members. CAIRN_ENOTFOUND,
 * CAIRN_EDAMAGED (no valid checkpoint), CAIRN_ECHANGED, CAIRN_EUSAGE (the run or
 * checkpoint belongs to another workflow). */
int situation_load(struct situation *situation, struct cairn_workflow *workflow,
                   struct cairn_store *store, const struct cairn_run_options *options,
                   struct cairn_error *error);
/* The same for a run that is only looked at or gets a single turn: everything stays as
 * it is recorded, but interrupted `once` tasks are unknown. Of the options (may be
 * NULL) only the secrets count. */
int situation_load_as_is(struct situation *situation, struct cairn_workflow *workflow,
                         struct cairn_store *store, uint64_t run,
                         const struct cairn_run_options *options,
                         struct cairn_error *error);
void situation_release(struct situation *situation);

/* What unfinished attempts of a task of the workflow tell (enum mark), 0: nothing. */
static inline uint8_t situation_mark(const struct situation *s, uint32_t task)
{
    uint32_t old = s->marks ? s->old_task[task] : NODE_NONE;
    return !s->marks ? 0 : old == NODE_NONE ? s->new_marks[task] : s->marks[old];
}

/* The graph that `before`, `marks` and `last_attempt` are numbered by. */
static inline const struct graph *situation_old(const struct situation *s,
                                                const struct cairn_workflow *w)
{
    return s->same_graph ? &w->graph : &s->old_graph;
}

/* The states that the run starts from, in the workflow's numbers: what is kept has its
 * outcome, everything that runs or may run is pending. `states` is initialised here. */
int situation_states(const struct situation *situation,
                     const struct cairn_workflow *workflow, struct states *states,
                     struct cairn_error *error);
/* The i-th notice, or NULL. */
const char *situation_notice(const struct situation *situation, size_t i);

/* Where a run cannot be gone on with because of its key (`result` CAIRN_EUSAGE), adds
 * to the error what else can be done. Returns `result`. */
int situation_advise_fresh(int result, struct cairn_error *error);

#endif
