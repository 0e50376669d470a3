/* SPDX-License-Identifier: MIT */
/* One run or resume: planned, done, and compared with the model. */
#include "tests/prove/user/user.h"
#include "tests/support/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct flow *flow_of(struct world *w, const struct session *s)
{
    return &w->flow[s->flow];
}

static const char *how_name(enum how how)
{
    static const char *const names[] = {"to its end", "killed", "terminated",
                                        "cancelled"};
    return names[how];
}

/* ---- Before ---- */

/* The newest run of a workflow and param: what `cairn run` continues with. */
static uint32_t newest_run(const struct world *w, uint32_t flow, uint32_t param)
{
    uint32_t found = NO_RUN;
    for (uint32_t i = 0; i < w->n_runs; i++)
        if (w->run[i].flow == flow && w->run[i].param == param &&
            (found == NO_RUN || w->run[i].number > w->run[found].number))
            found = i;
    return found;
}

static uint32_t run_of_number(const struct world *w, uint32_t number)
{
    for (uint32_t i = 0; i < w->n_runs; i++)
        if (w->run[i].number == number)
            return i;
    return NO_RUN;
}

static int plan_run(struct world *w, struct session *s)
{
    char text[32], file[32];
    const char *of_run[] = {"plan", "--json", "--run", text, NULL};
    const char *of_file[] = {"plan", "--json", "--param", text, file, NULL};
    snprintf(file, sizeof file, "%s.yaml", flow_of(w, s)->name);
    if (s->run != NO_RUN)
        snprintf(text, sizeof text, "%u", w->run[s->run].number);
    else
        snprintf(text, sizeof text, "p=%u", s->param);
    int status = cairn_do(w, "plan", s->run != NO_RUN ? of_run : of_file);
    if (status == 0 && plan_read(w, s->flow, "plan", &s->plan))
        return 0;
    wrong(w, &w->other, "plan of %s %s: exit %d", file, text, status);
    show_errors(w, "plan");
    return -1;
}

/* A run that was killed so early that we did not get to know its number. */
static bool ghost_appears(struct world *w, struct session *s)
{
    unsigned bit = 1u << (s->flow * PARAMS + s->param);
    if (!(w->ghosts & bit) || w->n_runs == RUNS)
        return false;
    w->ghosts &= ~bit;
    s->run = w->n_runs++;
    run_init(&w->run[s->run], s->plan.run, s->flow, s->param);
    for (uint32_t t = 0; t < TASKS; t++)
        w->run[s->run].salt[t] = NO_SALT;
    return true;
}

/* Which run `cairn run FILE` continues with. */
static bool choose_run(struct world *w, struct session *s)
{
    uint32_t newest = newest_run(w, s->flow, s->param);
    uint32_t number = newest == NO_RUN ? 0 : w->run[newest].number;
    enum parted finished = newest == NO_RUN ? YES : w->run[newest].finished;
    if (s->plan.run > number && ghost_appears(w, s))
        return true;
    bool fits = (s->plan.run == 0 && finished != NO) ||
                (s->plan.run && s->plan.run == number && finished != YES);
    if (!fits)
        wrong(w, &w->lost, "run %s.yaml p=%u continues run %u, newest %u (%d)",
              flow_of(w, s)->name, s->param, s->plan.run, number, finished);
    s->run = s->plan.run ? run_of_number(w, s->plan.run) : NO_RUN;
    return fits;
}

static void explain_difference(struct world *w, const struct session *s)
{
    const struct run *run = &w->run[s->run];
    const struct flow *flow = flow_of(w, s);
    struct fates f = model_fates(flow, run, &s->before);
    unsigned more = s->plan.fates.will & ~(f.will | f.may);
    unsigned *count = more ? &w->repeated : &w->undetected;
    wrong(w, count,
          "plan of run %u of %s: will %x may %x, the model %x %x (maybe %x, reset %x, "
          "noted %x)",
          run->number, flow->name, s->plan.fates.will, s->plan.fates.may, f.will, f.may,
          run->maybe, run->reset, run->noted);
    w->trace = true;
    struct planned again;
    plan_read(w, s->flow, "plan", &again);
    w->trace = false;
}

