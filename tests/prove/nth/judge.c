/* SPDX-License-Identifier: MIT */
/* What must hold after a fault. */
#include "sweep.h"

#include <stdarg.h>

enum { SHOWN = 40, SHOWN_EACH = 4, VERIFY_EACH = 4 /* at the end */ };

bool expect(struct trial *trial, bool good, enum complaint kind, const char *format,
            ...)
{
    va_list arguments;
    struct verdict *verdict = trial->verdict;
    if (good)
        return true;
    /* One failure is counted once per trial, as what it shows first. */
    if (trial->complaints++ == 0)
        ++*(kind == LOST       ? &verdict->lost
            : kind == REPEATED ? &verdict->repeated
                               : &verdict->other);
    if (verdict->shown < SHOWN && trial->complaints <= SHOWN_EACH) {
        verdict->shown++;
        printf("# %s: ", trial->fault);
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        printf(" [the fault: %s]\n", trial->call[0] ? trial->call : "none");
        fflush(stdout);
    }
    return false;
}

/* Ends with its status, and what it said if that is not 0. */
static int do_cairn(struct trial *trial, const char *tag, const char *const *arguments)
{
    return cairn(trial->world, tag, arguments);
}

static void expect_status(struct trial *trial, int status, int wanted, const char *what,
                          const char *tag)
{
    char text[300];
    said(trial->world, tag, text, sizeof text);
    expect(trial, status == wanted, OTHER, "%s ended with %d, not %d: %s", what, status,
           wanted, text);
}

void judge_store(struct trial *trial, const struct snapshot *now)
{
    static const char *const verify[] = {"checkpoint", "verify", NULL};
    if (!expect(trial, now->code == 0, OTHER, "the store cannot be read: %s",
                now->text))
        return;
    int status = do_cairn(trial, "verify", verify);
    expect(trial, now->outcome[PREPARE] != CAIRN_COMPLETED || now->artifact, LOST,
           "%s is completed, and its artifact is not stored", task_names[PREPARE]);
    /* There may be no store yet. */
    if (now->run || status != 10)
        expect_status(trial, status, 0, "checkpoint verify", "verify");
}

/* ---- The session with the fault ---- */

static void judge_reports(struct trial *trial, const struct snapshot *now)
{
    bool reported[TASKS];
    struct session session = {.degraded = false}; /* as the events come */
    events_read(trial->world, "1", reported, &session);
    for (size_t i = 0; i < TASKS; i++)
        expect(trial, !reported[i] || now->outcome[i] == CAIRN_COMPLETED, LOST,
               "%s was reported completed and is recorded as %s", task_names[i],
               cairn_outcome_name(now->outcome[i]));
}

/* What had started when cairn died was intended, and what it needs was recorded: before
 * this session for what started before it, as a resume runs failed tasks again. */
static void judge_started(struct trial *trial, const struct snapshot *now)
{
    static const struct {
        size_t task, needs;
    } needs[] = {{PART_A, PREPARE}, {PART_B, PREPARE}, {GATHER, PART_A},
                 {GATHER, PART_B},  {PAY, GATHER},     {BREAKS, FLAKY},
                 {RESCUE, BREAKS}};
    static struct line lines[LINES_MAX];
    size_t n = log_read(trial->world, lines);
    for (size_t i = 0; i < n; i++) {
        const struct line *line = &lines[i];
        if (line->kind != 's')
            continue;
        const struct snapshot *then = line->session == 0 ? &trial->before : now;
        expect(trial, now->attempts[line->task] >= line->attempt, OTHER,
               "attempt %u of %s started and is not recorded", line->attempt,
               task_names[line->task]);
        for (size_t k = 0; k < sizeof needs / sizeof needs[0]; k++)
            expect(trial,
                   needs[k].task != line->task ||
                       then->outcome[needs[k].needs] == task_expected(needs[k].needs),
                   OTHER, "%s started and the end of %s is not recorded",
                   task_names[line->task], task_names[needs[k].needs]);
    }
}

