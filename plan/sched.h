/* SPDX-License-Identifier: MIT */
/* The scheduler: which task may start next. Pure: no clock, no I/O, no allocation after
 * sched_init but in sched_extend.
 *
 *   WAITING --needs ended--> READY --sched_take--> TAKEN --sched_end--> ENDED
 *      |                      ^ |  pool full: PARKED, back when the pool has room;
 *      |                      | |    also if other runs have it (sched_refuse)
 *      |                      | |  kind not allowed now: SHELVED, back when it is
 *      |                      | +---------------------------------------------+
 *      |                      +-- sched_again (retry) <-- HELD <-- sched_hold (TAKEN)
 *      |                          OFFERED (to somebody outside) <-- sched_offer (TAKEN)
 *      +--needs ended in a way that it does not want--> ENDED (skipped or excluded)
 *
 * A task waits until everything it needs has ended. Then `when` decides: success wants
 * all of it completed but for soft needs (and gives up as soon as one need ended
 * otherwise), failed wants a failed one, always takes anything. One that ends before
 * what it needs (it is given up early, or decided) has ended, for those that wait for
 * it, when all of that has. A
 * barrier ends when all members have: failed if one failed, else bad if one was
 * skipped. Members that their own condition excluded are left out, unless all of them
 * were, or the task that needs the group needs all of it (task_def_needs_all): then
 * they count as skipped. Ready tasks are ordered by priority, then critical path, then
 * file order. A taken task holds its places in its pools until it is held, offered
 * or ends; one that waits for a place holds none, and none of those behind it overtakes
 * it in any of its pools.
 *
 * Services are not waited for as other needs are. A task for which only they are missing
 * is AWAITING, and wants them; a service is IDLE until it is wanted. TAKEN and ready it
 * is UP (sched_up), and from UP it is held, for a restart, or ends:
 *
 *   task     TAKEN --sched_await--> AWAITING --all its services are UP--> READY
 *   service  WAITING --needs ended--> IDLE --wanted--> READY --> TAKEN --sched_up--> UP
 *
 * One that ends without having completed keeps its users from running; one whose users
 * have all ended before it was started ends as excluded, without having run.
 */
#ifndef PLAN_SCHED_H
#define PLAN_SCHED_H

#include "checkpoint/payload.h"
#include "graph/graph.h"

enum sched_state {
    WAITING,
    READY,
    PARKED,
    SHELVED,
    TAKEN,
    HELD,
    OFFERED,
    ENDED,
    IDLE,     /* a service that nothing wants yet */
    AWAITING, /* only services are missing */
    UP        /* a service that is ready */
};

/* What may start now: ordinary tasks that want success, ordinary tasks that do not
 * (handlers of failures), tasks of `finally`. */
enum sched_kind { SCHED_ORDINARY = 1, SCHED_HANDLERS = 2, SCHED_FINALLY = 4 };

/* How a node ended, as its dependents see it. OPEN: not, or in a way that decides
 * nothing (cancelled, unknown, undone): they wait. EXCLUDED: a task because of its
 * condition, or all members of a group. PARTLY: a group of which some were excluded,
 * and the others completed. */
enum sched_end_class {
    END_OPEN,
    END_MET,
    END_FAILED,
    END_BAD,
    END_EXCLUDED,
    END_PARTLY
};

/* A task with what orders it, so that nothing else is touched while it is sorted in. */
struct heap_entry {
    int32_t priority;
    uint32_t height, task;
};

struct heap {
    struct heap_entry *at;
    uint32_t n, room;
};

/* A task that ended without being started: CAIRN_SKIPPED or CAIRN_EXCLUDED. */
typedef void sched_skip_fn(void *context, uint32_t task, enum cairn_outcome outcome);

struct sched {
    const struct graph *graph;
    uint32_t n_tasks, n_nodes,
        n_parts;          /* of the graph: sched_extend has the former ones */
    uint32_t room;        /* nodes for which the arrays have room */
    uint8_t *state;       /* [n_nodes] enum sched_state */
    uint8_t *end;         /* [n_nodes] enum sched_end_class */
    uint8_t *flags;       /* [n_nodes] how needs ended: NEED_FAILED, NEED_BAD; of a
                             barrier NEED_EXCLUDED, NEED_MET, too */
    uint32_t *waiting;    /* [n_nodes] needs that have not ended */
    uint32_t *cause;      /* [n_nodes] the first need that did not complete, where
                             flags say so; an excluded member only while there is no
                             other */
    uint8_t allowed;      /* enum sched_kind, or-ed */
    const uint8_t *aside; /* [n_tasks] these are not allowed, whatever their kind;
                             borrowed, NULL: none */
    struct heap ready;
    /* The last one of these is memory, in MiB: as one more pool. */
    struct heap *parked;  /* [n_pools + 1] who waits for a place */
    uint32_t *members;    /* [n_pools + 1] tasks that may wait there */
    uint32_t *pool_used;  /* [n_pools + 1] places */
    bool *closed;         /* [n_pools + 1] other runs have it: nobody takes of it */
    uint32_t memory;      /* MiB in all; set it before the first task is taken */
    uint64_t taken_slots; /* of the tasks that are taken */
    uint32_t *work;       /* worklist of ended nodes */
    uint32_t *left;       /* [n_nodes] of a service: users that have not ended, or OPEN;
                            NULL: there are no services */
    uint32_t open;        /* tasks not ENDED */
    uint32_t taken, held, offered, shelved, up;
};

