/* SPDX-License-Identifier: MIT */
/* A scene: a random workflow for the real engine with the fake runner, what is done to
 * it, and what was seen. Every start is held against what must be true of it. */
#ifndef TESTS_SIM_SCENE_H
#define TESTS_SIM_SCENE_H

#include "executor/engine.h"
#include "executor/state/engine.h"
#include "tests/sim/world.h"
#include "tests/support/fake_runner.h"

enum { SLACK_MS = 5 };

struct seen_task {
    uint32_t attempts, number; /* number: of the last one; some are recalled */
    bool alive, undone;
    bool user_started;
    int64_t ended_ns; /* its last attempt */
    enum cairn_outcome outcome;
};

struct scene {
    struct world world;
    struct cairn_workflow *workflow;
    struct fake_runner fake;
    uint64_t seed;
    uint32_t jobs, alive, pool_alive[16];
    struct seen_task *seen;
    struct cairn_stop *stop;
    int64_t stop_ns, kill_ns; /* a first and a second wish; 0: none */
    int64_t next_act_ns;
    int64_t failed_ns; /* the first final failure */
    int64_t last_end_ns;
    bool late;            /* undoing or `finally` has begun */
    uint32_t dies_at_end; /* of so many; 0: it does not */
    uint32_t adopted;     /* tasks whose end an earlier cairn did not live to see */
};

/* `whole`: nobody stops it. */
void scene_make(struct scene *s, uint64_t seed, bool whole);
void scene_release(struct scene *s);
/* Expects that nothing lives afterwards. */
struct cairn_run_result scene_run(struct scene *s, struct cairn_store *store);

#endif
