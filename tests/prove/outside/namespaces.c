/* SPDX-License-Identifier: MIT */
/* One store, used in containers and outside at once and in turn. Owners, guards and
 * whole containers are killed; from anywhere runs are begun, resumed, cancelled and
 * looked at. Rules: nothing of a living owner is ended by another one, no attempt runs
 * beside a living one, `once` runs once, a live run is never said to be interrupted,
 * and what has completed stays so. */
#include "tests/prove/outside/outside.h"
#include "tests/support/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLOWS = 2, JOBS = 3, BOXES = 7, PLAIN = 4, RUNS = 60, TASKS = 4 };
static const char *const names[TASKS] = {"a", "pay", "b", "c"};

struct owner {
    struct job job;
    bool used, killed, cancelled;
    unsigned flow, run;
    struct box *box;
};
struct stage {
    struct world *w;
    struct box box[BOXES];
    struct owner owner[JOBS];
    bool disturbed[FLOWS];              /* something was killed or stopped */
    unsigned reruns[RUNS];              /* of `pay`, that we have asked for */
    unsigned began[RUNS][FLOWS][TASKS]; /* when it was seen as completed */
    bool completed[RUNS][FLOWS][TASKS];
};

static void write_flow(struct world *w, unsigned flow)
{
    char path[PATH_SIZE + 160];
    const char *mode = one_in(w, 2) ? "adopt" : "kill";
    bool lingers = !one_in(w, 3);
    in_base(w, path, "p/w%u.yaml", flow);
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fprintf(file,
            "name: w%u\njobs: 3\non_crash: %s\n"
            "defaults: {timeout: {after: 10m, grace: 1s}}\ntasks:\n",
            flow, mode);
    for (unsigned i = 0; i < TASKS; i++)
        fprintf(file, "  %s: {exec: [%s, task, %s, w%u, '%u'%s]%s%s}\n", names[i],
                w->self, w->log, flow, 20 + below(w, one_in(w, 3) ? 1200 : 150),
                lingers ? ", '-l'" : "",
                i == 0  ? ""
                : i < 3 ? ", needs: a"
                        : ", needs: [pay, b]",
                i == 1 ? ", once: true" : "");
    fclose(file);
    say(w, "w%u: %s", flow, mode);
}

/* A box of those that there are, or NULL. */
static struct box *somewhere(struct stage *s)
{
    struct box *box = &s->box[below(s->w, one_in(s->w, 3) ? BOXES : PLAIN)];
    if (box->kind == OUTSIDE)
        return NULL;
    if (!box->first && !box_make(box, box->kind))
        return NULL;
    return box;
}

static unsigned run_said(const struct world *w, const struct job *job)
{
    char *text = job_text(w, job, "out");
    const char *at = text ? strstr(text, "\"run\":") : NULL;
    unsigned run = at ? (unsigned)strtoul(at + 6, NULL, 10) : 0;
    free(text);
    return run;
}

/* ---- What an owner's end says ---- */

static void judge_end(struct stage *s, struct owner *o)
{
    int status = job_wait(s->w, &o->job, 90);
    bool good = o->killed || status == 0 || status == 6 || status == 75 ||
                (status == 8 && s->disturbed[o->flow]) || (status == 7 && o->cancelled);
    say(s->w, "%s: exit %d%s", o->job.tag, status, o->killed ? " (killed)" : "");
    if (!good) {
        wrong(s->w, &s->w->other, "the owner of run %u of w%u exits %d, %s", o->run,
              o->flow, status, box_name(o->box));
        job_show(s->w, &o->job);
    }
    o->used = false;
}

static void gather(struct stage *s)
{
    for (unsigned i = 0; i < JOBS; i++) {
        struct owner *o = &s->owner[i];
        if (o->used && !o->run)
            o->run = run_said(s->w, &o->job);
        if (o->used && job_ended(&o->job))
            judge_end(s, o);
    }
}

/* ---- Rules ---- */

static void check_once(struct stage *s)
{
    for (unsigned f = 0; f < FLOWS; f++) {
        char label[NAME_SIZE];
        snprintf(label, sizeof label, "w%u", f);
        for (unsigned run = 1; run < RUNS; run++) {
            unsigned n = noted(s->w, "begin", label, "pay", run);
            if (n > 1 + s->reruns[run])
                wrong(s->w, &s->w->repeated, "`once` of run %u ran %u times", run, n);
        }
    }
}

