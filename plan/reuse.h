/* SPDX-License-Identifier: MIT */
/* Whether a task is done already: an attempt of this run or an earlier one was given
 * the same, and what it made is still there.
 *
 * The *trace* of a finished node says what it did, as far as it is recorded: of a task
 * the content of its outputs and its values; and, unless it is `cutoff`, what it is (its
 * fingerprint), what it read, and the traces of what it needs, but for needs that are
 * only for the order. A task that leaves neither outputs nor values, or has failed, has
 * a trace of its own, which no other attempt has; all that are skipped have the same.
 *
 * The *key* of a task is a hash of everything that it is given: its fingerprint, its
 * texts with their values, the content of its declared inputs, the traces of what it
 * needs. The store has the newest completed attempt by key (storage/rows_reuse.h). A key
 * only nominates: whether the inputs that the attempt read (those of its depfile, too),
 * its outputs and its secrets are as they were recorded is looked at, as for a task of
 * this run that has completed (evidence.h). */
#ifndef PLAN_REUSE_H
#define PLAN_REUSE_H

#include "plan/evidence.h"
#include "storage/rows_reuse.h"

struct reuse {
    const struct graph *graph;
    struct cairn_store *store;
    uint64_t workflow;
    struct evidence_source evidence; /* with the lookup, which has the states */
    const uint16_t *fate; /* [n_nodes] says who is excluded; NULL: the outcomes do */
    bool none;            /* only attempts of this run are used */
    bool any;             /* the workflow has keys in the store */
    struct sha256 *sha;
    struct buf scratch;
    struct digest place;         /* where the workflow is, seen from the store */
    struct digest *fingerprints; /* [n_tasks] */
    struct digest *traces;       /* [n_nodes] of those that are known */
    uint8_t *known;              /* [n_nodes] enum trace */
    bool *leaves_list;           /* [n_defs] it makes, in files, a list of others */
    bool *behind_cutoff; /* [n_defs] something that it needs is `cutoff`, or soft */
    uint64_t
        *ran; /* [n_nodes] turn in which its newest attempt in this run began, if it
                      is no reused one: of tasks first, of groups when they are asked for;
                      NULL: not sought yet */
    struct node_range last;   /* the last whole group that texts asked for, ... */
    struct digest last_trace; /* ... and its trace */
};

/* An attempt that has done a task before. The caller of reuse_find sets the key in `row`,
 * and `newest`. */
struct reused {
    struct reuse_row row;
    uint32_t newest; /* attempt of this run; 0: there was none */
    bool own;        /* it is the newest attempt of this run: the task stays done */
    bool put_back;   /* its outputs are not there, and are to be put back first: ... */
    struct digest kept; /* ... the snapshot of them */
    uint64_t kept_bytes;
    /* What it has left, as the plan has read it and as long as that lives; NULL: it is
       to be read. */
    const struct result *result;
    bool open; /* set by the plan: to be looked for again once its needs have ended */
    uint64_t origin; /* the run in which it really ran */
    uint64_t turn;   /* in which it began */
    uint16_t flags;  /* of the attempt's row, as these: */
    int32_t exit_code;
    uint64_t out_bytes, err_bytes, out_head, err_head;
    struct digest out, err; /* zeros: none */
};

struct reuse_options {
    const struct graph *graph;
    struct cairn_store *store;
    uint64_t workflow;
    struct lookup *lookup;
    const struct secrets *secrets;
    const struct cairn_run_options *options;
};

/* Can it be reused or cut off, or has it a soft need? */
bool task_wants_reuse(const struct task_def *def);
/* Is there such a task? Else none of this is needed. */
bool reuse_is_wanted(const struct definition *definition);
/* *reuse is to be released after an error, too. */
int reuse_open(struct reuse *reuse, const struct reuse_options *options,
               struct cairn_error *error);
void reuse_release(struct reuse *reuse);
/* All that is known of finished tasks is to be found anew. */
void reuse_forget(struct reuse *reuse);
/* A task has completed with this result (encoded; empty: none), which need not be stored
 * yet. */
int reuse_saw(struct reuse *reuse, uint32_t task, struct str encoded,
              struct cairn_error *error);
int reuse_saw_result(struct reuse *reuse, uint32_t task, const struct result *result,
                     struct cairn_error *error);
/* An attempt of the task has ended in this session, however that was. */
void reuse_ran(struct reuse *reuse, uint32_t task);
/* Whether keys of this task's attempts are of use: it can be reused, or can stay done
 * behind a cut-off. */
bool reuse_has_key(const struct reuse *reuse, uint32_t task);
/* What it needs has ended in such a way that it runs: 1 and its key; 0: it has none,
 * since something that it needs or reads is not known; or an error. */
int reuse_key(struct reuse *reuse, uint32_t task, uint32_t attempt, struct digest *key,
              struct cairn_error *error);

/* Looks for what has done the task before. 1: it has completed so, in the lookup's
 * states, and its result is the recorded one; but with `put_back` only once that is done;
 * 0: no; or an error. */
int reuse_find(struct reuse *reuse, uint32_t task, struct reused *found,
               struct cairn_error *error);
/* 1: the artifacts that it has to have are in the store, as of that attempt; 0; or an
 * error. */
int reuse_has_artifacts(struct reuse *reuse, uint32_t task, const struct reused *found,
                        struct cairn_error *error);
/* The task has completed so, in the lookup's states. */
int reuse_take(struct reuse *reuse, uint32_t task, const struct reused *found,
               struct cairn_error *error);
/* What the states say of it, and putting that back. */
struct change reuse_state(const struct reuse *reuse, uint32_t task);
int reuse_set_state(struct reuse *reuse, const struct change *change,
                    struct cairn_error *error);
/* ... or is pending again. */
int reuse_take_back(struct reuse *reuse, uint32_t task, struct cairn_error *error);
#endif
