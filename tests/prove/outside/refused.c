/* SPDX-License-Identifier: MIT */
/* System calls that a sandbox refuses, some at once, for a whole run or for the resume
 * of one that was killed. Rules: the run completes, or is refused as documented; a task
 * that fails of it says what is missing; what must not run twice is unknown, not
 * failed, once it has begun; and without the sandbox it continues, with nothing
 * repeated. */
#include "tests/prove/outside/outside.h"
#include "tests/support/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const calls[] = {"pidfd_open",
                                    "pidfd_send_signal",
                                    "clone3",
                                    "execveat",
                                    "getrandom",
                                    "waitid",
                                    "fallocate",
                                    "renameat2",
                                    "copy_file_range",
                                    "statx",
                                    "statfs",
                                    "close_range",
                                    "openat2",
                                    "memfd_create",
                                    "prlimit64",
                                    "getrusage",
                                    "sched_getaffinity",
                                    "eventfd2",
                                    "epoll_create1",
                                    "timerfd_create",
                                    "signalfd4",
                                    "kcmp",
                                    "fadvise64",
                                    "madvise",
                                    "mremap",
                                    "io_uring_setup",
                                    "inotify_init1",
                                    "sendfile",
                                    "splice",
                                    "faccessat2",
                                    "linkat",
                                    "ptrace",
                                    "prctl",
                                    "syncfs",
                                    "flock"};

static void write_flow(struct world *w)
{
    char path[PATH_SIZE + 160];
    const char *mode = one_in(w, 2) ? "adopt" : "kill";
    in_base(w, path, "p/w.yaml");
    put_file(path,
             "name: w\njobs: 3\n%son_crash: %s\n"
             "defaults: {timeout: {after: 10m, grace: 1s}}\ntasks:\n"
             "  a: {exec: [%s, task, %s, r, '%u', '-v', 'one', '-p', some output]}\n"
             "  pay: {exec: [%s, task, %s, r, '%u'], once: true, needs: a}\n"
             "  b: {exec: [%s, task, %s, r, '20', '-t', '${{ tasks.a.outputs.v }}'], "
             "needs: a}\n"
             "  c: {run: 'exec %s task %s r 10', needs: [pay, b]}\n",
             one_in(w, 3) ? "secrets: [WORD]\n" : "", mode, w->self, w->log,
             20 + below(w, 200), w->self, w->log, 20 + below(w, 200), w->self, w->log,
             w->self, w->log);
    say(w, "on_crash: %s", mode);
}

/* The words before cairn. */
static int add_refusals(struct world *w, const char **argv, char (*text)[NAME_SIZE])
{
    static const char *const errors[] = {"ENOSYS", "EPERM"};
    enum { MANY = sizeof calls / sizeof *calls };
    int n = 0, count = one_in(w, 3) ? 2 : 1;
    if (strcmp(calls[(w->round - 1) % MANY], "prctl") == 0)
        count = 1; /* without it nothing more can be refused */
    argv[n++] = w->refuse;
    for (int i = 0; i < count; i++) {
        /* Each of them in turn, so that none is left out. */
        unsigned which = i ? below(w, MANY) : (w->round - 1) % MANY;
        snprintf(text[i], NAME_SIZE, "%s=%s", calls[which], errors[below(w, 2)]);
        argv[n++] = text[i];
    }
    argv[n++] = w->cairn;
    return n;
}

static bool names_it(const struct world *w, const struct job *job)
{
    static const char *const words[] = {"not implemented", "not permitted", "random",
                                        "/proc", "not supported"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (job_said(w, job, words[i]))
            return true;
    return false;
}

static void judge(struct world *w, struct job *job, const char *what, bool killed)
{
    int status = job->status;
    struct state state;
    say(w, "%s: exit %d", what, status);
    if (status != 0 && status != 1 && status != 8 && status != 9 && status != 75) {
        wrong(w, &w->other, "%s: exit %d", what, status);
        job_show(w, job);
    }
    /* Unknown it may be of the kill. */
    if (status && !(status == 8 && killed) && !names_it(w, job)) {
        wrong(w, &w->other, "%s: exit %d, and it is not said what is missing", what,
              status);
        job_show(w, job);
    }
    if (!noted(w, "begin", "r", NULL, 0))
        return;
    state_ask(w, NULL, "p", 1, NULL, &state);
    if (noted(w, "begin", "r", "pay", 0) &&
        strcmp(state_of(&state, "pay"), "failed") == 0)
        wrong(w, &w->repeated, "%s: `once` has begun, and is said to have failed",
              what);
}

static void finish(struct world *w, const char *what, bool killed, bool saved)
{
    struct state state;
    struct job job;
    unsigned once = noted(w, "begin", "r", "pay", 0), all = 0;
    int code = cairn_do(w, NULL, "p", &job, "run w.yaml");
    if (code == 8) {
        code = cairn_do(w, NULL, "p", &job, "resolve 1 pay done");
        if (code == 0)
            code = cairn_do(w, NULL, "p", &job, "resume 1");
    }
    if (code) {
        wrong(w, &w->lost, "after %s it exits %d", what, code);
        job_show(w, &job);
    }
    all = noted(w, "begin", "r", "pay", 0);
    if (all > 1)
        wrong(w, &w->repeated, "%s: `once` began %u times, %u of them before", what,
              all, once);
    state_ask(w, NULL, "p", 1, NULL, &state);
    if (strcmp(state.state, "completed") != 0)
        wrong(w, &w->lost, "%s: the run is %s at its end", what, state.state);
    if (!killed && saved && noted(w, "begin", "r", NULL, 0) > 4)
        wrong(w, &w->repeated, "%s: %u tasks began", what,
              noted(w, "begin", "r", NULL, 0));
    if (cairn_do(w, NULL, "p", &job, "checkpoint verify") != 0)
        wrong(w, &w->undetected, "%s: the store is damaged", what);
}

void part_refused(struct world *w)
{
    char text[3][NAME_SIZE] = {"", "", ""}, what[120];
    const char *argv[ARGS_MAX] = {NULL};
    struct job job;
    setenv("WORD", "a-secret-word", 1);
    make_project(w, "p");
    write_flow(w);
    int n = add_refusals(w, argv, text);
    argv[n++] = "run";
    argv[n++] = "w.yaml";
    bool killed = one_in(w, 3);
    snprintf(what, sizeof what, "%s %s%s", text[0], text[1],
             killed ? " after a kill" : "");
    if (killed) {
        if (!cairn_start(w, &job, NULL, "p", "run w.yaml"))
            return;
        pause_us(1000 * (20 + below(w, 400)));
        job_kill(&job, SIGKILL);
        job_wait(w, &job, 60);
    }
    /* A run that had completed would begin anew. */
    if (killed && noted(w, "end", "r", "c", 0))
        return;
    if (!job_start(w, &job, NULL, "p", argv))
        return;
    int status = job_wait(w, &job, 60);
    judge(w, &job, what, killed);
    if (status != 0)
        finish(w, what, killed, status == 75 || status == 0);
    check_beside(w);
}
