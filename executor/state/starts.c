/* SPDX-License-Identifier: MIT */
/* The queue of durable intents. */
#include "executor/state/starts.h"

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

int starts_add(struct starts *starts, const struct intent *intent, bool call)
{
    struct intent copy = *intent;
    copy.order = ++starts->added;
    return intent_list_add(call ? &starts->calls.list : &starts->queue.list, &copy);
}

struct start_queue *starts_next(struct starts *starts, bool busy)
{
    struct start_queue *queue =
        start_queue_count(&starts->queue) ? &starts->queue : NULL;
    if (busy || !start_queue_count(&starts->calls))
        return queue;
    return queue && start_queue_first(queue)->order <
                        start_queue_first(&starts->calls)->order
               ? queue
               : &starts->calls;
}

struct intent start_queue_take(struct start_queue *queue)
{
    assert(start_queue_count(queue));
    return queue->list.at[queue->head++];
}

static void compact_queue(struct start_queue *queue)
{
    struct intent_list *list = &queue->list;
    uint32_t left = start_queue_count(queue);
    if (!queue->head || (queue->head <= left + 64 && left))
        return;
    memmove(list->at, list->at + queue->head, left * sizeof *list->at);
    list->n = left;
    queue->head = 0;
}

void starts_compact(struct starts *starts)
{
    compact_queue(&starts->queue);
    compact_queue(&starts->calls);
}

int starts_drop(struct starts *starts, const struct intent *intent)
{
    return intent_list_add(&starts->dropped, intent);
}

void starts_release(struct starts *starts)
{
    free(starts->queue.list.at);
    free(starts->calls.list.at);
    free(starts->dropped.at);
    *starts = (struct starts){0};
}
