/* SPDX-License-Identifier: MIT */
/* What else may follow a kill while tasks live on: another run, the end of all wishes,
 * an edited workflow; and kills while a failed run is undone. */
#include "adopt.h"

#include <unistd.h>

enum { KILL_MIN_MS = 60, KILL_MS = 250 };

static bool begin(const struct setup *setup, struct adoption *a, const char *name,
                  uint64_t seed)
{
    struct shape shape = {.least = 4,
                          .most = 16,
                          .sleep_ms = 400,
                          .plain = true,
                          .ends = true,
                          .adopt = true};
    memset(a, 0, sizeof *a);
    return scenario_begin(&a->s, setup, name, seed, &shape);
}

/* A session, killed after some time; false if it had ended. */
static bool cut_session(struct adoption *a)
{
    struct scenario *s = &a->s;
    struct session session;
    if (!session_start(s, &session, NULL))
        return false;
    pause_us((KILL_MIN_MS + rng_below(&s->rng, KILL_MS)) * 1000);
    cairn_kill(s, &session, rng_one_in(&s->rng, 3));
    bool killed = cairn_wait(s, &session) == 128 + 9;
    s->finished[s->sessions++] = !killed;
    return killed;
}

static void end(struct adoption *a, uint64_t seed)
{
    struct scenario *s = &a->s;
    char detail[128];
    snprintf(detail, sizeof detail, "seed %llu, %u tasks, %u kills, %u decisions",
             (unsigned long long)seed, s->w.n_tasks, s->kills, a->decisions);
    scenario_end(s, detail);
}

/* ---- Another run ---- */

/* What the first run left was ended before the second began. */
static void check_ended_first(struct adoption *a)
{
    struct scenario *s = &a->s;
    struct journal journal;
    int64_t first_ns = INT64_MAX;
    if (!check(s, journal_read(&journal, &s->w, s->dir), "the log is not well formed"))
        return;
    for (uint32_t i = 0; i < journal.n; i++) {
        const struct line *line = &journal.lines[i];
        if (line->session == a->first && line->time_ns < first_ns)
            first_ns = line->time_ns;
    }
    for (uint32_t i = 0; i < journal.n; i++)
        check(s,
              journal.lines[i].session >= a->first ||
                  journal.lines[i].time_ns < first_ns,
              "%s of the first run lived when the second had begun",
              s->w.id[journal.lines[i].task]);
    journal_release(&journal);
}

static void case_fresh(const struct setup *setup, struct adoption *a, uint64_t seed)
{
    static const char *const fresh[] = {"run",    "flow.yaml", "--fresh", "--json",
                                        "--keep", "0",         NULL};
    struct scenario *s = &a->s;
    struct snapshot before, after;
    if (begin(setup, a, "a fresh run after a kill", seed)) {
        cut_session(a);
        snapshot_take(s, s->dir, &before);
        a->first = s->sessions;
        adoption_session(a, fresh);
        check(s, snapshot_take(s, s->dir, &after) && after.run == before.run + 1,
              "it is not another run");
        check_ended_first(a);
        adoption_judge(a);
    }
    end(a, seed);
}

/* ---- A run that forks from what was cut ---- */

/* `once` tasks without a check that have begun and not ended. */
static bool find_begun(struct scenario *s, bool *begun)
{
    struct journal journal;
    if (!check(s, journal_read(&journal, &s->w, s->dir), "the log is not well formed"))
        return false;
    for (uint32_t i = 0; i < journal.n; i++) {
        const struct line *line = &journal.lines[i];
        uint32_t flags = s->w.defs[s->w.def_of[line->task]].flags;
        begun[line->task] =
            line->kind == LINE_START && flags & DEF_ONCE && !(flags & DEF_CHECK);
    }
    journal_release(&journal);
    return true;
}

static void check_not_begun_again(struct adoption *a, const bool *begun)
{
    struct scenario *s = &a->s;
    struct journal journal;
    if (!check(s, journal_read(&journal, &s->w, s->dir), "the log is not well formed"))
        return;
    for (uint32_t i = 0; i < journal.n; i++) {
        const struct line *line = &journal.lines[i];
        check(s,
              line->session < a->first || line->kind != LINE_START ||
                  !begun[line->task],
              "%s must not run twice, had begun, and was started by the fork",
              s->w.id[line->task]);
    }
    journal_release(&journal);
}