/* The plan is what the model says. */
static void compare_plan(struct world *w, struct session *s)
{
    unsigned all = (1u << flow_of(w, s)->n) - 1;
    if (s->run == NO_RUN) {
        if (s->plan.fates.will != all || s->plan.fates.may)
            wrong(w, &w->other, "plan of a new run: will %x, not %x",
                  s->plan.fates.will, all);
    } else if (!model_accepts(flow_of(w, s), &w->run[s->run], &s->before,
                              s->plan.fates)) {
        explain_difference(w, s);
        w->run[s->run].loose = true;
    }
}

/* ---- During ---- */

static void snapshot(struct world *w, struct session *s)
{
    log_read(w, s->flow, s->log_at, &s->seen);
    s->gone = 0;
    for (uint32_t t = 0; t < flow_of(w, s)->n; t++)
        if (s->seen.ended & 1u << t && has_ended(s->seen.pid[t]))
            s->gone |= 1u << t;
}

static void session_start(struct world *w, struct session *s)
{
    char text[32], file[32];
    const char *resume[] = {"resume", text, "--json", "-j3", NULL};
    const char *run[] = {"run", file, "--json", "-j3", "--param", text, NULL};
    bool by_number = s->run != NO_RUN && !s->by_file;
    snprintf(file, sizeof file, "%s.yaml", flow_of(w, s)->name);
    if (by_number)
        snprintf(text, sizeof text, "%u", w->run[s->run].number);
    else
        snprintf(text, sizeof text, "p=%u", s->param);
    say(w, "%s %s %s, %s", by_number ? "resume" : "run", file, text, how_name(s->how));
    s->pid = cairn_start(w, s->tag, by_number ? resume : run);
}

static void cancel_run(struct world *w, const struct session *s)
{
    char number[32];
    struct said said;
    char name[32];
    const char *cancel[] = {"cancel", number, NULL};
    snprintf(name, sizeof name, "out.%s", s->tag);
    said_read(w, s->flow, name, &said);
    if (!said.run)
        return;
    snprintf(number, sizeof number, "%u", said.run);
    int status = cairn_do(w, "cancel", cancel);
    if (status && status != 2) { /* 2: it has ended already */
        wrong(w, &w->other, "cancel: exit %d", status);
        show_errors(w, "cancel");
    }
}

/* Ends it as was decided. */
static void session_stop(struct world *w, struct session *s, struct session *inner)
{
    if (s->how != TO_ITS_END)
        pause_us(below(w, one_in(w, 3) ? 12000 : 60000));
    if (s->how == KILLED) {
        snapshot(w, s);
        if (inner)
            snapshot(w, inner);
        if (s->pid > 0)
            kill(s->pid, SIGKILL);
    }
    if (s->how == TERMINATED && s->pid > 0)
        kill(s->pid, SIGTERM);
    if (s->how == CANCELLED)
        cancel_run(w, s);
}

static void session_end(struct world *w, struct session *s, struct session *inner)
{
    session_stop(w, s, inner);
    s->status = cairn_wait(w, s->pid, "a run");
    await_nobody(w);
}

/* ---- After ---- */

/* What has certainly completed, and what has perhaps. */
struct ended {
    unsigned done, maybe;
};

static void record_task(const struct flow *flow, struct run *run, uint32_t t,
                        const struct files *now)
{
    const struct task *task = &flow->task[t];
    struct record *record = &run->record[t];
    model_inputs(task, now->of, record->in);
    for (uint32_t i = 0; i < task->n_out; i++)
        record->out[i] = model_makes(flow, t, run->param, task->salt, i, record->in);
    record->salt = task->salt;
}

static struct run *take_run(struct world *w, struct session *s, uint32_t number)
{
    if (s->run == NO_RUN && number && run_of_number(w, number) != NO_RUN) {
        wrong(w, &w->other, "run %u is not a new one", number);
        s->run = run_of_number(w, number);
    }
    if (s->run == NO_RUN && number && w->n_runs < RUNS) {
        run_init(&w->run[w->n_runs], number, s->flow, s->param);
        s->run = w->n_runs++;
    }
    return s->run == NO_RUN ? NULL : &w->run[s->run];
}

