/* SPDX-License-Identifier: MIT */
/* The queue of durable intents: from the commit that stored them to their start. Also
 * those that are not started after all, whose rows the last commit closes. starts.c is
 * its only writer. */
#ifndef EXECUTOR_STATE_STARTS_H
#define EXECUTOR_STATE_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an attempt runs: the task itself, its check after it completed, the check that
 * decides an unknown task, or its undo. */
enum job_role { ROLE_TASK, ROLE_CHECK, ROLE_DECIDE, ROLE_UNDO };

struct intent {
    uint32_t task, attempt;
    int64_t intent_ns;
    uint64_t turn;  /* in which it was stored */
    uint64_t order; /* in the queues of starts.c */
    enum job_role role;
    bool merged; /* what it writes is one log */
    bool acted;
    bool withheld; /* it was reported that it waits for saving */
};

struct intent_list {
    struct intent *at;
    uint32_t n;
    size_t capacity;
};

struct start_queue { /* to be started, from `head` on */
    struct intent_list list;
    uint32_t head;
};

/* Callbacks that run one at a time have a queue of their own: while one runs, they must
 * not hold up what stands behind them. */
struct starts {
    struct start_queue queue, calls;
    uint64_t added;
    struct intent_list dropped; /* not to be started any more */
};

/* A copy at the end of the list; CAIRN_ENOMEM. */
int intent_list_add(struct intent_list *list, const struct intent *intent);

static inline uint32_t start_queue_count(const struct start_queue *queue)
{
    return queue->list.n - queue->head;
}
static inline uint32_t starts_count(const struct starts *starts)
{
    return start_queue_count(&starts->queue) + start_queue_count(&starts->calls);
}
/* The next one to be started; there must be one. */
static inline const struct intent *start_queue_first(const struct start_queue *queue)
{
    return &queue->list.at[queue->head];
}

/* `call`: a callback that runs beside no other one. */
int starts_add(struct starts *starts, const struct intent *intent, bool call);
/* The queue whose first one comes next, or NULL. `busy`: not that of `calls`. */
struct start_queue *starts_next(struct starts *starts, bool busy);
struct intent start_queue_take(struct start_queue *queue);
/* Frees the room of what was taken, now and then. */
void starts_compact(struct starts *starts);
/* A taken intent that is not started: its row is closed at the end of the run. */
int starts_drop(struct starts *starts, const struct intent *intent);
void starts_release(struct starts *starts);

#endif