static void case_forked(const struct setup *setup, struct adoption *a, uint64_t seed)
{
    static uint64_t seqs[SEQS_MAX];
    bool begun[TASKS_MAX] = {false};
    char id[32];
    struct scenario *s = &a->s;
    if (begin(setup, a, "a fork of a run that was killed", seed) && cut_session(a) &&
        checkpoint_seqs(s, s->dir, seqs) && find_begun(s, begun)) {
        snprintf(id, sizeof id, "workflow:%llu", (unsigned long long)seqs[0]);
        const char *resume[] = {"resume", "--from", id, "--json", "--keep", "0", NULL};
        a->first = s->sessions;
        adoption_session(a, resume);
        check_not_begun_again(a, begun);
    }
    end(a, seed);
}

/* ---- Nobody wants it any more ---- */

/* Of a run that has no owner: what lives on is ended; what had ended is believed by the
 * next owner. */
static void case_cancelled(const struct setup *setup, struct adoption *a, uint64_t seed)
{
    static const char *const cancel[] = {"cancel", "1", NULL};
    struct scenario *s = &a->s;
    struct snapshot snapshot;
    if (begin(setup, a, "a run cancelled after a kill", seed) && cut_session(a) &&
        snapshot_take(s, s->dir, &snapshot)) {
        bool unfinished = snapshot.exists && snapshot.state == CAIRN_RUN_UNFINISHED;
        cut_note(a, &snapshot);
        check(s, !unfinished || cairn_do(s, s->dir, "cancel", cancel) == 0,
              "it cannot be cancelled");
        check(s, !unfinished || left_none(s->dir, UINT32_MAX, true),
              "processes of a cancelled run are left");
        keepers_note(a);
        adoption_finish(a);
        adoption_judge(a);
    }
    end(a, seed);
}

/* ---- An edited workflow ---- */

static void note_affected(void *context, uint32_t need)
{
    bool **edited = context;
    if (edited[0][need])
        *edited[1] = true;
}

static void edit_some(struct adoption *a)
{
    struct scenario *s = &a->s;
    bool *edited[2] = {a->edited, NULL};
    for (uint32_t i = 0; i < s->w.n_tasks; i++) {
        a->edited[i] = rng_one_in(&s->rng, 4);
        s->w.defs[i].sleep_ms += a->edited[i];
        edited[1] = &a->edited[i];
        workflow_needs(&s->w, i, note_affected, edited);
    }
    check(s, workflow_write(&s->w, s->dir, s->setup->task), "cannot write flow.yaml");
}

/* Those that ran in the old version are cut short, or count for nothing. */
static void cut_edited(struct adoption *a)
{
    struct scenario *s = &a->s;
    struct snapshot snapshot;
    if (!snapshot_take(s, s->dir, &snapshot))
        return;
    for (uint32_t i = 0; i < s->w.n_tasks; i++)
        if (a->edited[i] && snapshot.attempts[i] < TRIES_MAX)
            a->fates[i][snapshot.attempts[i]].cut = true;
}

/* Each ran as it is now, but for what must not run twice. */
static void check_new_ran(struct adoption *a)
{
    struct scenario *s = &a->s;
    struct journal journal;
    bool ran[TASKS_MAX] = {false};
    enum cairn_outcome expected[TASKS_MAX];
    workflow_expect(&s->w, expected);
    if (!check(s, journal_read(&journal, &s->w, s->dir), "the log is not well formed"))
        return;
    for (uint32_t i = 0; i < journal.n; i++)
        if (journal.lines[i].session > 0)
            ran[journal.lines[i].task] = true;
    journal_release(&journal);
    for (uint32_t i = 0; i < s->w.n_tasks; i++)
        check(s,
              ran[i] || !a->edited[i] || s->w.defs[i].flags & DEF_ONCE ||
                  expected[i] == CAIRN_SKIPPED,
              "%s was edited, or what it needs, and did not run again", s->w.id[i]);
}

static void case_edited(const struct setup *setup, struct adoption *a, uint64_t seed)
{
    static const char *const run[] = {"run",    "flow.yaml", "--json",
                                      "--keep", "0",         NULL};
    struct scenario *s = &a->s;
    if (begin(setup, a, "an edited workflow after a kill", seed) && cut_session(a)) {
        if (rng_one_in(&s->rng, 2))
            pause_us(rng_below(&s->rng, KILL_MS) * 1000);
        edit_some(a);
        cut_edited(a);
        adoption_session(a, run);
        if (unknown_decide(a))
            adoption_finish(a);
        check_new_ran(a);
        adoption_judge(a);
    }
    end(a, seed);
}

