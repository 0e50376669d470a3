/* SPDX-License-Identifier: MIT */
/* Random graphs, killed at random moments up to four times, a third of the times with
 * their guard, and resumed until done. */
#include "crash.h"

enum { KILLS_MAX = 4 };

/* True if the session was cut short. */
static bool killed_session(struct scenario *s, int64_t whole_ms)
{
    struct session session;
    bool guard_too = rng_one_in(&s->rng, 3);
    uint32_t longest_us = (uint32_t)(whole_ms + whole_ms / 8 + 2) * 1000;
    uint32_t moment_us = rng_below(&s->rng, longest_us);
    if (!session_start(s, &session, NULL))
        return false;
    pause_us(moment_us);
    cairn_kill(s, &session, guard_too);
    int status = cairn_wait(s, &session);
    session_end(s, status);
    /* With all guards alive nothing survives for long, even if nobody resumes. What may
     * outlive a run that came to its end, check_final tells. */
    struct snapshot snapshot;
    if (s->guard_kills == 0 && rng_one_in(&s->rng, 2) &&
        snapshot_take(s, s->dir, &snapshot))
        check(s,
              left_none(s->dir, s->sessions,
                        !s->finished[s->sessions - 1] && !run_has_ended(&snapshot)),
              "the guard has left processes");
    return !s->finished[s->sessions - 1];
}

static void one_graph(const struct setup *setup, uint32_t index)
{
    char name[64], detail[128];
    struct shape shape = {.least = 1, .most = TASKS_MAX, .sleep_ms = 30};
    struct scenario s;
    snprintf(name, sizeof name, "random graph %u", index);
    uint64_t seed = setup->seed + index * 1000003u;
    if (scenario_begin(&s, setup, name, seed, &shape)) {
        int64_t whole_ms = run_whole(&s);
        uint32_t kills = 1 + rng_below(&s.rng, KILLS_MAX);
        bool cut = whole_ms >= 0;
        for (uint32_t i = 0; i < kills && cut && !s.failures; i++) {
            struct snapshot snapshot;
            if (s.sessions > 0)
                check_between(&s, &snapshot);
            cut = killed_session(&s, whole_ms / (i + 1));
        }
        if (cut && !s.failures)
            session_finish(&s);
        if (!s.failures && s.sessions > 0) {
            check_journal(&s);
            check_final(&s, true);
        }
    }
    snprintf(detail, sizeof detail,
             "seed %llu, %u tasks, -j %u, %u sessions, %u kills, %u of a guard",
             (unsigned long long)seed, s.w.n_tasks, s.jobs, s.sessions, s.kills,
             s.guard_kills);
    scenario_end(&s, detail);
}

void test_random(const struct setup *setup, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        one_graph(setup, i);
}
