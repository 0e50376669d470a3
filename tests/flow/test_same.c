/* SPDX-License-Identifier: MIT */
/* B: the same answer. A random workflow in which things fail is run one task at a time,
 * in parallel, and killed at random moments and resumed until a session ends by itself,
 * each in a directory and store of its own. Then everything that facts.c reads of them
 * is equal: states, exit codes, messages and reasons of all tasks, the values that a
 * last task sees of them, their files, which of them were undone, the state of the run,
 * and the exit status of the last session. In a part of them there was a run before, of a
 * file with more members and other commands; it is gone on with, or another one begins. */
#include "flow.h"

#include <signal.h>
#include <unistd.h>

enum { KILLS_MAX = 5, SESSIONS_MAX = 20, EXIT_NOT_FOUND = 10 };

struct storm {
    struct test t;
    struct workflow w, before;
    enum { ONE_RUN, NEW_RUN, GOES_ON, GOES_ON_BY_FILE } form;
    uint32_t kills, sessions;
    int64_t whole_ms; /* of the parallel run */
};

/* The run before; then some of its outputs go away. */
static bool run_before(struct storm *s, const char *dir)
{
    const char *run[] = {"run", "flow.yaml", "--json", "-j1", NULL};
    char path[DIR_SIZE + 32];
    int status = -1;
    if (workflow_write(&s->before, dir))
        status = cairn_do(s->t.setup, &s->before, dir, "before", run);
    for (uint32_t i = 0; i < s->w.n_defs; i += 3) {
        snprintf(path, sizeof path, "%s/out/%u", dir, i);
        unlink(path);
    }
    return check(&s->t, status == 0 || status == 1, "the run before ends with %d",
                 status);
}

/* What the first session does, and those after a kill. */
static void make_command(const struct storm *s, bool first, const char *jobs,
                         const char *command[6])
{
    bool resumes = s->form == GOES_ON || (!first && s->form != GOES_ON_BY_FILE);
    size_t n = 0;
    command[n++] = resumes ? "resume" : "run";
    if (!resumes)
        command[n++] = "flow.yaml";
    if (!resumes && s->form == NEW_RUN)
        command[n++] = "--fresh";
    command[n++] = "--json";
    command[n++] = jobs;
    command[n] = NULL;
}

/* A directory of its own; false if it cannot be made. */
static bool make_place(struct storm *s, const char *name, char dir[DIR_SIZE])
{
    snprintf(dir, DIR_SIZE, "%.480s/%s", s->t.dir, name);
    return check(&s->t,
                 make_dir(dir) && workflow_write_added(&s->w, NONE, dir) &&
                     (s->form == ONE_RUN || run_before(s, dir)) &&
                     workflow_write(&s->w, dir),
                 "cannot make %s", dir);
}

static void take_facts(struct storm *s, const char *dir, int status,
                       struct facts *facts)
{
    check(&s->t, status == 0 || status == 1, "cairn ends with %d", status);
    check(&s->t, facts_read(s->t.setup, &s->w, dir, status, facts),
          "cannot read how it ended");
}

static void run_whole(struct storm *s, const char *name, const char *jobs,
                      struct facts *facts)
{
    const char *run[6];
    char dir[DIR_SIZE];
    snprintf(s->t.where, sizeof s->t.where, "%s", name);
    if (!make_place(s, name, dir))
        return;
    int64_t started = now_ms();
    make_command(s, true, jobs, run);
    int status = cairn_do(s->t.setup, &s->w, dir, "run", run);
    s->whole_ms = now_ms() - started;
    take_facts(s, dir, status, facts);
}