/* That nothing started which stays, and nothing twice. */
static void check_started(struct world *w, const struct session *s,
                          const struct logged *log)
{
    unsigned allowed = s->plan.fates.will | s->plan.fates.may;
    if (log->started & ~allowed && !s->loose)
        wrong(w, &w->repeated, "%s: started %x, planned %x", flow_of(w, s)->name,
              log->started, allowed);
    if (log->twice)
        wrong(w, &w->repeated, "%s: started twice %x", flow_of(w, s)->name, log->twice);
}

static void set_states(const struct flow *flow, struct run *run, unsigned planned,
                       const struct said *said, struct ended e, const struct files *now)
{
    for (uint32_t t = 0; t < flow->n; t++) {
        unsigned bit = 1u << t;
        if (!(planned & bit))
            continue;
        run->state[t] = (e.done | e.maybe) & bit ? DONE
                        : said->failed & bit     ? FAILED
                        : said->skipped & bit    ? SKIPPED
                                                 : OPEN;
        if (run->state[t] == DONE)
            record_task(flow, run, t, now);
        else if (run->state[t] == FAILED)
            model_inputs(&flow->task[t], now->of, run->record[t].in);
    }
    run->maybe = e.maybe;
    run->unclear = run->reset = 0;
    for (uint32_t t = 0; t < flow->n; t++)
        run->salt[t] = flow->task[t].salt;
}

/* Everything that is done is there, and made of what is there. */
static void check_contents(struct world *w, const struct session *s,
                           const struct run *run, unsigned done,
                           const struct files *now)
{
    const struct flow *flow = flow_of(w, s);
    for (uint32_t t = 0; t < flow->n; t++) {
        const struct task *task = &flow->task[t];
        uint64_t in[FILES_EACH];
        model_inputs(task, now->of, in);
        for (uint32_t i = 0; done & 1u << t && i < task->n_out; i++)
            if (now->of[task->out[i]] !=
                model_makes(flow, t, run->param, task->salt, i, in))
                wrong(w, &w->lost,
                      "run %u: output %u of %s t%u is not what it is to be",
                      run->number, i, flow->name, t);
    }
}

static unsigned bits_in(const struct run *run, enum state state)
{
    unsigned bits = 0;
    for (uint32_t t = 0; t < TASKS; t++)
        if (run->state[t] == state)
            bits |= 1u << t;
    return bits;
}

static void check_ended(struct world *w, const struct session *s, const struct run *run,
                        const struct said *said, const struct logged *log)
{
    struct outcome end;
    const struct flow *flow = flow_of(w, s);
    struct run before = *run;
    end.nested_fails = s->nested != 0;
    model_simulate(flow, &before, &s->before, s->plan.fates, &end);
    unsigned done = 0, all = (1u << flow->n) - 1;
    for (uint32_t t = 0; t < flow->n; t++)
        done |= end.state[t] == DONE ? 1u << t : 0;
    /* What had ended before is only taken over. */
    unsigned took = end.started & ~log->started;
    if (took & ~said->done || log->started & ~end.started)
        wrong(w, &w->undetected, "%s: started %x, it had to be %x", flow->name,
              log->started, end.started);
    if (s->status != (done == all ? 0 : 1))
        wrong(w, &w->other, "%s: exit %d, done %x of %x", flow->name, s->status, done,
              all);
}

void forget(const struct flow *flow, struct run *run, unsigned planned)
{
    run->reset |= planned;
    for (uint32_t t = 0; t < flow->n; t++)
        run->reset_salt[t] = flow->task[t].salt;
}

static void settle_ended(struct world *w, struct session *s, struct run *run,
                         const struct said *said, const struct logged *log,
                         const struct files *now)
{
    unsigned planned = s->plan.fates.will | s->plan.fates.may;
    struct ended e = {said->done, 0};
    if (said->done & ~log->ended & ~s->plan.adopted)
        wrong(w, &w->other, "done %x, ended %x", said->done, log->ended);
    if (s->how == TO_ITS_END && !run->loose && !s->loose)
        check_ended(w, s, run, said, log);
    if (said->begun || s->how == TO_ITS_END) {
        set_states(flow_of(w, s), run, planned, said, e, now);
        run->noted = 0;
        run->finished = s->status == 0 ? YES : NO;
    } else {
        forget(flow_of(w, s), run, planned);
        run->finished = run->finished == YES ? UNSURE : run->finished;
    }
}