/* ---- Undoing ---- */

enum { CHAIN = 5 };

/* A chain, of which the last task fails; all is undone. */
static bool write_chain(struct adoption *a, bool adopt)
{
    struct scenario *s = &a->s;
    char path[DIR_SIZE + 16];
    const char *task = s->setup->task;
    snprintf(path, sizeof path, "%s/flow.yaml", s->dir);
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    fprintf(file, "name: crash\non_failure: {undo: all}\n%stasks:\n",
            adopt ? "on_crash: adopt\n" : "");
    for (uint32_t i = 0; i < CHAIN; i++) {
        fprintf(file, "  t%u:\n    exec: [\"%s\", \"%s\", \"%u\"]\n", i, task,
                i == CHAIN - 1 ? "f" : "-", 10 + rng_below(&s->rng, 40));
        fprintf(file, "    undo: 'exec \"%s\" u %u'\n", task,
                10 + rng_below(&s->rng, 40));
        if (i)
            fprintf(file, "    needs: [t%u]\n", i - 1);
    }
    return fclose(file) == 0;
}

/* In the last session, one after the other, from the last to the first. */
static void check_undone(struct scenario *s)
{
    struct journal journal;
    uint32_t next = CHAIN;
    if (!check(s, journal_read(&journal, &s->w, s->dir), "the log is not well formed"))
        return;
    enum line_kind last[CHAIN] = {LINE_START};
    uint32_t ended[CHAIN] = {0};
    for (uint32_t i = 0; i < journal.n; i++) {
        const struct line *line = &journal.lines[i];
        check(s, line->kind != LINE_OVERLAP, "%s ran twice at a time",
              s->w.id[line->task]);
        /* What ended just before a kill runs again, unless a keeper has seen it. An
         * attempt between them was an undo that was killed before its first line. */
        check(s,
              !s->w.adopt || line->kind != LINE_START || last[line->task] != LINE_END ||
                  line->attempt > ended[line->task] + 1,
              "%s ran again and was not undone", s->w.id[line->task]);
        if (line->kind == LINE_END)
            ended[line->task] = line->attempt;
        if (line->session == s->sessions - 1 && line->kind == LINE_UNDO)
            check(s, line->task < next, "%s was undone too late", s->w.id[line->task]);
        if (line->session == s->sessions - 1 && line->kind == LINE_UNDONE)
            next = line->task;
        last[line->task] = line->kind;
    }
    journal_release(&journal);
    for (uint32_t i = 0; i < CHAIN; i++)
        check(s, last[i] == LINE_UNDONE, "%s was not undone at last", s->w.id[i]);
}

static void check_undo_end(struct adoption *a)
{
    struct scenario *s = &a->s;
    struct snapshot snapshot;
    if (!snapshot_take(s, s->dir, &snapshot))
        return;
    for (uint32_t i = 0; i < CHAIN; i++)
        check(s,
              snapshot.outcome[i] == (i == CHAIN - 1 ? CAIRN_FAILED : CAIRN_UNDONE) &&
                  !snapshot.interrupted[i],
              "%s is %s", s->w.id[i], cairn_outcome_name(snapshot.outcome[i]));
    check_undone(s);
    check(s, left_none(s->dir, UINT32_MAX, true), "processes are left");
    check(s, live_empty(s, snapshot.run), "files are left in the live directory");
}

static void case_undo(const struct setup *setup, struct adoption *a, uint64_t seed)
{
    enum { KILLS_MAX = 3 };
    struct scenario *s = &a->s;
    struct shape shape = {
        .least = CHAIN, .most = CHAIN, .plain = true, .adopt = seed % 2};
    memset(a, 0, sizeof *a);
    if (scenario_begin(s, setup, "kills while a run is undone", seed, &shape) &&
        check(s, write_chain(a, seed % 2), "cannot write flow.yaml")) {
        uint32_t kills = 1 + rng_below(&s->rng, KILLS_MAX);
        while (kills-- > 0)
            cut_session(a);
        adoption_finish(a);
        check_undo_end(a);
    }
    end(a, seed);
}

void test_adopt_cases(const struct setup *setup, uint32_t count)
{
    static struct adoption adoption;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t seed = setup->seed + i * 49979687u;
        case_fresh(setup, &adoption, seed);
        case_forked(setup, &adoption, seed);
        case_cancelled(setup, &adoption, seed);
        case_edited(setup, &adoption, seed);
        case_undo(setup, &adoption, seed);
        case_undo(setup, &adoption, seed + 1);
    }
}