/* One session, perhaps killed; its exit status, or 128 + SIGKILL. */
static int session(struct storm *s, const char *dir, bool first)
{
    const char *command[6];
    char tag[32];
    uint32_t longest_us = (uint32_t)(s->whole_ms + s->whole_ms / 8 + 2) * 1000;
    uint32_t moment_us = rng_below(&s->t.rng, longest_us);
    snprintf(tag, sizeof tag, "run%u", s->sessions++);
    make_command(s, first, "-j3", command);
    pid_t pid = cairn_start(s->t.setup, &s->w, dir, tag, command);
    if (pid > 0 && s->kills < KILLS_MAX) {
        pause_us(moment_us);
        kill(pid, SIGKILL);
        s->kills++;
    }
    return cairn_wait(pid);
}

/* Was it killed before the new run was there? */
static bool is_still_before(struct storm *s, const char *dir)
{
    const char *tasks[] = {"status", "--tasks", "--json", NULL};
    static struct status status;
    return s->form == NEW_RUN &&
           cairn_do(s->t.setup, &s->w, dir, "status", tasks) == 0 &&
           status_read(dir, "status", &status) && status.run == 1;
}

/* Killed before there was a run, it begins once more. */
static void run_killed(struct storm *s, struct facts *facts)
{
    char dir[DIR_SIZE];
    bool first = true;
    int status = 128 + SIGKILL;
    snprintf(s->t.where, sizeof s->t.where, "killed");
    if (!make_place(s, "killed", dir))
        return;
    while (s->sessions < SESSIONS_MAX &&
           (status == 128 + SIGKILL || (status == EXIT_NOT_FOUND && !first))) {
        first = status == EXIT_NOT_FOUND || s->sessions == 0 || is_still_before(s, dir);
        status = session(s, dir, first);
    }
    take_facts(s, dir, status, facts);
}

/* ---- Comparing ---- */

static void compare(struct storm *s, const struct facts *a, const struct facts *b,
                    const char *name)
{
    uint32_t i = 0, k = 0;
    snprintf(s->t.where, sizeof s->t.where, "serial and %s", name);
    while (i < a->n || k < b->n) {
        int order = i == a->n ? 1 : k == b->n ? -1 : strcmp(a->line[i], b->line[k]);
        if (order < 0)
            check(&s->t, false, "only serial: %s", a->line[i]);
        else if (order > 0)
            check(&s->t, false, "only %s: %s", name, b->line[k]);
        i += order <= 0;
        k += order >= 0;
    }
}

static void one_workflow(const struct setup *setup, uint32_t index)
{
    static struct storm s;
    static const char *const policies[] = {"stop",           "continue", "undo failed",
                                           "undo ancestors", "undo all", "cancel"};
    static const char *const forms[] = {"one run", "another run", "resumed",
                                        "again by its file"};
    struct facts serial = {0}, parallel = {0}, killed = {0};
    uint64_t seed = setup->seed + index;
    char name[64], detail[160];
    memset(&s, 0, sizeof s);
    snprintf(name, sizeof name, "same answer %u", index);
    if (test_begin(&s.t, setup, name, seed)) {
        workflow_make_stormy(&s.w, &s.t.rng);
        workflow_make_before(&s.w, &s.before, &s.t.rng);
        if (rng_one_in(&s.t.rng, 2))
            s.form = NEW_RUN + rng_below(&s.t.rng, 3);
        s.w.again_never = s.form == GOES_ON_BY_FILE;
        run_whole(&s, "serial", "-j1", &serial);
        run_whole(&s, "parallel", "-j3", &parallel);
        run_killed(&s, &killed);
        compare(&s, &serial, &parallel, "parallel");
        compare(&s, &serial, &killed, "killed");
    }
    snprintf(detail, sizeof detail,
             "seed %llu, %s, %s, %s, %u definitions, %u facts, %u kills",
             (unsigned long long)seed, forms[s.form], policies[s.w.policy],
             s.w.adopt ? "adopt" : "kill", s.w.n_defs, serial.n, s.kills);
    facts_release(&serial);
    facts_release(&parallel);
    facts_release(&killed);
    test_end(&s.t, detail);
}

void test_same(const struct setup *setup, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        one_workflow(setup, i);
}
