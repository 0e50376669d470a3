/* SPDX-License-Identifier: MIT */
/* A new run from a checkpoint in the middle of a finished one: just the later tasks. */
#include "crash.h"

static void check_ran(struct scenario *s, const bool *expected)
{
    struct journal journal;
    uint32_t starts[TASKS_MAX] = {0};
    if (!check(s, journal_read(&journal, &s->w, s->dir), "the log is not well formed"))
        return;
    for (uint32_t i = 0; i < journal.n; i++)
        if (journal.lines[i].session == 1 && journal.lines[i].kind == LINE_START)
            starts[journal.lines[i].task]++;
    journal_release(&journal);
    for (uint32_t i = 0; i < s->w.n_tasks; i++)
        check(s, starts[i] == expected[i], "%s ran %u times from the checkpoint",
              s->w.id[i], starts[i]);
}

static void fork_from(struct scenario *s, uint64_t seq)
{
    char id[32];
    bool expected[TASKS_MAX];
    uint8_t planned[TASKS_MAX];
    enum cairn_outcome outcomes[TASKS_MAX];
    struct snapshot before, after;
    uint32_t n;
    snprintf(id, sizeof id, "workflow:%llu", (unsigned long long)seq);
    const char *plan[] = {"plan", "--from", id, "--json", NULL};
    const char *resume[] = {"resume", "--from", id, "--keep", "0", NULL};
    if (!checkpoint_outcomes(s, s->dir, seq, outcomes) ||
        !snapshot_take(s, s->dir, &before) ||
        !check(s, cairn_do(s, s->dir, "plan", plan) == 0, "plan --from fails") ||
        !plan_read(s, s->dir, "plan", planned, &n))
        return;
    for (uint32_t i = 0; i < s->w.n_tasks; i++) {
        expected[i] = outcomes[i] != CAIRN_COMPLETED;
        check(s, (planned[i] != NOT_PLANNED) == expected[i],
              "plan --from is wrong about %s", s->w.id[i]);
    }
    int status = cairn_do(s, s->dir, "1", resume);
    check(s, status == 0, "resume --from ended with %d", status);
    check_ran(s, expected);
    check(s,
          snapshot_take(s, s->dir, &after) && after.run == before.run + 1 &&
              after.state == CAIRN_RUN_COMPLETED,
          "it is not a new, completed run");
}

void test_from(const struct setup *setup, uint32_t count)
{
    static uint64_t seqs[SEQS_MAX];
    for (uint32_t index = 0; index < count; index++) {
        struct shape shape = {.least = 5, .most = 40, .sleep_ms = 2, .plain = true};
        char name[64], detail[128];
        struct scenario s;
        uint64_t seed = setup->seed + index * 32452843u, seq = 0;
        snprintf(name, sizeof name, "from a checkpoint %u", index);
        if (scenario_begin(&s, setup, name, seed, &shape)) {
            session_finish(&s);
            uint32_t n = checkpoint_seqs(&s, s.dir, seqs);
            if (check(&s, n >= 3, "only %u checkpoints", n)) {
                seq = seqs[1 + rng_below(&s.rng, n - 2)];
                fork_from(&s, seq);
            }
        }
        snprintf(detail, sizeof detail, "seed %llu, %u tasks, from workflow:%llu",
                 (unsigned long long)seed, s.w.n_tasks, (unsigned long long)seq);
        scenario_end(&s, detail);
    }
}
