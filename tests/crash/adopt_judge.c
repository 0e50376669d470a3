/* SPDX-License-Identifier: MIT */
/* What must hold of every attempt at the end. The tasks' own log tells what happened,
 * the generated workflow how it had to end, the store what cairn made of it. */
#include "adopt.h"

struct tally {
    uint32_t starts, ends, fails, checked;
    int64_t start_ns, end_ns;
    char got[64];
};
/* As the store has it. */
struct told {
    bool there;
    struct cairn_attempt_info info;
};
struct judge {
    struct adoption *a;
    struct cairn_store *store;
    uint64_t run;
    uint32_t task;
    struct tally tallies[TASKS_MAX][TRIES_MAX];
    struct told told[TASKS_MAX][TRIES_MAX];
};

static void tally_line(struct judge *judge, const struct line *line)
{
    struct scenario *s = &judge->a->s;
    const char *id = s->w.id[line->task];
    if (!check(s, line->attempt < TRIES_MAX, "%s: attempt %u", id, line->attempt) ||
        !check(s, line->kind != LINE_OVERLAP,
               "%s: attempt %u began while something of an earlier one lived", id,
               line->attempt))
        return;
    if (line->session < judge->a->first)
        return;
    struct tally *tally = &judge->tallies[line->task][line->attempt];
    if (line->kind == LINE_START) {
        check(s, !tally->starts++, "%s: attempt %u started twice", id, line->attempt);
        tally->start_ns = line->time_ns;
    } else if (line->kind == LINE_END) {
        tally->ends++;
        tally->end_ns = line->time_ns;
        memcpy(tally->got, line->got, sizeof tally->got);
    } else if (line->kind == LINE_FAIL)
        tally->fails++;
    else if (line->kind == LINE_CHECKED)
        tally->checked++;
}

static bool tally_all(struct judge *judge)
{
    struct scenario *s = &judge->a->s;
    struct journal journal;
    if (!check(s, journal_read(&journal, &s->w, s->dir), "the log is not well formed"))
        return false;
    for (uint32_t i = 0; i < journal.n; i++)
        tally_line(judge, &journal.lines[i]);
    journal_release(&journal);
    return true;
}

static int note_attempt(void *context, const struct cairn_attempt_info *info)
{
    struct judge *judge = context;
    struct scenario *s = &judge->a->s;
    if (!check(s, info->attempt < TRIES_MAX, "attempt %u", info->attempt))
        return 1;
    struct told *told = &judge->told[judge->task][info->attempt];
    /* One that was taken over by an edited workflow was left open in the old one. */
    check(s, !told->there || told->info.open, "%s: attempt %u is recorded twice",
          s->w.id[judge->task], info->attempt);
    *told = (struct told){true, *info};
    told->info.text = NULL; /* borrowed */
    return 0;
}

static bool read_attempts(struct judge *judge)
{
    struct scenario *s = &judge->a->s;
    struct cairn_error error = {0};
    int code = 0;
    for (judge->task = 0; judge->task < s->w.n_tasks && !code; judge->task++)
        code = cairn_attempts(judge->store, judge->run, s->w.id[judge->task],
                              note_attempt, judge, &error);
    return check(s, !code, "cannot read attempts: %s", error.text);
}

/* ---- One attempt ---- */

struct truth {
    bool known; /* it came to its end */
    enum cairn_outcome outcome;
    int exit_code, signal;
    bool timed_out;
};

static struct truth truth_of(const struct def *def, const struct tally *tally)
{
    enum { SIGNALS = 1000, FLAKY = 3 };
    if (def->flags & DEF_TIMEOUT)
        return (struct truth){true, CAIRN_FAILED, .timed_out = true};
    if (tally->fails)
        return (struct truth){true, CAIRN_FAILED, FLAKY, 0, false};
    if (!tally->ends)
        return (struct truth){.known = false};
    if (!(def->flags & DEF_EXIT))
        return (struct truth){true, CAIRN_COMPLETED, 0, 0, false};
    if (def->code < SIGNALS)
        return (struct truth){true, CAIRN_FAILED, (int)def->code, 0, false};
    return (struct truth){true, CAIRN_FAILED, -1, (int)def->code - SIGNALS, false};
}

static bool is_true(const struct truth *truth, const struct cairn_attempt_info *info)
{
    return truth->known && info->outcome == truth->outcome &&
           info->timed_out == truth->timed_out &&
           (truth->timed_out ||
            (info->exit_code == truth->exit_code && info->signal == truth->signal));
}

struct output {
    char text[512];
    size_t n;
};