/* MiB that tasks which run have together. `given`: as the run's options say; 0: they do
 * not. */
uint32_t memory_of(const struct definition *definition, uint32_t given);
/* CAIRN_EUSAGE: a task takes more, and would wait for ever. */
int memory_check(const struct definition *definition, uint32_t given,
                 struct cairn_error *error);
/* Of two ready tasks, is the first one taken before the other? `by_priority`: whatever
 * their heights become (graph_weigh). */
bool sched_starts_before(const struct graph *graph, uint32_t task, uint32_t other,
                         bool by_priority);
enum sched_end_class sched_class(enum cairn_outcome outcome);
/* `outcome` [n_tasks]: tasks that have one are ENDED from the start. Tasks that can not
 * run because of those are passed to `skipped` (may be NULL). Everything but `finally`
 * is allowed. */
int sched_init(struct sched *sched, const struct graph *graph, const uint8_t *outcome,
               sched_skip_fn *skipped, void *context, struct cairn_error *error);
void sched_release(struct sched *sched);
/* The graph has been extended behind its former tasks, without services: the new ones
 * begin, with `outcome` ([n_tasks]) as in sched_init, and what was there stays as it is.
 * After CAIRN_ENOMEM it can only be released. */
int sched_extend(struct sched *sched, const uint8_t *outcome, sched_skip_fn *skipped,
                 void *context, struct cairn_error *error);
/* Changes what may start; costs one look at every task. What is held and not allowed
 * any more is shelved: its retry is off. */
void sched_allow(struct sched *sched, uint8_t kinds);
enum sched_kind sched_kind_of(const struct task_def *def);
/* From now on these may not start ([n_tasks], which must outlive it). */
void sched_set_aside(struct sched *sched, const uint8_t *aside);
/* The best ready task, now TAKEN, or NODE_NONE. */
uint32_t sched_take(struct sched *sched);
/* These very tasks, which are READY: now TAKEN, whatever their pools say. Costs a look
 * at all ready ones. */
void sched_take_tasks(struct sched *sched, const uint32_t *tasks, uint32_t n);
/* Gives a taken task back, READY (it was not started after all). */
void sched_return(struct sched *sched, uint32_t task);
/* A taken task did not get its places in pools that runs share: PARKED, and these pools
 * are closed until sched_reopen, after which the best one of each asks again. */
void sched_refuse(struct sched *sched, uint32_t task);
void sched_reopen(struct sched *sched);
/* Somebody waits in a closed pool: it is not over, though nothing may be taken. */
bool sched_waits_for_others(const struct sched *sched);
/* A taken task whose services are not all UP: now AWAITING, and they are wanted. */
void sched_await(struct sched *sched, uint32_t task);
/* A taken service is ready: those that await it can start. */
void sched_up(struct sched *sched, uint32_t service);
/* All services that `task` needs are UP. */
bool sched_is_served(const struct sched *sched, uint32_t task);
/* The first one of them that is not, or NODE_NONE. */
uint32_t sched_missing_service(const struct sched *sched, uint32_t task);
/* The first one that is over without having completed, and keeps `task` from running, or
 * NODE_NONE. */
uint32_t sched_lost_service(const struct sched *sched, uint32_t task);
/* Something that needs the service runs now. */
bool sched_is_used(const struct sched *sched, uint32_t service);
/* TAKEN, or UP, to HELD (waiting for its retry), and back to READY. */
void sched_hold(struct sched *sched, uint32_t task);
void sched_again(struct sched *sched, uint32_t task);
/* TAKEN to OFFERED: somebody outside does it. */
void sched_offer(struct sched *sched, uint32_t task);
/* A task that is taken, held, offered, up, or ended OPEN has its outcome. `skipped` is
 * called for every task that cannot run because of it, in a fixed order; they are
 * ENDED. */
void sched_end(struct sched *sched, uint32_t task, enum cairn_outcome outcome,
               sched_skip_fn *skipped, void *context);
/* These tasks, which are not taken and which no others need, will not run: they end as
 * excluded. `skipped` as above. */
void sched_drop(struct sched *sched, const uint32_t *tasks, uint32_t n,
                sched_skip_fn *skipped, void *context);
/* A task that ended OPEN is to run after all: READY, or WAITING for a need that runs
 * again, too. */
void sched_rerun(struct sched *sched, uint32_t task);
/* Nothing runs any more, nothing is unknown, and what tasks that were given up early
 * still waited for will not run: handlers wait for those no longer. True: one is ready.
 * Costs a look at every task; what waits for another reason waits on. */
bool sched_release_handlers(struct sched *sched);
/* The task because of which `task` was skipped: of a group, the member. */
uint32_t sched_cause(const struct sched *sched, uint32_t task);
/* The first task that `task` waits for; NODE_NONE: it waits for none. */
uint32_t sched_open_need(const struct sched *sched, uint32_t task);
/* The diagram above: states, counts and queues agree. Asserted after every transition
 * in debug builds. */
bool sched_consistent(const struct sched *sched);

#endif
