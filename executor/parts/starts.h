/* SPDX-License-Identifier: MIT */
/* The queue of durable intents: from the commit that stored them to their start. Also
 * those that are not started after all, whose rows the last commit closes. starts.c is
 * its only writer. */
#ifndef EXECUTOR_PARTS_STARTS_H
#define EXECUTOR_PARTS_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an attempt runs: the task itself, its check after it completed, the check that
 * decides an unknown task, or its undo. */
enum job_role { ROLE_TASK, ROLE_CHECK, ROLE_DECIDE, ROLE_UNDO };

struct intent {
    uint32_t task, attempt;
    int64_t intent_ns;
    uint64_t turn; /* in which it was stored */
    enum job_role role;
    bool acted;
    bool withheld; /* it was reported that it waits for saving */
};

struct intent_list {
    struct intent *at;
    uint32_t n;
    size_t capacity;
};

struct starts {
    struct intent_list queue; /* to be started, from `head` on */
    uint32_t head;
    struct intent_list dropped; /* not to be started any more */
};

/* A copy at the end of the list; CAIRN_ENOMEM. */
int intent_list_add(struct intent_list *list, const struct intent *intent);

static inline uint32_t starts_count(const struct starts *starts)
{
    return starts->queue.n - starts->head;
}
/* The next one to be started; there must be one. */
static inline const struct intent *starts_first(const struct starts *starts)
{
    return &starts->queue.at[starts->head];
}

int starts_add(struct starts *starts, const struct intent *intent);
struct intent starts_take(struct starts *starts);
/* Gives back the room of what was taken. */
void starts_shift(struct starts *starts);
/* A taken intent that is not started: its row is closed at the end of the run. */
int starts_drop(struct starts *starts, const struct intent *intent);
void starts_release(struct starts *starts);

#endif
