/* SPDX-License-Identifier: MIT */
/* Callbacks that finish later, from any thread. calls.c is the only writer of `calls`.
 */
#ifndef EXECUTOR_PARTS_CALLS_H
#define EXECUTOR_PARTS_CALLS_H

#include "cairn.h"

#include <pthread.h>

struct engine;

struct cairn_attempt { /* a call in process */
    struct engine *engine;
    uint32_t task, number, slot;
    enum cairn_outcome outcome;
    char *text;
    struct cairn_attempt *next;
};

struct calls {
    int fd; /* eventfd: readable when some have finished */
    pthread_mutex_t lock;
    struct cairn_attempt *finished;
};

void calls_init(struct engine *e);
int calls_open(struct engine *e, struct cairn_error *error);
/* Those that have finished, as a list by `next`; each to be released. */
struct cairn_attempt *calls_take(struct engine *e);
void call_release(struct cairn_attempt *attempt);
void calls_close(struct engine *e);

#endif
