/* SPDX-License-Identifier: MIT */
/* The newest checkpoints of a killed run are damaged; it must continue from the last
 * valid one and run again just what was recorded in the damaged ones only. */
#include "crash.h"

enum { DAMAGED_MAX = 3 };

struct damage {
    uint64_t seqs[SEQS_MAX];
    uint32_t n, k; /* checkpoints; damaged ones */
    enum cairn_outcome valid[TASKS_MAX];
};

static void check_verify_names(struct scenario *s, const struct damage *damage)
{
    const char *verify[] = {"checkpoint", "verify", NULL};
    char id[32];
    int status = cairn_do(s, s->dir, "verify", verify);
    char *text = printed(s->dir, "out", "verify");
    check(s, status == 5, "verify ended with %d", status);
    for (uint32_t i = 0; i < damage->k && text; i++) {
        snprintf(id, sizeof id, "workflow:%llu", (unsigned long long)damage->seqs[i]);
        check(s, strstr(text, id) != NULL, "verify does not name %s", id);
    }
    free(text);
}

/* What had a valid record stays, everything else runs. */
static void check_plan(struct scenario *s, const struct damage *damage)
{
    uint32_t session = s->sessions;
    for (uint32_t i = 0; i < s->w.n_tasks; i++) {
        bool done = damage->valid[i] == CAIRN_COMPLETED;
        check(s, (s->planned[session][i] != NOT_PLANNED) == !done,
              "%s should%s be planned", s->w.id[i], done ? " not" : "");
        check(s, s->done_before[session][i] == done,
              "%s should%s be recorded completed", s->w.id[i], done ? "" : " not");
    }
}

/* `resume` as a person sees it: what was skipped is named on stderr. */
static void resume_damaged(struct scenario *s, const struct damage *damage)
{
    char jobs[16], tag[16], number[24];
    snprintf(jobs, sizeof jobs, "%u", s->jobs);
    snprintf(tag, sizeof tag, "%u", s->sessions);
    const char *resume[] = {"resume", "--keep", "0", "-j", jobs, NULL};
    session_end(s, cairn_do(s, s->dir, tag, resume));
    char *text = printed(s->dir, "err", tag);
    for (uint32_t i = 0; i < damage->k && text; i++) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)damage->seqs[i]);
        check(s, strstr(text, number) != NULL, "resume does not name checkpoint %s",
              number);
    }
    if (text && s->failures)
        printf("# %.600s\n", text);
    free(text);
}

static void damage_and_resume(struct scenario *s, struct damage *damage)
{
    struct snapshot snapshot;
    if (!checkpoint_outcomes(s, s->dir, damage->seqs[damage->k], damage->valid))
        return;
    s->damaged = true;
    for (uint32_t i = 0; i < damage->k; i++)
        if (!damage_record(s, s->dir, damage->seqs[i]))
            return;
    check_verify_names(s, damage);
    check_between(s, &snapshot);
    check_plan(s, damage);
    resume_damaged(s, damage);
    check_journal(s);
    check_final(s, false);
}

static void one_graph(const struct setup *setup, uint32_t index)
{
    static struct damage damage;
    char name[64], detail[128];
    struct shape shape = {.least = 12, .most = 60, .sleep_ms = 10, .plain = true};
    struct session session;
    struct scenario s;
    uint64_t seed = setup->seed + index * 15485863u;
    damage.k = 1 + index % DAMAGED_MAX;
    snprintf(name, sizeof name, "damage %u", index);
    if (scenario_begin(&s, setup, name, seed, &shape) &&
        session_start(&s, &session, NULL)) {
        /* Not before there are records enough, nor always before the end. */
        uint32_t wanted = damage.k + 2 + rng_below(&s.rng, s.w.n_tasks - damage.k);
        int64_t until = now_ms() + PATIENCE_MS;
        struct journal journal = {NULL, 0};
        while (journal.n < 2 * wanted && now_ms() < until) {
            journal_release(&journal);
            if (!journal_read(&journal, &s.w, s.dir) || journal.n >= 2 * s.w.n_tasks)
                break;
            pause_us(1000);
        }
        journal_release(&journal);
        /* Tasks write to their log before their end is recorded. */
        while (checkpoint_seqs(&s, s.dir, damage.seqs) <= damage.k && now_ms() < until)
            pause_us(5000);
        cairn_kill(&s, &session, false);
        session_end(&s, cairn_wait(&s, &session));
        left_none(s.dir, s.sessions, true);
        damage.n = checkpoint_seqs(&s, s.dir, damage.seqs);
        if (check(&s, damage.n > damage.k, "only %u checkpoints", damage.n) &&
            !s.failures)
            damage_and_resume(&s, &damage);
    }
    snprintf(detail, sizeof detail, "seed %llu, %u tasks, newest %u of %u damaged",
             (unsigned long long)seed, s.w.n_tasks, damage.k, damage.n);
    scenario_end(&s, detail);
}

void test_damage(const struct setup *setup, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        one_graph(setup, i);
}