void judge_session(struct trial *trial)
{
    struct snapshot now;
    snapshot_take(trial->world, &now);
    judge_store(trial, &now);
    if (trial->of->runs)
        judge_reports(trial, &now);
    if (trial->of->runs && trial->killed)
        judge_started(trial, &now);
    for (size_t i = 0; i < TASKS; i++) {
        bool was = trial->before.outcome[i] == CAIRN_COMPLETED,
             undo = trial->of->undoes;
        bool undone = undo && now.outcome[i] == CAIRN_UNDONE;
        expect(trial, !was || undone || now.outcome[i] == CAIRN_COMPLETED, LOST,
               "%s had completed and is recorded as %s now", task_names[i],
               cairn_outcome_name(now.outcome[i]));
        trial->sessions[1].done_before[i] = was && !undo;
    }
    trial->after = now;
}

/* Does a task count as failed, that does not fail by itself? */
static bool failed_by_fault(const struct snapshot *now)
{
    for (size_t i = 0; i < TASKS; i++)
        if (i != BREAKS && now->outcome[i] == CAIRN_FAILED)
            return true;
    return now->state == CAIRN_RUN_FAILED;
}

static bool is_explained(const struct trial *trial, int status,
                         const struct snapshot *now)
{
    const struct session *session = &trial->sessions[1];
    switch (status) {
    case 0:
        return !trial->of->runs || now->state == CAIRN_RUN_COMPLETED;
    case 1:
        return trial->of->runs && (failed_by_fault(now) || session->degraded);
    case 7:
        return trial->stopped;
    case 8:
        return trial->of->runs && now->outcome[PAY] == CAIRN_UNKNOWN;
    case 9:
        return !trial->of->read_only;
    case 75:
        return true;
    default:
        return false;
    }
}

void judge_status(struct trial *trial)
{
    const struct snapshot now = trial->after;
    char text[300];
    int status = trial->sessions[1].status;
    size_t n = said(trial->world, "1", text, sizeof text);
    expect(trial, is_explained(trial, status, &now), OTHER,
           "ended with %d, the run is %s: %s", status,
           now.run ? cairn_run_state_name(now.state) : "not there", text);
    /* Of a run that took place the events tell. */
    bool told = n > 0 || (trial->of->runs && trial->sessions[1].told);
    expect(trial, status == 0 || told, OTHER, "ended with %d without a message",
           status);
}

/* ---- The log ---- */

struct counts {
    unsigned attempt, starts;
    bool started[SESSIONS_MAX], ended, checked, undone;
};

static void need(struct trial *trial, size_t task, bool good, const char *of)
{
    expect(trial, good, OTHER, "%s started before %s had ended", task_names[task], of);
}

static void judge_order(struct trial *trial, size_t task, const struct counts *c)
{
    switch ((enum task)task) {
    case PART_A:
    case PART_B:
        need(trial, task, c[PREPARE].ended, "prepare");
        break;
    case GATHER:
        need(trial, task, c[PART_A].ended && c[PART_B].ended, "part");
        break;
    case PAY:
        need(trial, task, c[GATHER].checked, "the check of gather");
        break;
    case BREAKS:
        need(trial, task, c[FLAKY].ended, "flaky");
        break;
    case RESCUE:
        /* It also fails where it cannot be started. */
        need(trial, task, c[BREAKS].starts > 0 || trial->failed, "breaks");
        break;
    default:
        break;
    }
}

static void judge_start(struct trial *trial, const struct line *line, struct counts *c)
{
    const struct session *session = &trial->sessions[line->session];
    struct counts *of = &c[line->task];
    const char *name = task_names[line->task];
    /* While nothing can be saved a number can come again, but not one of `once`. */
    bool unsaved = trial->failed && trial->sessions[1].degraded && line->task != PAY;
    expect(trial, line->attempt > of->attempt || unsaved, REPEATED,
           "%s: attempt %u started after attempt %u", name, line->attempt, of->attempt);
    expect(trial, !session->done_before[line->task], REPEATED,
           "%s ran again in session %u", name, line->session);
    expect(trial,
           !session->planned || session->will[line->task] || session->may[line->task],
           OTHER, "%s ran in session %u and was not planned", name, line->session);
    judge_order(trial, line->task, c);
    of->attempt = line->attempt;
    of->starts++;
    of->started[line->session] = true;
}

static void judge_planned(struct trial *trial, const struct counts *c)
{
    for (unsigned s = 2; s < SESSIONS_MAX; s++)
        for (size_t i = 0; i < TASKS; i++) {
            const struct session *session = &trial->sessions[s];
            bool ran = c[i].started[s] || session->adopted[i] || trial->of->adopts;
            expect(trial,
                   !session->began || session->status != 0 || !session->will[i] || ran,
                   OTHER, "%s was planned for session %u and did not run",
                   task_names[i], s);
        }
}