/* What it had begun and not ended, or could not begin, may have failed. */
static void note_unclear(const struct flow *flow, struct run *run, unsigned planned,
                         const struct logged *log, const struct files *now)
{
    for (uint32_t t = 0; t < flow->n; t++) {
        if (!(planned & 1u << t) || run->state[t] != OPEN)
            continue;
        uint64_t *in = run->record[t].in;
        bool may_fail = flow->task[t].nested && log->started & 1u << t;
        model_inputs(&flow->task[t], now->of, in);
        for (uint32_t i = 0; i < flow->task[t].n_in; i++)
            may_fail |= !in[i];
        run->unclear |= may_fail ? 1u << t : 0;
    }
}

static void settle_killed(struct world *w, struct session *s, struct run *run,
                          const struct said *said, const struct logged *log,
                          const struct files *now)
{
    unsigned planned = s->plan.fates.will | s->plan.fates.may;
    unsigned certain = said->done | (log->ended & s->gone & planned);
    struct ended e = {certain, log->ended & ~certain & planned};
    if (!said->begun && !log->started) {
        forget(flow_of(w, s), run, planned);
        run->finished = run->finished == YES ? UNSURE : run->finished;
        return;
    }
    set_states(flow_of(w, s), run, planned, said, e, now);
    note_unclear(flow_of(w, s), run, planned, log, now);
    /* Those that it was to take over are stored, if it said so, or perhaps. */
    run->maybe |= run->noted & s->plan.adopted & ~said->done;
    run->noted = 0;
    run->noted |= (e.done | e.maybe) & ~said->done;
    run->changes = s->loose ? 0 : w->changes;
    memcpy(run->left_ns, now->changed_ns, sizeof run->left_ns);
    if (s->loose) /* the other one may have changed their files since they ended */
        run->maybe |= run->noted;
    run->finished = bits_in(run, DONE) == (1u << flow_of(w, s)->n) - 1 ? UNSURE : NO;
    if (said->finished)
        run->finished = bits_in(run, DONE) == (1u << flow_of(w, s)->n) - 1 ? YES : NO;
}

/* SIGTERM ends it at once before it catches that, and after the end of the run. */
static void check_status(struct world *w, const struct session *s, bool may_die)
{
    bool good = s->how == TO_ITS_END ? s->status == 0 || s->status == 1
                : s->how == KILLED
                    ? s->status == 137 || s->status == 0 || s->status == 1
                    : s->status == 0 || s->status == 1 || s->status == 7 ||
                          (s->status == 143 && may_die);
    if (!good) {
        wrong(w, &w->other, "%s %s: exit %d", flow_of(w, s)->name, how_name(s->how),
              s->status);
        show_errors(w, s->tag);
    }
}

void session_settle(struct world *w, struct session *s)
{
    char name[32];
    struct said said;
    struct logged log;
    struct files now;
    snprintf(name, sizeof name, "out.%s", s->tag);
    said_read(w, s->flow, name, &said);
    log_read(w, s->flow, s->log_at, &log);
    world_look(w, &now);
    unsigned planned = s->plan.fates.will | s->plan.fates.may;
    check_status(
        w, s, (!said.begun && !log.started) || said.finished || said.done == planned);
    check_started(w, s, &log);
    w->changes += log.started != 0;
    w->tasks += (unsigned)__builtin_popcount(log.started);
    struct run *run = take_run(w, s, said.run ? said.run : log.run);
    if (!run) {
        w->ghosts |= 1u << (s->flow * PARAMS + s->param);
        return;
    }
    if (log.run && log.run != run->number)
        wrong(w, &w->other, "run %u, the log has %u", run->number, log.run);
    run->loose |= s->loose;
    if (s->status == 137 || s->status == 143)
        settle_killed(w, s, run, &said, &log, &now);
    else
        settle_ended(w, s, run, &said, &log, &now);
    if (s->status == 0 && !s->loose) {
        check_contents(w, s, run, (1u << flow_of(w, s)->n) - 1, &now);
        run->loose = false;
        for (uint32_t t = 0; t < flow_of(w, s)->n; t++) {
            run->state[t] = DONE;
            record_task(flow_of(w, s), run, t, &now);
        }
    } else if (!s->loose && !run->loose)
        check_contents(w, s, run, said.done, &now);
    say(w, "  exit %d, run %u: started %x, done %x, ended %x (gone %x)", s->status,
        run->number, log.started, said.done, log.ended, s->gone);
}