static int add_output(void *context, const char *bytes, size_t n, uint64_t gap)
{
    struct output *output = context;
    if (gap || n >= sizeof output->text - output->n)
        return 1;
    memcpy(output->text + output->n, bytes, n);
    output->n += n;
    output->text[output->n] = '\0';
    return 0;
}

/* The beginning is written in any case, if there was time for it. Both streams are one
 * log, in the order in which they were written. */
static void check_output(struct judge *judge, uint32_t task, uint32_t attempt)
{
    struct scenario *s = &judge->a->s;
    const char *id = s->w.id[task];
    bool timed_out = s->w.defs[s->w.def_of[task]].flags & DEF_TIMEOUT;
    struct output output = {.n = 0};
    char expected[256];
    int n = snprintf(expected, sizeof expected, "begin %s %u\nbegin of %s %u\n", id,
                     attempt, id, attempt);
    if (judge->tallies[task][attempt].ends)
        snprintf(expected + n, sizeof expected - (size_t)n, "end %s %u\nend of %s %u\n",
                 id, attempt, id, attempt);
    int code = cairn_output(judge->store, judge->run, id, attempt, 1, add_output,
                            &output, NULL);
    check(s,
          !code && (strcmp(output.text, expected) == 0 || (timed_out && output.n == 0)),
          "%s: the log of attempt %u is \"%s\"", id, attempt, output.text);
}

static void check_times(struct judge *judge, uint32_t task, uint32_t attempt)
{
    enum { LATE_MS = 5000 };
    struct scenario *s = &judge->a->s;
    const struct tally *tally = &judge->tallies[task][attempt];
    const struct cairn_attempt_info *info = &judge->told[task][attempt].info;
    const struct fate *fate = &judge->a->fates[task][attempt];
    bool checked = s->w.defs[s->w.def_of[task]].flags & DEF_CHECK;
    int64_t end_ns = tally->end_ns ? tally->end_ns : tally->start_ns;
    check(s,
          info->started_ns <= tally->start_ns && end_ns <= info->ended_ns &&
              (!tally->end_ns || checked ||
               info->ended_ns - end_ns < LATE_MS * (int64_t)1000000),
          "%s: attempt %u ran from %lld to %lld, recorded are %lld and %lld",
          s->w.id[task], attempt, (long long)tally->start_ns, (long long)end_ns,
          (long long)info->started_ns, (long long)info->ended_ns);
    if (fate->recorded)
        check(s,
              fate->started_ns == info->started_ns &&
                  (fate->ended_ns == info->ended_ns || checked) &&
                  fate->exit_code == info->exit_code && fate->signal == info->signal,
              "%s: attempt %u is not recorded as its keeper did", s->w.id[task],
              attempt);
}

/* It was started by cairn, whatever came of it. */
static bool judge_started(struct judge *judge, uint32_t task, uint32_t attempt)
{
    struct scenario *s = &judge->a->s;
    const struct def *def = &s->w.defs[s->w.def_of[task]];
    const struct tally *tally = &judge->tallies[task][attempt];
    const struct told *told = &judge->told[task][attempt];
    const char *id = s->w.id[task];
    struct truth truth = truth_of(def, tally);
    bool cut = judge->a->fates[task][attempt].cut;
    if (!check(s, told->there, "%s: attempt %u is not recorded", id, attempt))
        return false;
    check(s, cut || !told->info.open, "%s: attempt %u is recorded as open", id,
          attempt);
    if (!is_true(&truth, &told->info)) {
        check(s, cut && told->info.outcome != CAIRN_COMPLETED,
              "%s: attempt %u, which %s and %s, is recorded as %s, exit %d, signal %d",
              id, attempt, cut ? "was cut short" : "nobody disturbed",
              truth.known ? "had come to its end" : "had no end",
              cairn_outcome_name(told->info.outcome), told->info.exit_code,
              told->info.signal);
        return false;
    }
    if (truth.outcome == CAIRN_COMPLETED && def->flags & DEF_CHECK)
        check(s, tally->checked > 0, "%s: attempt %u completed unchecked", id, attempt);
    check_output(judge, task, attempt);
    check_times(judge, task, attempt);
    return true;
}

/* Nothing of it was seen. */
static void judge_unstarted(struct judge *judge, uint32_t task, uint32_t attempt)
{
    struct scenario *s = &judge->a->s;
    const struct def *def = &s->w.defs[s->w.def_of[task]];
    const struct told *told = &judge->told[task][attempt];
    uint32_t by_check = DEF_ONCE | DEF_CHECK;
    bool decided = judge->a->done[task] || ((def->flags & by_check) == by_check &&
                                            judge->tallies[task][attempt].checked > 0);
    if (told->there && told->info.outcome == CAIRN_COMPLETED)
        check(s, decided, "%s: attempt %u completed without being started",
              s->w.id[task], attempt);
}

