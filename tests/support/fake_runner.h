/* SPDX-License-Identifier: MIT */
/* A runner without processes, and a clock that stands still unless the engine waits:
 * then it moves to whatever comes first, so hours take no time. What a task does is a
 * script's answer. It starts and ends tasks by the rules of process/spawner.h: at most
 * `limit` at once, the next one as soon as `ahead` allows, ends reported once, the
 * engine woken only as deeply as it rests. */
#ifndef TESTS_SUPPORT_FAKE_RUNNER_H
#define TESTS_SUPPORT_FAKE_RUNNER_H

#include "process/runner.h"

#define MS INT64_C(1000000)

struct fake_task {    /* what one attempt does */
    int64_t run_ns;   /* until it ends by itself; FAKE_FOREVER */
    int exit_code;    /* then */
    int signal;       /* not 0: or it is killed by this */
    int start_error;  /* errno: it never starts */
    int64_t term_ns;  /* how long after TERM it ends; FAKE_FOREVER: it ignores that */
    bool keeper_dies; /* at its end, without a record */
};
#define FAKE_FOREVER (INT64_MAX / 4)

enum fake_event { FAKE_NOT_STARTED, FAKE_STARTED, FAKE_ENDED, FAKE_RECALLED };

struct fake_process;

struct fake_runner {
    struct runner runner;
    int64_t now_ns;
    uint64_t seed; /* delays of starts, and the order of what happens at one time */
    struct fake_task (*script)(void *context, const struct spawn_request *request);
    /* As it happens, before the engine knows; may be NULL. */
    void (*watch)(void *context, enum fake_event event,
                  const struct spawn_request *request);
    /* Once, when the clock reaches act_ns (0: never); may set act_ns again. */
    void (*act)(void *context);
    int64_t act_ns;
    void *context;
    uint32_t limit, alive; /* alive: seats taken, as in spawner.c */
    uint64_t started;

    /* its own */
    struct fake_process *at;
    uint32_t n, n_waiting, low;
    enum spawner_rest rest;
    bool woken;
    uint64_t order;
    pid_t last_pid;
    struct spawn_request *news, **news_end;
    uint32_t idle; /* waits in a row in which nothing could happen any more */
};

/* All of `fake` is set but script, watch, act and context. */
void fake_runner_init(struct fake_runner *fake, uint64_t seed);
void fake_runner_release(struct fake_runner *fake);
/* Processes that have not ended; 0 after a run. */
uint32_t fake_runner_living(const struct fake_runner *fake);

#endif