static void judge_log(struct trial *trial)
{
    static struct line lines[LINES_MAX];
    struct counts c[TASKS] = {{0}};
    size_t n = log_read(trial->world, lines);
    for (size_t i = 0; i < n; i++) {
        if (lines[i].kind == 's')
            judge_start(trial, &lines[i], c);
        c[lines[i].task].ended |= lines[i].kind == 'e';
        c[lines[i].task].checked |= lines[i].kind == 'c';
    }
    judge_planned(trial, c);
    /* It runs again if somebody decided so, or if it is known to have failed. */
    unsigned most =
        1u + trial->resolved_rerun + (trial->after.outcome[PAY] == CAIRN_FAILED);
    expect(trial, c[PAY].starts <= most, REPEATED,
           "pay, which is marked once, started %u times", c[PAY].starts);
}

/* ---- Going on ---- */

static bool has_ended(const struct world *world, size_t task)
{
    static struct line lines[LINES_MAX];
    size_t n = log_read(world, lines);
    for (size_t i = 0; i < n; i++)
        if (lines[i].task == task && lines[i].kind == 'e')
            return true;
    return false;
}

static void resolve(struct trial *trial)
{
    bool done = has_ended(trial->world, PAY);
    const char *const arguments[] = {"resolve", "1", "pay", done ? "done" : "rerun",
                                     NULL};
    int status = do_cairn(trial, "resolve", arguments);
    /* 2: the decision that was cut short is stored, and counts. */
    if (status != 2 || !trial->of->resolves)
        expect_status(trial, status, 0, "resolve", "resolve");
    trial->resolved_rerun = !done && status == 0;
}

/* One session; its exit status. */
static int one_more(struct trial *trial)
{
    static const char *const plan[] = {"plan", "--json", NULL};
    static const char *const run[] = {"run", "--json", NULL};
    static const char *const resume[] = {"resume", "--json", NULL};
    struct world *world = trial->world;
    struct session *session = &trial->sessions[++world->session];
    struct snapshot now;
    char tag[16];
    bool reported[TASKS];
    snapshot_take(world, &now);
    expect(trial, now.code == 0, OTHER, "the store cannot be read: %s", now.text);
    int status = do_cairn(trial, "plan", plan);
    expect_status(trial, status, 0, "plan", "plan");
    if (status == 0)
        expect(trial, plan_read(world, session), OTHER, "plan printed no plan");
    for (size_t i = 0; i < TASKS; i++)
        session->done_before[i] = now.outcome[i] == CAIRN_COMPLETED;
    snprintf(tag, sizeof tag, "%u", world->session);
    session->began = true;
    session->status = do_cairn(trial, tag, now.run ? resume : run);
    session->finished = true;
    events_read(world, tag, reported, session);
    if (session->status != 8)
        expect_status(trial, session->status, 0, now.run ? "resume" : "run", tag);
    return session->status;
}

static void judge_end(struct trial *trial)
{
    struct snapshot now;
    char left[TEXT_SIZE];
    snapshot_take(trial->world, &now);
    expect(trial, now.run && now.state == CAIRN_RUN_COMPLETED, OTHER,
           "the run is %s at last", cairn_run_state_name(now.state));
    for (size_t i = 0; i < TASKS; i++)
        expect(trial, now.outcome[i] == task_expected(i), OTHER, "%s is %s at last",
               task_names[i], cairn_outcome_name(now.outcome[i]));
    if (trial->nth % VERIFY_EACH == 0)
        judge_store(trial, &now);
    judge_log(trial);
    bool none = none_left(GONE_MS, left, sizeof left);
    expect(trial, none, OTHER, "processes are left: %s", left);
}

void go_on(struct trial *trial)
{
    struct world *world = trial->world;
    if (trial->after.run && trial->after.outcome[PAY] == CAIRN_UNKNOWN)
        resolve(trial);
    int status = 8;
    while (status == 8 && world->session + 1 < SESSIONS_MAX) {
        status = one_more(trial);
        if (status == 8)
            resolve(trial);
        if (trial->complaints > SHOWN_EACH)
            break;
    }
    judge_end(trial);
}

