/* SPDX-License-Identifier: MIT */
/* What must hold after kills. Sessions are numbered from 0; `session` 0 is the first
 * process of cairn in s->dir. */
#include "crash.h"

/* ---- Sessions ---- */

static void tag_of(char tag[16], uint32_t session)
{
    snprintf(tag, 16, "%u", session);
}

bool session_start(struct scenario *s, struct session *session, const char *kill_at)
{
    struct snapshot snapshot;
    char tag[16], jobs[16];
    tag_of(tag, s->sessions);
    snprintf(jobs, sizeof jobs, "%u", s->jobs);
    if (!snapshot_take(s, s->dir, &snapshot))
        return false;
    const char *run[] = {"run", "flow.yaml", "--json", "--keep", "0", "-j", jobs, NULL};
    const char *resume[] = {"resume", "--json", "--keep", "0", "-j", jobs, NULL};
    return cairn_start(s, session, s->dir, tag, kill_at,
                       snapshot.exists ? resume : run);
}

static int status_expected(const struct scenario *s)
{
    return s->w.fails ? 1 : 0;
}

static void show_errors(struct scenario *s)
{
    char tag[16];
    tag_of(tag, s->sessions);
    char *text = printed(s->dir, "err", tag);
    if (text && *text)
        printf("# err.%s: %.600s\n", tag, text);
    free(text);
}

void session_end(struct scenario *s, int status)
{
    s->finished[s->sessions] = status != 128 + 9;
    if (s->finished[s->sessions] &&
        !check(s, status == status_expected(s), "session %u ended with %d", s->sessions,
               status))
        show_errors(s);
    s->sessions++;
}

/* Plan, of the same thing that session_start will start. */
static void plan_next(struct scenario *s, const struct snapshot *snapshot)
{
    const char *with_file[] = {"plan", "flow.yaml", "--json", NULL};
    const char *newest[] = {"plan", "--json", NULL};
    uint32_t n;
    int status = cairn_do(s, s->dir, "plan", snapshot->exists ? newest : with_file);
    if (check(s, status == 0, "plan ended with %d", status))
        plan_read(s, s->dir, "plan", s->planned[s->sessions], &n);
}

bool run_has_ended(const struct snapshot *snapshot)
{
    return snapshot->state == CAIRN_RUN_COMPLETED ||
           snapshot->state == CAIRN_RUN_FAILED;
}

void check_between(struct scenario *s, struct snapshot *snapshot)
{
    bool reported[TASKS_MAX];
    char tag[16];
    if (!snapshot_take(s, s->dir, snapshot))
        return;
    if (run_has_ended(snapshot) && s->settled == UINT32_MAX)
        s->settled = s->sessions - 1;
    tag_of(tag, s->sessions - 1);
    if (!s->damaged && reported_read(s, s->dir, tag, reported))
        for (uint32_t i = 0; i < s->w.n_tasks; i++)
            check(s, !reported[i] || snapshot->outcome[i] == CAIRN_COMPLETED,
                  "%s was reported completed in session %u and is not recorded",
                  s->w.id[i], s->sessions - 1);
    for (uint32_t i = 0; i < s->w.n_tasks; i++)
        s->done_before[s->sessions][i] = snapshot->outcome[i] == CAIRN_COMPLETED;
    plan_next(s, snapshot);
    for (uint32_t i = 0; i < s->w.n_tasks; i++)
        check(s, !s->done_before[s->sessions][i] || !s->planned[s->sessions][i],
              "%s is recorded completed, but planned", s->w.id[i]);
}

void session_finish(struct scenario *s)
{
    struct session session;
    struct snapshot snapshot;
    if (s->sessions > 0)
        check_between(s, &snapshot);
    if (!s->failures && session_start(s, &session, NULL))
        session_end(s, cairn_wait(s, &session));
}

int64_t run_whole(struct scenario *s)
{
    char jobs[16];
    snprintf(jobs, sizeof jobs, "%u", s->jobs);
    const char *run[] = {"run", "flow.yaml", "--quiet", "--keep",
                         "0",   "-j",        jobs,      NULL};
    int64_t start = now_ms();
    int status = cairn_do(s, s->whole, "0", run);
    int64_t took = now_ms() - start;
    if (!check(s, status == status_expected(s), "the unbroken run ended with %d",
               status)) {
        char *text = printed(s->whole, "err", "0");
        printf("# %.600s\n", text ? text : "");
        free(text);
        return -1;
    }
    return took;
}

/* ---- The journal ---- */

struct counts {
    uint32_t starts, ends, fails, last_attempt, first_session;
};

static void count_line(struct scenario *s, const struct line *line, struct counts *c)
{
    const char *id = s->w.id[line->task];
    if (!check(s, line->kind != LINE_OVERLAP,
               "%s: attempt %u began while an earlier one still lived", id,
               line->attempt))
        return;
    if (line->kind == LINE_END)
        c->ends++;
    if (line->kind == LINE_FAIL)
        c->fails++;
    if (line->kind != LINE_START)
        return;
    check(s, line->attempt > c->last_attempt, "%s: attempt %u started twice", id,
          line->attempt);
    check(s, !s->done_before[line->session][line->task],
          "%s ran again in session %u though it was recorded completed", id,
          line->session);
    check(s, line->session == 0 || s->planned[line->session][line->task],
          "%s ran in session %u and was not planned", id, line->session);
    if (!c->starts++)
        c->first_session = line->session;
    c->last_attempt = line->attempt;
}

static bool is_flaky(const struct scenario *s, uint32_t task)
{
    return s->w.defs[s->w.def_of[task]].flags & DEF_FLAKY;
}

