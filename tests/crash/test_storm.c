/* SPDX-License-Identifier: MIT */
/* Kills while many tasks of a millisecond end: with 1 to 64 jobs, on a machine that has
 * nothing else to do, beside busy processes, and on a disk on which every sync takes
 * long. What had ended by then does not run again. */
#include "crash.h"

#include <signal.h>

enum { BUSY_MOST = 4, SLOW_SYNC_MS = 30, FIRST_US = 4000 };

enum weather { CALM, BUSY, SLOW_DISK, WEATHERS };
static const char *const weather_names[] = {"idle", "busy", "slow disk"};

struct busy {
    pid_t pid[BUSY_MOST];
    uint32_t n;
};

static void busy_start(struct busy *busy, struct scenario *s)
{
    char shell[] = "/bin/sh", option[] = "-c", loop[] = "while :; do :; done";
    char *argv[] = {shell, option, loop, NULL};
    for (; busy->n < BUSY_MOST; busy->n++)
        if (!check(s,
                   program_start(&busy->pid[busy->n], s->dir, "busy", argv, environ) ==
                       0,
                   "cannot start a busy process"))
            return;
}

static void busy_end(struct busy *busy)
{
    bool hung;
    while (busy->n > 0) {
        pid_t pid = busy->pid[--busy->n];
        kill(pid, SIGKILL);
        program_wait(pid, PATIENCE_MS, &hung);
    }
}

/* False: it came to its end. */
static bool killed_session(struct scenario *s, uint32_t longest_us)
{
    struct session session;
    struct snapshot snapshot;
    if (s->sessions > 0)
        check_between(s, &snapshot);
    if (s->failures || !session_start(s, &session, NULL))
        return false;
    pause_us(FIRST_US + rng_below(&s->rng, longest_us));
    cairn_kill(s, &session, false);
    session_end(s, cairn_wait(s, &session));
    return !s->finished[s->sessions - 1];
}

/* Until the run is done, or nearly as often as sessions can be counted. */
static void many_kills(struct scenario *s, enum weather weather)
{
    static const uint32_t longest_us[WEATHERS] = {60000, 120000, 600000};
    struct busy busy = {.n = 0};
    if (weather == BUSY)
        busy_start(&busy, s);
    s->sync_ms = weather == SLOW_DISK ? SLOW_SYNC_MS : 0;
    bool cut = !s->failures;
    while (cut && s->sessions + 2 < SESSIONS_MAX)
        cut = killed_session(s, longest_us[weather]);
    busy_end(&busy);
    s->sync_ms = 0;
    if (cut && !s->failures)
        session_finish(s);
    if (s->failures)
        return;
    check_journal(s);
    check_final(s, false);
}

static uint32_t one_storm(const struct setup *setup, uint32_t index)
{
    static const uint32_t jobs[] = {1, 2, 4, 8, 16, 32, 64};
    enum weather weather = index % WEATHERS;
    char name[64], detail[160];
    struct shape shape = {.least = 150,
                          .most = TASKS_MAX,
                          .sleep_ms = 2,
                          .plain = true,
                          .wide = index % 4 != 0};
    struct scenario s;
    snprintf(name, sizeof name, "storm %u", index);
    uint64_t seed = setup->seed + index * 7368787u;
    if (scenario_begin(&s, setup, name, seed, &shape)) {
        s.jobs = jobs[index % (sizeof jobs / sizeof jobs[0])];
        many_kills(&s, weather);
    }
    snprintf(detail, sizeof detail,
             "seed %llu, %s, -j %u, %u kills, %u repeated that had just said their end",
             (unsigned long long)seed, weather_names[weather], s.jobs, s.kills,
             s.repeats);
    uint32_t kills = s.kills;
    scenario_end(&s, detail);
    return kills;
}

void test_storm(const struct setup *setup, uint32_t count)
{
    uint32_t kills = 0, failed = 0;
    for (uint32_t i = 0; kills < count && failed < 20; i++) {
        uint32_t n = one_storm(setup, i);
        kills += n;
        failed = n ? 0 : failed + 1;
    }
}