static void check_completed(struct stage *s, const struct state *state)
{
    if (state->run == 0 || state->run >= RUNS)
        return;
    for (unsigned f = 0; f < FLOWS; f++)
        for (unsigned t = 0; t < TASKS; t++) {
            char label[NAME_SIZE];
            snprintf(label, sizeof label, "w%u", f);
            bool *done = &s->completed[state->run][f][t];
            unsigned began = noted(s->w, "begin", label, names[t], state->run);
            const char *is = state_of(state, names[t]);
            if (!began)
                continue;
            if (*done && strcmp(is, "completed") != 0)
                wrong(s->w, &s->w->lost, "%s of run %u was completed, is %s", names[t],
                      state->run, is);
            if (*done && began > s->began[state->run][f][t])
                wrong(s->w, &s->w->repeated, "%s of run %u ran after it had completed",
                      names[t], state->run);
            if (strcmp(is, "completed") == 0) {
                *done = true;
                s->began[state->run][f][t] = began;
            }
        }
}

/* ---- Steps ---- */

static void own(struct stage *s, unsigned flow)
{
    char words[80];
    for (unsigned i = 0; i < JOBS; i++) {
        struct owner *o = &s->owner[i];
        if (o->used)
            continue;
        *o = (struct owner){.flow = flow, .box = somewhere(s)};
        snprintf(words, sizeof words, "run w%u.yaml --json%s", o->flow,
                 one_in(s->w, 6) ? " --fresh" : "");
        o->used = cairn_start(s->w, &o->job, o->box, "p", words);
        return;
    }
}

static void step_own(struct stage *s)
{
    own(s, below(s->w, FLOWS));
}

static void step_status(struct stage *s)
{
    const struct owner *o = &s->owner[below(s->w, JOBS)];
    struct job seen = o->job;
    struct state state;
    struct box *box = somewhere(s);
    unsigned run = o->used && !o->killed ? o->run : 0;
    state_ask(s->w, box, "p", run, NULL, &state);
    pause_us(60000); /* for one that is about to end */
    if (state.exit_status != 0 && state.exit_status != 10 && state.exit_status != 75)
        wrong(s->w, &s->w->other, "status exits %d, %s", state.exit_status,
              box_name(box));
    else if (run && !job_ended(&seen) &&
             (!state.live || strcmp(state.state, "running") != 0) &&
             strcmp(state.state, "completed") != 0 && !o->cancelled)
        wrong(s->w, &s->w->other, "run %u lives, and is said to be %s%s, %s", run,
              state.state, state.live ? " and live" : "", box_name(box));
    s->owner[o - s->owner].job.status = seen.status;
    check_completed(s, &state);
}

static void step_cancel(struct stage *s)
{
    struct owner *o = &s->owner[below(s->w, JOBS)];
    char words[80];
    struct job job;
    if (!o->used || !o->run)
        return;
    s->disturbed[o->flow] = true;
    /* Another command may own the same run in the meantime. */
    for (unsigned i = 0; i < JOBS; i++)
        s->owner[i].cancelled = true;
    snprintf(words, sizeof words, "cancel %u", o->run);
    int status = cairn_do(s->w, somewhere(s), "p", &job, words);
    if (status != 0 && status != 75 && status != 6 &&
        status != 2) { /* 2: it has ended */
        wrong(s->w, &s->w->other, "cancel exits %d", status);
        job_show(s->w, &job);
    }
}

/* Its guard, the child of that name, goes with it in one of two. */
static pid_t guard_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    char *text = file_text(path), *at = text;
    pid_t guard = 0;
    for (long child; at && (child = strtol(at, &at, 10)) > 0 && !guard;) {
        snprintf(path, sizeof path, "/proc/%ld/comm", child);
        char *name = file_text(path);
        if (name && strcmp(name, "cairn-guard\n") == 0)
            guard = (pid_t)child;
        free(name);
    }
    free(text);
    return guard;
}

