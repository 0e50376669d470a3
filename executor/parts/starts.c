/* SPDX-License-Identifier: MIT */
/* The queue of durable intents: what is to be started, and what is not any more. */
#include "executor/parts/starts.h"

#include "base/array.h"
#include "base/error.h"

#include <assert.h>
#include <stdlib.h>

int intent_list_add(struct intent_list *list, const struct intent *intent)
{
    struct intent *at = array_room(list->at, list->n, &list->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    list->at = at;
    list->at[list->n++] = *intent;
    return 0;
}

int starts_add(struct starts *starts, const struct intent *intent)
{
    return intent_list_add(&starts->queue, intent);
}

struct intent starts_take(struct starts *starts)
{
    assert(starts->head < starts->queue.n);
    return starts->queue.at[starts->head++];
}

void starts_shift(struct starts *starts)
{
    struct intent_list *queue = &starts->queue;
    uint32_t left = starts_count(starts);
    if (!starts->head || (starts->head <= left + 64 && left))
        return;
    memmove(queue->at, queue->at + starts->head, left * sizeof *queue->at);
    queue->n = left;
    starts->head = 0;
}

int starts_drop(struct starts *starts, const struct intent *intent)
{
    return intent_list_add(&starts->dropped, intent);
}

void starts_release(struct starts *starts)
{
    free(starts->queue.at);
    free(starts->dropped.at);
    *starts = (struct starts){0};
}