void judge_unchanged(struct trial *trial)
{
    const struct snapshot *before = &trial->before, now = trial->after;
    for (size_t i = 0; i < TASKS; i++)
        expect(trial,
               now.outcome[i] == before->outcome[i] &&
                   now.attempts[i] == before->attempts[i] &&
                   now.interrupted[i] == before->interrupted[i],
               LOST, "%s is %s now, and was %s", task_names[i],
               cairn_outcome_name(now.outcome[i]),
               cairn_outcome_name(before->outcome[i]));
    expect(trial, !trial->of->read_only || store_digest(trial->world) == trial->digest,
           OTHER, "a command that only reads has changed the store");
    if (trial->of->read_only)
        return;
    /* Again, without a fault. */
    int status = do_cairn(trial, "again", trial->of->arguments);
    expect_status(trial, status, 0, "the same again", "again");
    go_on(trial);
}

/* ---- Added tasks ---- */

static bool has_extra(struct trial *trial)
{
    static const char *const explain[] = {"explain", "extra", "--run", "1", NULL};
    int status = do_cairn(trial, "explain", explain);
    expect(trial, status == 0 || status == 10, OTHER, "explain ended with %d", status);
    return status == 0;
}

/* All of it or nothing, and all of it once that was said; and the same again. */
static void judge_extra(struct trial *trial, bool wanted)
{
    bool said_so = !trial->killed && trial->sessions[1].status == 0;
    bool there = has_extra(trial);
    expect(trial, !said_so || there == wanted, LOST, "the task is %s",
           there ? "there again" : "not there");
    int status = do_cairn(trial, "again", trial->of->arguments);
    int again = !wanted && !there ? 10 : 0;
    expect_status(trial, status, again, "the same again", "again");
    there = has_extra(trial);
    expect(trial, there == wanted, OTHER, "at the end the task is %s",
           there ? "there" : "not there");
    go_on(trial);
}

void judge_added(struct trial *trial)
{
    judge_extra(trial, true);
}

void judge_withdrawn(struct trial *trial)
{
    judge_extra(trial, false);
}

/* ---- Undoing ---- */

static void judge_undo_log(struct trial *trial)
{
    static struct line lines[LINES_MAX];
    size_t n = log_read(trial->world, lines);
    bool gather = false;
    for (size_t i = 0; i < n; i++) {
        const struct line *line = &lines[i];
        gather |= line->kind == 'U' && line->task == GATHER;
        if (line->kind != 'u')
            continue;
        expect(trial, line->task != PREPARE || gather, OTHER,
               "prepare was undone before gather, which needs it");
        expect(trial, !trial->sessions[line->session].done_before[line->task], REPEATED,
               "%s was recorded undone, and undone again", task_names[line->task]);
    }
}

void judge_undo(struct trial *trial)
{
    struct world *world = trial->world;
    struct snapshot now;
    char left[TEXT_SIZE];
    int status = 75;
    for (int tries = 0; status != 0 && status != 2 && tries < 3; tries++) {
        world->session++;
        snapshot_take(world, &now);
        for (size_t i = 0; i < TASKS; i++)
            trial->sessions[world->session].done_before[i] =
                now.outcome[i] == CAIRN_UNDONE;
        status = do_cairn(trial, "undo", trial->of->arguments);
    }
    snapshot_take(world, &now);
    expect_status(trial, status == 2 ? 0 : status, 0, "undo", "undo");
    for (size_t i = 0; i < TASKS; i++) {
        enum cairn_outcome wanted =
            i == PREPARE || i == GATHER ? CAIRN_UNDONE : task_expected(i);
        expect(trial, now.outcome[i] == wanted, OTHER, "%s is %s after undoing",
               task_names[i], cairn_outcome_name(now.outcome[i]));
    }
    judge_undo_log(trial);
    judge_store(trial, &now);
    bool none = none_left(GONE_MS, left, sizeof left);
    expect(trial, none, OTHER, "processes are left: %s", left);
}

void judge_resolve(struct trial *trial)
{
    const struct snapshot now = trial->after;
    expect(trial,
           now.outcome[PAY] == CAIRN_UNKNOWN || now.outcome[PAY] == CAIRN_COMPLETED,
           LOST, "pay is %s", cairn_outcome_name(now.outcome[PAY]));
    expect(trial,
           trial->killed || trial->sessions[1].status != 0 ||
               now.outcome[PAY] == CAIRN_COMPLETED,
           LOST, "pay was resolved, and is not completed");
    go_on(trial);
}