/* Each attempt but the last that started gave a reason for another. */
static void judge_task(struct judge *judge, uint32_t task)
{
    struct adoption *a = judge->a;
    struct scenario *s = &a->s;
    uint32_t starts = 0, allowed = 1;
    bool once = s->w.defs[s->w.def_of[task]].flags & DEF_ONCE;
    for (uint32_t n = 0; n < TRIES_MAX; n++) {
        const struct tally *tally = &judge->tallies[task][n];
        if (!tally->starts) {
            judge_unstarted(judge, task, n);
            continue;
        }
        starts++;
        if (judge_started(judge, task, n))
            allowed += judge->told[task][n].info.outcome == CAIRN_FAILED;
        else
            allowed += a->fates[task][n].cut && !once;
    }
    allowed += a->reruns[task] + a->edited[task];
    check(s, starts <= allowed, "%s started %u times, with reasons for %u",
          s->w.id[task], starts, allowed);
}

/* ---- Values ---- */

static uint32_t completed_by(const struct judge *judge, uint32_t task)
{
    for (uint32_t n = 0; n < TRIES_MAX; n++)
        if (judge->told[task][n].there &&
            judge->told[task][n].info.outcome == CAIRN_COMPLETED)
            return n;
    return UINT32_MAX;
}

static void judge_got(struct judge *judge, uint32_t task)
{
    struct scenario *s = &judge->a->s;
    const struct def *def = &s->w.defs[s->w.def_of[task]];
    char expected[64];
    if (!def->n_needs || judge->a->edited[task])
        return;
    uint32_t need = s->w.defs[def->needs[0]].first;
    uint32_t by = completed_by(judge, need);
    if (by < TRIES_MAX && judge->tallies[need][by].ends)
        snprintf(expected, sizeof expected, "%s.%u", s->w.id[need], by);
    else
        snprintf(expected, sizeof expected, "none");
    for (uint32_t n = 0; n < TRIES_MAX; n++)
        if (judge->tallies[task][n].ends)
            check(s, strcmp(judge->tallies[task][n].got, expected) == 0,
                  "%s: attempt %u got \"%s\" from %s, not \"%s\"", s->w.id[task], n,
                  judge->tallies[task][n].got, s->w.id[need], expected);
}

/* ---- All ---- */

static void judge_store(struct judge *judge)
{
    struct scenario *s = &judge->a->s;
    char path[DIR_SIZE + 16];
    struct cairn_error error = {0};
    struct cairn_store_options options = {.path = path, .read_only = true};
    snprintf(path, sizeof path, "%s/.cairn", s->dir);
    int code = cairn_store_open(&judge->store, &options, &error);
    if (!check(s, !code, "the store cannot be opened: %s", error.text))
        return;
    if (read_attempts(judge)) {
        for (uint32_t task = 0; task < s->w.n_tasks; task++)
            judge_task(judge, task);
        for (uint32_t task = 0; task < s->w.n_tasks; task++)
            judge_got(judge, task);
    }
    cairn_store_close(judge->store);
}

static void check_outcomes(struct scenario *s, const struct snapshot *snapshot)
{
    enum cairn_outcome expected[TASKS_MAX];
    workflow_expect(&s->w, expected);
    check(s, snapshot->state == (s->w.fails ? CAIRN_RUN_FAILED : CAIRN_RUN_COMPLETED),
          "the run is %s", cairn_run_state_name(snapshot->state));
    for (uint32_t i = 0; i < s->w.n_tasks; i++)
        check(s, snapshot->outcome[i] == expected[i] && !snapshot->interrupted[i],
              "%s is %s, not %s", s->w.id[i], cairn_outcome_name(snapshot->outcome[i]),
              cairn_outcome_name(expected[i]));
}

void adoption_judge(struct adoption *a)
{
    struct scenario *s = &a->s;
    struct snapshot snapshot;
    struct judge *judge = calloc(1, sizeof *judge);
    if (!check(s, judge, "no memory") || !snapshot_take(s, s->dir, &snapshot)) {
        free(judge);
        return;
    }
    judge->a = a;
    judge->run = snapshot.run;
    check_outcomes(s, &snapshot);
    if (tally_all(judge))
        judge_store(judge);
    free(judge);
    check(s, left_none(s->dir, UINT32_MAX, true), "processes are left");
    check(s, live_empty(s, snapshot.run), "files are left in the live directory");
}
