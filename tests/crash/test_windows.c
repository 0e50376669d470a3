/* SPDX-License-Identifier: MIT */
/* Kills in chosen windows, by the shim. A kill counts only if what it left proves that
 * it hit the window. */
#include "crash.h"

#include <unistd.h>

struct evidence {
    struct scenario *s;
    const struct snapshot *snapshot;
    const struct journal *journal;
    const bool *reported;
};
struct window {
    const char *name;
    const char *kinds[2]; /* of kill, alternating */
    bool (*proof)(const struct evidence *e, uint32_t task);
};

static bool has_line(const struct evidence *e, uint32_t task, enum line_kind kind)
{
    for (uint32_t i = 0; i < e->journal->n; i++) {
        const struct line *line = &e->journal->lines[i];
        if (line->task == task && line->kind == kind &&
            line->attempt == e->snapshot->attempts[task])
            return true;
    }
    return false;
}

static bool intent_only(const struct evidence *e, uint32_t task)
{
    return e->snapshot->interrupted[task] && !has_line(e, task, LINE_START);
}

/* A process just made may be ended before it writes its first line; that it was made
 * is what the shim saw. */
static bool no_end(const struct evidence *e, uint32_t task)
{
    return e->snapshot->interrupted[task] && !has_line(e, task, LINE_END);
}

static bool end_unrecorded(const struct evidence *e, uint32_t task)
{
    return e->snapshot->outcome[task] == CAIRN_PENDING && has_line(e, task, LINE_END);
}

static bool unreported(const struct evidence *e, uint32_t task)
{
    return e->snapshot->outcome[task] == CAIRN_COMPLETED && !e->reported[task];
}

/* The shim has seen it; that the store can be used afterwards is what counts. */
static bool all_recorded(const struct evidence *e, uint32_t task)
{
    return e->snapshot->outcome[task] == CAIRN_COMPLETED;
}

static const struct window windows[] = {
    {"intent to spawn", {"clone-entry", "clone-entry"}, intent_only},
    {"spawn to exit", {"clone-return", "clone-return"}, no_end},
    {"exit to commit", {"wait-return", "sync-entry"}, end_unrecorded},
    {"commit to report", {"sync-return", "sync-return"}, unreported},
    {"log transfer", {"transfer", "transfer"}, all_recorded},
};

static bool fired(const struct scenario *s)
{
    char path[DIR_SIZE + 32];
    snprintf(path, sizeof path, "%s/mark.0", s->dir);
    return access(path, F_OK) == 0;
}

static bool proven(struct scenario *s, const struct window *window,
                   const struct snapshot *snapshot)
{
    struct journal journal;
    bool reported[TASKS_MAX], found = false;
    struct evidence e = {s, snapshot, &journal, reported};
    if (!journal_read(&journal, &s->w, s->dir) ||
        !reported_read(s, s->dir, "0", reported))
        return false;
    for (uint32_t i = 0; i < s->w.n_tasks && !found; i++)
        found = window->proof(&e, i);
    journal_release(&journal);
    return found;
}

/* One kill and the way back; true if it hit the window. */
static bool one_kill(struct scenario *s, const struct window *window, uint32_t try)
{
    char kill_at[64];
    struct session session;
    struct snapshot snapshot;
    const char *kind = window->kinds[try % 2];
    uint32_t n = 1 + rng_below(&s->rng, s->w.n_tasks);
    uint32_t delay_us = strcmp(kind, "clone-return") == 0 && rng_one_in(&s->rng, 2)
                            ? rng_below(&s->rng, 4000)
                            : 0;
    snprintf(kill_at, sizeof kill_at, "%s:%u:%u", kind, n, delay_us);
    if (!session_start(s, &session, kill_at))
        return false;
    session_end(s, cairn_wait(s, &session));
    if (s->finished[0] || !fired(s))
        return false; /* it never came to the N-th call */
    s->kills++;
    /* Before the log is read as evidence nothing may write to it any more. */
    check(s, left_none(s->dir, s->sessions, true),
          "processes of a killed session live");
    check_between(s, &snapshot);
    bool hit = !s->failures && proven(s, window, &snapshot);
    if (!s->failures && session_start(s, &session, NULL))
        session_end(s, cairn_wait(s, &session));
    if (!s->failures) {
        check_journal(s);
        check_final(s, false);
    }
    return hit;
}

static void one_window(const struct setup *setup, const struct window *window,
                       uint32_t count)
{
    enum { SLEEP_MS = 8 };
    uint32_t hits = 0, tries = 0, kills = 0, failures = 0;
    uint64_t seed = setup->seed + (uint64_t)(window - windows) * 7919;
    struct shape shape = {.least = 6, .most = 20, .sleep_ms = SLEEP_MS, .plain = true};
    char detail[160];
    struct scenario s;
    for (; hits < count && tries < 4 * count + 8 && !failures; tries++) {
        /* One TAP line for a window: directories of tries that went well go away. */
        if (scenario_begin(&s, setup, window->name, seed + tries * 104729u, &shape))
            hits += one_kill(&s, window, tries);
        kills += s.kills;
        failures = s.failures;
        if (!failures)
            scenario_discard(&s);
    }
    if (!failures)
        scenario_begin(&s, setup, window->name, seed, &shape);
    check(&s, failures > 0 || hits >= count, "only %u of %u kills hit the window", hits,
          count);
    snprintf(detail, sizeof detail, "%u kills in the window, of %u kills, seed %llu",
             hits, kills, (unsigned long long)seed);
    scenario_end(&s, detail);
}

void test_windows(const struct setup *setup, uint32_t count)
{
    for (size_t i = 0; i < sizeof windows / sizeof windows[0] && count > 0; i++)
        one_window(setup, &windows[i], count);
}