/* Without failures what was planned is exactly what runs, unless it was killed, and
 * what had ended does not run again. */
static void check_planned_ran(struct scenario *s, const struct journal *journal,
                              uint32_t session)
{
    bool ran[TASKS_MAX] = {false};
    for (uint32_t i = 0; i < journal->n; i++)
        if (journal->lines[i].session == session)
            ran[journal->lines[i].task] = true;
    for (uint32_t i = 0; i < s->w.n_tasks; i++)
        switch ((enum planned)s->planned[session][i]) {
        case PLANNED:
            check(s, ran[i], "%s was planned for session %u and did not run",
                  s->w.id[i], session);
            break;
        case TAKEN_OVER:
            check(s, !ran[i] || is_flaky(s, i),
                  "%s had ended, and ran again in session %u", s->w.id[i], session);
            break;
        case MAY_RUN:
        case NOT_PLANNED:
            break;
        }
}

/* What a kill may repeat is what was alive at that moment: one task for each job, which
 * has perhaps said that it ends and not ended yet, or not been collected. */
static void check_repeats(struct scenario *s, const struct journal *journal,
                          uint32_t session)
{
    bool ended[TASKS_MAX] = {false}, again[TASKS_MAX] = {false};
    uint32_t repeated = 0;
    for (uint32_t i = 0; i < journal->n; i++) {
        const struct line *line = &journal->lines[i];
        if (line->session == session && line->kind == LINE_END)
            ended[line->task] = true;
        if (line->session == session + 1 && line->kind == LINE_START)
            again[line->task] = true;
    }
    for (uint32_t i = 0; i < s->w.n_tasks; i++) {
        repeated += ended[i] && again[i];
        check(s, !again[i] || !s->gone[session][i],
              "%s had ended before the kill, and ran again in session %u", s->w.id[i],
              session + 1);
    }
    s->repeats += repeated;
    check(s, repeated <= s->jobs, "%u tasks that had ended ran again in session %u",
          repeated, session + 1);
}

void check_journal(struct scenario *s)
{
    struct journal journal;
    struct counts counts[TASKS_MAX] = {{0}};
    if (!check(s, journal_read(&journal, &s->w, s->dir), "the log is not well formed"))
        return;
    for (uint32_t i = 0; i < journal.n; i++)
        count_line(s, &journal.lines[i], &counts[journal.lines[i].task]);
    for (uint32_t i = 0; i < s->w.n_tasks; i++) {
        const struct counts *c = &counts[i];
        bool flaky = is_flaky(s, i);
        check(s, c->ends + c->fails <= c->starts, "%s: more ends than starts",
              s->w.id[i]);
        for (uint32_t k = 1; k < s->sessions; k++)
            if (s->done_before[k][i] && c->first_session == k - 1 && !flaky)
                check(s, c->starts == 1 && c->ends == 1,
                      "%s was recorded completed, and has %u starts and %u ends",
                      s->w.id[i], c->starts, c->ends);
    }
    for (uint32_t k = 0; k + 1 < s->sessions && !s->damaged; k++)
        check_repeats(s, &journal, k);
    for (uint32_t k = 1; k < s->sessions; k++)
        if (s->finished[k] && !s->w.fails)
            check_planned_ran(s, &journal, k);
    journal_release(&journal);
}

struct order {
    struct scenario *s;
    const bool *ended;
    uint32_t task;
};

static void check_need(void *context, uint32_t need)
{
    struct order *order = context;
    check(order->s, order->ended[need], "%s started before %s had ended",
          order->s->w.id[order->task], order->s->w.id[need]);
}

void check_order(struct scenario *s, const char *dir)
{
    struct journal journal;
    bool ended[TASKS_MAX] = {false};
    if (!journal_read(&journal, &s->w, dir))
        return;
    for (uint32_t i = 0; i < journal.n; i++) {
        const struct line *line = &journal.lines[i];
        struct order order = {s, ended, line->task};
        if (line->kind == LINE_START)
            workflow_needs(&s->w, line->task, check_need, &order);
        if (line->kind == LINE_END)
            ended[line->task] = true;
    }
    journal_release(&journal);
}

/* ---- The end ---- */

static void check_states(struct scenario *s, const char *dir, const char *what)
{
    struct snapshot snapshot;
    enum cairn_outcome expected[TASKS_MAX];
    workflow_expect(&s->w, expected);
    if (!snapshot_take(s, dir, &snapshot))
        return;
    check(s, snapshot.state == (s->w.fails ? CAIRN_RUN_FAILED : CAIRN_RUN_COMPLETED),
          "%s: the run is %s", what, cairn_run_state_name(snapshot.state));
    for (uint32_t i = 0; i < s->w.n_tasks; i++)
        check(s, snapshot.outcome[i] == expected[i] && !snapshot.interrupted[i],
              "%s: %s is %s, not %s", what, s->w.id[i],
              cairn_outcome_name(snapshot.outcome[i]), cairn_outcome_name(expected[i]));
}

/* What left its session on purpose may live on, as of any command, if the session of
 * cairn came to the end of the run; even if that was killed after all was recorded,
 * just before its exit. */
void check_final(struct scenario *s, bool compare_whole)
{
    uint32_t last = s->sessions - 1;
    check_states(s, s->dir, "resumed");
    check_order(s, s->dir);
    check(s, left_none(s->dir, last < s->settled ? last : s->settled, true),
          "processes of a killed session are left");
    check(s, left_none(s->dir, UINT32_MAX, false), "processes are left");
    if (!compare_whole)
        return;
    check_states(s, s->whole, "unbroken");
    check_order(s, s->whole);
    check(s, left_none(s->whole, UINT32_MAX, false),
          "processes of the unbroken run are left");
}