/* ---- All of it ---- */

int session_plan(struct world *w, struct session *s)
{
    int rc = plan_run(w, s);
    if (!rc && s->run == NO_RUN && !choose_run(w, s))
        rc = -1;
    if (!rc)
        compare_plan(w, s);
    return rc;
}

static int session_prepare(struct world *w, struct session *s)
{
    world_look(w, &s->before);
    s->log_at = log_size(w);
    s->reader = one_in(w, 6) ? reader_start(w, false) : -1;
    return session_plan(w, s);
}

static void learn_number(struct world *w, struct session *s)
{
    char name[32];
    struct said said;
    struct logged log;
    snprintf(name, sizeof name, "out.%s", s->tag);
    said_read(w, s->flow, name, &said);
    log_read(w, s->flow, s->log_at, &log);
    take_run(w, s, said.run ? said.run : log.run);
}

static void settle_both(struct world *w, struct session *s, struct session *inner)
{
    learn_number(w, s);
    if (inner) {
        inner->loose = s->loose;
        nested_settle(w, s, inner);
        s->nested = inner->status ? inner->status : w->veto;
    }
    session_settle(w, s);
    if (s->reader > 0)
        cairn_wait(w, s->reader, "a reader");
}

void session_do(struct world *w, struct session *s)
{
    struct session inner;
    if (session_prepare(w, s))
        return;
    bool nested = nested_prepare(w, s, &inner);
    session_start(w, s);
    if (s->how == KILLED && s->reader < 0 && one_in(w, 2))
        s->reader = reader_start(w, true);
    session_end(w, s, nested ? &inner : NULL);
    settle_both(w, s, nested ? &inner : NULL);
}

/* Alone, to its end: now everything is certain. */
static void go_on_alone(struct world *w, const struct session *s)
{
    struct session again = {
        .flow = s->flow, .param = s->param, .run = s->run, .tag = "on"};
    if (s->run != NO_RUN)
        session_do(w, &again);
}

/* What tasks of both wrote at the same time could be taken by one for its own while the
 * other has written it, which nobody can see afterwards: it becomes neither. */
static void spoil_shared(struct world *w)
{
    char name[32], path[PATH_SIZE + 96];
    for (uint32_t i = SOURCES; i < FILES; i++) {
        bool others = false;
        for (uint32_t k = 1; k < w->n_flows; k++)
            others |= flow_writes(&w->flow[k], i);
        file_name(i, name, sizeof name);
        file_path(w, name, path, sizeof path);
        if (others && flow_writes(&w->flow[0], i))
            file_put(path, "neither\n");
    }
}

void session_pair(struct world *w, struct session *a, struct session *b)
{
    struct session inner[2];
    struct session *both[] = {a, b};
    bool nested[2];
    say(w, "two at once:");
    for (int i = 0; i < 2; i++) {
        both[i]->loose = true;
        if (session_prepare(w, both[i]))
            return;
        nested[i] = nested_prepare(w, both[i], &inner[i]);
    }
    for (int i = 0; i < 2; i++)
        session_start(w, both[i]);
    session_stop(w, a, nested[0] ? &inner[0] : NULL);
    session_stop(w, b, nested[1] ? &inner[1] : NULL);
    for (int i = 0; i < 2; i++)
        both[i]->status = cairn_wait(w, both[i]->pid, "a run");
    await_nobody(w);
    for (int i = 0; i < 2; i++)
        settle_both(w, both[i], nested[i] ? &inner[i] : NULL);
    spoil_shared(w);
    go_on_alone(w, a);
    spoil_shared(w);
    go_on_alone(w, b);
}

void check_plan(struct world *w, uint32_t run)
{
    struct session s = {.run = run, .flow = w->run[run].flow};
    struct run copy = w->run[run];
    world_look(w, &s.before);
    if (plan_run(w, &s))
        return;
    compare_plan(w, &s);
    if (!w->run[run].loose)
        w->run[run] = copy; /* the session that comes decides */
}