static void step_kill(struct stage *s)
{
    struct owner *o = &s->owner[below(s->w, JOBS)];
    for (unsigned i = 0; i < JOBS && !o->used; i++)
        o = &s->owner[i];
    if (!o->used || job_ended(&o->job))
        return;
    s->disturbed[o->flow] = true;
    o->killed = true;
    kill(o->job.pid, SIGSTOP);
    pid_t guard = !one_in(s->w, 3) ? guard_of(o->job.pid) : 0;
    say(s->w, "kill %s%s", o->job.tag, guard ? " and its guard" : "");
    if (guard)
        kill(guard, SIGKILL);
    kill(o->job.pid, SIGKILL);
    /* Somebody continues it at once. */
    if (guard || one_in(s->w, 3)) {
        pause_us(1000 * below(s->w, 60));
        own(s, o->flow);
    }
}

static void step_end_box(struct stage *s)
{
    struct box *box = &s->box[below(s->w, BOXES)];
    if (!box->first)
        return;
    say(s->w, "end of the %s", box_name(box));
    /* What is in it may belong to a run that continues elsewhere. */
    for (unsigned i = 0; i < JOBS; i++)
        if (s->owner[i].used && s->owner[i].box == box)
            s->owner[i].killed = true;
    s->disturbed[0] = s->disturbed[1] = true;
    box_end(box);
}

static void step_look(struct stage *s)
{
    static const char *const commands[] = {"plan", "runs", "checkpoint verify",
                                           "status --can-resume"};
    struct job job;
    const char *command = commands[below(s->w, 4)];
    int status = cairn_do(s->w, somewhere(s), "p", &job, command);
    if (status == 5 || status == 1 || status > 75) {
        wrong(s->w, &s->w->other, "%s exits %d", command, status);
        job_show(s->w, &job);
    }
}

static void step(struct stage *s)
{
    static void (*const steps[])(struct stage *) = {
        step_own,  step_own,  step_own,  step_own,    step_status, step_status,
        step_kill, step_kill, step_kill, step_cancel, step_look,   step_end_box};
    steps[below(s->w, sizeof steps / sizeof *steps)](s);
    pause_us(one_in(s->w, 2) ? 1000 * below(s->w, 300) : 0);
    gather(s);
}

/* ---- The end ---- */

static bool finish(struct stage *s, unsigned flow)
{
    char words[80];
    struct job job;
    int status = -1;
    for (int i = 0; i < 40; i++) {
        snprintf(words, sizeof words, "run w%u.yaml --json", flow);
        status = cairn_do(s->w, NULL, "p", &job, words);
        unsigned run = run_said(s->w, &job);
        if (status == 0) {
            struct state state;
            state_ask(s->w, NULL, "p", run, NULL, &state);
            check_completed(s, &state);
            if (strcmp(state.state, "completed") != 0)
                wrong(s->w, &s->w->lost, "run %u is %s after exit 0", run, state.state);
            return true;
        }
        bool again = one_in(s->w, 2);
        snprintf(words, sizeof words, "resolve %u pay %s", run,
                 again ? "rerun" : "done");
        if (status == 8 && run < RUNS && cairn_do(s->w, NULL, "p", &job, words) == 0)
            s->reruns[run] += again;
        else
            pause_us(250000); /* what was killed may not be gone */
    }
    wrong(s->w, &s->w->other, "run w%u.yaml still exits %d at the end", flow, status);
    job_show(s->w, &job);
    return false;
}

void part_namespaces(struct world *w)
{
    static struct stage s;
    struct job job;
    s = (struct stage){.w = w};
    make_project(w, "p");
    for (unsigned f = 0; f < FLOWS; f++)
        write_flow(w, f);
    static const enum box_kind kinds[BOXES] = {OUTSIDE, CONTAINER, CONTAINER, CONTAINER,
                                               FOREIGN, BLIND,     HALF};
    for (unsigned i = 0; i < BOXES; i++)
        s.box[i].kind = kinds[i];
    for (unsigned n = 10 + below(w, 15); n > 0; n--)
        step(&s);
    for (unsigned i = 0; i < JOBS; i++)
        if (s.owner[i].used)
            judge_end(&s, &s.owner[i]);
    for (unsigned i = 0; i < BOXES; i++)
        box_end(&s.box[i]);
    if (finish(&s, 0) && finish(&s, 1) &&
        cairn_do(w, NULL, "p", &job, "checkpoint verify") != 0)
        wrong(w, &w->undetected, "the store is damaged");
    check_once(&s);
    check_beside(w);
}
