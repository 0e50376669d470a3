/* SPDX-License-Identifier: MIT */
/* Callbacks that finish later, from any thread. */
#include "executor/engine.h"

#include <pthread.h>
#include <unistd.h>

const char *cairn_attempt_task(const struct cairn_attempt *attempt)
{
    return attempt->engine->graph->id[attempt->task];
}

uint32_t cairn_attempt_number(const struct cairn_attempt *attempt)
{
    return attempt->number;
}

void cairn_attempt_finish(struct cairn_attempt *attempt, enum cairn_outcome outcome,
                          const char *text)
{
    struct engine *e = attempt->engine;
    uint64_t one = 1;
    attempt->outcome = outcome;
    attempt->text = text ? strdup(text) : NULL; /* without memory: no message */
    pthread_mutex_lock(&e->later_lock);
    attempt->next = e->later;
    e->later = attempt;
    /* Written under the lock: the engine may free itself as soon as it has the list. */
    ssize_t written = write(e->later_fd, &one, sizeof one);
    pthread_mutex_unlock(&e->later_lock);
    (void)written; /* fails only when the counter is full, and then it is readable */
}
