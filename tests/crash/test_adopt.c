/* SPDX-License-Identifier: MIT */
/* Kills of cairn at random and chosen moments, several in a row, some of them with the
 * guard or with keepers; resumed until nothing is left to decide. With on_crash: adopt
 * an attempt is only ever cut short by the end of its keeper; with on_crash: kill by
 * that of cairn. */
#include "adopt.h"

#include <unistd.h>

enum { KILLS_MAX = 4, MOMENT_MS = 400, EARLY_MS = 25 };

/* A moment that the shim finds, or NULL. */
static const char *choose_shim(struct rng *rng, char text[64])
{
    static const char *const kinds[] = {"clone-entry", "clone-return", "wait-return",
                                        "sync-entry", "sync-return"};
    enum { SYNCS = 20, CALLS = 6 };
    switch (rng_below(rng, 6)) {
    case 0:
        snprintf(text, 64, "any-sync:%u", 1 + rng_below(rng, SYNCS));
        return text;
    case 1:
        snprintf(text, 64, "%s:%u:%u", kinds[rng_below(rng, 5)],
                 1 + rng_below(rng, CALLS), rng_below(rng, 2) * rng_below(rng, 3000));
        return text;
    default:
        return NULL;
    }
}

/* Sometimes before cairn, so that it still sees it, sometimes after. */
static void kill_now(struct adoption *a, struct session *session, bool keepers)
{
    struct scenario *s = &a->s;
    enum { ONE_IN = 2, SEEN_US = 15000 };
    bool before = rng_one_in(&s->rng, 2);
    /* As it adopts, or as it runs. */
    pause_us(rng_below(&s->rng, rng_one_in(&s->rng, 3) ? EARLY_MS : MOMENT_MS) * 1000);
    if (keepers && before) {
        keepers_kill(a, ONE_IN);
        pause_us(rng_below(&s->rng, SEEN_US));
    }
    cairn_kill(s, session, rng_one_in(&s->rng, 3));
}

/* True if it was killed. */
static bool killed_session(struct adoption *a)
{
    struct scenario *s = &a->s;
    struct session session;
    struct snapshot snapshot;
    char text[64];
    const char *shim = choose_shim(&s->rng, text);
    bool keepers = s->w.adopt && rng_one_in(&s->rng, 2);
    if (!session_start(s, &session, shim))
        return false;
    uint32_t kills = s->kills;
    if (!shim)
        kill_now(a, &session, keepers);
    int status = cairn_wait(s, &session);
    bool killed = status == 128 + 9;
    s->kills = kills + killed;
    s->finished[s->sessions++] = !killed;
    if (keepers)
        keepers_kill(a, 2);
    if (s->w.adopt && rng_one_in(&s->rng, 2))
        pause_us(rng_below(&s->rng, MOMENT_MS) * 1000);
    keepers_note(a);
    if (killed && !s->w.adopt && snapshot_take(s, s->dir, &snapshot))
        cut_note(a, &snapshot);
    return killed;
}

static void one_graph(const struct setup *setup, struct adoption *a, bool adopt,
                      uint32_t index)
{
    char name[64], detail[160];
    struct shape shape = {.least = 2,
                          .most = 24,
                          .sleep_ms = 150,
                          .plain = true,
                          .ends = true,
                          .adopt = adopt};
    struct scenario *s = &a->s;
    uint64_t seed = setup->seed + index * 6700417u + adopt;
    memset(a, 0, sizeof *a);
    snprintf(name, sizeof name, adopt ? "outliving cairn %u" : "once %u", index);
    if (scenario_begin(s, setup, name, seed, &shape)) {
        uint32_t kills = 1 + rng_below(&s->rng, KILLS_MAX);
        for (uint32_t i = 0; i < kills && !s->failures; i++) {
            struct snapshot snapshot;
            if (s->sessions > 0)
                check_between(s, &snapshot);
            killed_session(a);
            /* Mostly the next session has to find out by itself. */
            if (rng_one_in(&s->rng, 3))
                unknown_decide(a);
        }
        if (!s->failures)
            adoption_finish(a);
        if (!s->failures)
            adoption_judge(a);
    }
    snprintf(detail, sizeof detail,
             "seed %llu, %u tasks, -j %u, %u sessions, %u kills, %u of a guard, %u of "
             "keepers, %u decisions",
             (unsigned long long)seed, s->w.n_tasks, s->jobs, s->sessions, s->kills,
             s->guard_kills, a->keeper_kills, a->decisions);
    scenario_end(s, detail);
}

static void kills_of(const struct setup *setup, uint32_t count, bool adopt)
{
    static struct adoption adoption;
    uint32_t kills = 0;
    for (uint32_t i = 0; kills < count && i < count; i++) {
        one_graph(setup, &adoption, adopt, i);
        kills += adoption.s.kills;
    }
}

void test_adopt(const struct setup *setup, uint32_t count)
{
    kills_of(setup, count, true);
}

void test_once(const struct setup *setup, uint32_t count)
{
    kills_of(setup, count, false);
}
