/* SPDX-License-Identifier: MIT */
/* Callbacks that finish later, from any thread. */
#include "executor/parts/engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

const char *cairn_attempt_task(const struct cairn_attempt *attempt)
{
    return attempt->engine->request.graph->id[attempt->task];
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
    pthread_mutex_lock(&e->calls.lock);
    attempt->next = e->calls.finished;
    e->calls.finished = attempt;
    /* Written under the lock: the engine may free itself as soon as it has the list. */
    ssize_t written = write(e->calls.fd, &one, sizeof one);
    pthread_mutex_unlock(&e->calls.lock);
    (void)written; /* fails only when the counter is full, and then it is readable */
}

void calls_init(struct engine *e)
{
    e->calls.fd = -1;
    pthread_mutex_init(&e->calls.lock, NULL);
}

int calls_open(struct engine *e, struct cairn_error *error)
{
    e->calls.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (e->calls.fd < 0)
        return error_sys(error, errno, "cannot make a descriptor");
    return loop_watch(e, e->calls.fd, WATCH_LATER, error);
}

struct cairn_attempt *calls_take(struct engine *e)
{
    pthread_mutex_lock(&e->calls.lock);
    struct cairn_attempt *finished = e->calls.finished;
    e->calls.finished = NULL;
    pthread_mutex_unlock(&e->calls.lock);
    return finished;
}

void call_release(struct cairn_attempt *attempt)
{
    free(attempt->text);
    free(attempt);
}

void calls_close(struct engine *e)
{
    if (e->calls.fd >= 0)
        close(e->calls.fd);
    pthread_mutex_destroy(&e->calls.lock);
}
