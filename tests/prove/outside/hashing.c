/* SPDX-License-Identifier: MIT */
/* Outputs and inputs that take seconds to be read, some of which grow or change
 * meanwhile; stops and kills at any moment. Rules: time limits and stops act within
 * seconds, what other tasks do is recorded meanwhile, as `cairn status` says, and what
 * is recorded of the file is right after all that. */
#include "tests/prove/outside/outside.h"
#include "tests/support/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLACK_MS = 6000, LIMIT_MS = 1000, GRACE_MS = 1000 };
enum act { NOTHING, CANCEL, INTERRUPT, INTERRUPT_TWICE, TERMINATE, KILL, ACTS };
static const char *const told[ACTS] = {"nothing",      "cancel",  "SIGINT",
                                       "SIGINT twice", "SIGTERM", "kill -9"};

static void write_flow(struct world *w, int64_t size)
{
    char path[PATH_SIZE + 160], slow[PATH_SIZE + 160];
    in_base(w, path, "p/w.yaml");
    in_base(w, slow, "slow");
    put_file(slow, "600000\n");
    put_file(path,
             "name: w\njobs: 4\non_failure: continue\n"
             "defaults: {timeout: {after: 10m, grace: 1s}}\ntasks:\n"
             "  big: {exec: [%s, task, %s, h, '%u', '-s', '%lld', big.bin], "
             "outputs: [big.bin]}\n"
             "  slow: {exec: [%s, task, %s, h, %s], timeout: {after: 1s, grace: 1s}}\n"
             "  quick: {exec: [%s, task, %s, h, '%u']}\n"
             "  next: {exec: [%s, task, %s, h, '10'], needs: quick}\n"
             "  use: {exec: [%s, task, %s, h, '10'], needs: big, inputs: [big.bin]}\n",
             w->self, w->log, 10 + below(w, 300), (long long)size, w->self, w->log,
             slow, w->self, w->log, 100 + below(w, 1500), w->self, w->log, w->self,
             w->log);
}

static int64_t when(const struct world *w, const char *what, const char *task)
{
    struct notes notes;
    int64_t ms = 0;
    notes_read(w, &notes);
    for (size_t i = 0; i < notes.n && !ms; i++)
        if (strcmp(notes.list[i].what, what) == 0 &&
            strcmp(notes.list[i].task, task) == 0)
            ms = notes.list[i].ms;
    notes_free(&notes);
    return ms;
}

static bool reads(const struct job *job, const char *file)
{
    char path[64], link[PATH_SIZE];
    for (int fd = 3; fd < 64; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)job->pid, fd);
        ssize_t n = readlink(path, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        if (strstr(link, file))
            return true;
    }
    return false;
}

/* What happened in time, until `until`. */
static void check_times(struct world *w, const struct job *job, int64_t until)
{
    int64_t began = when(w, "begin", "slow"), over = when(w, "term", "slow");
    int64_t quick = when(w, "end", "quick"), next = when(w, "begin", "next");
    if (began && (over ? over : until) - began > LIMIT_MS + SLACK_MS)
        wrong(w, &w->other, "a limit of 1 s acted after %lld ms",
              (long long)((over ? over : until) - began));
    if (quick && (next ? next : until) - quick > SLACK_MS) {
        wrong(w, &w->other, "what follows a task started %lld ms after it",
              (long long)((next ? next : until) - quick));
        job_show(w, job);
    }
}

/* From outside; quick has ended some time ago. */
static void check_status(struct world *w)
{
    struct state state;
    int64_t quick = when(w, "end", "quick");
    if (!quick || now_ms() - quick < SLACK_MS)
        return;
    state_ask(w, NULL, "p", 1, NULL, &state);
    if (strcmp(state_of(&state, "quick"), "completed") != 0)
        wrong(w, &w->other, "quick ended %lld ms ago, and is %s",
              (long long)(now_ms() - quick), state_of(&state, "quick"));
}

/* Where the file is changed while it is read, it grows, or stays as large as it is. */
static void disturb(struct world *w)
{
    char path[PATH_SIZE + 160];
    struct stat st;
    in_base(w, path, "p/big.bin");
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        if (fd >= 0)
            close(fd);
        return;
    }
    off_t at = one_in(w, 2) ? st.st_size : st.st_size / 2 + below(w, 100000);
    ssize_t n = pwrite(fd, "disturbed", 9, at);
    say(w, "%zd bytes written at %lld", n, (long long)at);
    close(fd);
}

static void act(struct world *w, struct job *job, enum act what)
{
    struct job cancel;
    say(w, "%s", told[what]);
    if (what == CANCEL) {
        int status = cairn_do(w, NULL, "p", &cancel, "cancel 1");
        if (status != 0 && status != 2)
            wrong(w, &w->other, "cancel exits %d", status);
    }
    if (what == INTERRUPT || what == INTERRUPT_TWICE)
        job_kill(job, SIGINT);
    if (what == INTERRUPT_TWICE) {
        pause_us(300000);
        job_kill(job, SIGINT);
    }
    if (what == TERMINATE || what == KILL)
        job_kill(job, what == KILL ? SIGKILL : SIGTERM);
}

/* The run continues to its end. */
static bool finish(struct world *w)
{
    char slow[PATH_SIZE + 160];
    struct state before;
    struct job job;
    unsigned began = noted(w, "begin", "h", "quick", 0);
    in_base(w, slow, "slow");
    put_file(slow, "0\n");
    state_ask(w, NULL, "p", 1, NULL, &before);
    bool done = strcmp(state_of(&before, "quick"), "completed") == 0;
    for (int i = 0; i < 3; i++)
        if (cairn_do(w, NULL, "p", &job, "run w.yaml") == 0) {
            if (done && noted(w, "begin", "h", "quick", 0) != began)
                wrong(w, &w->repeated, "quick had completed and ran again");
            return true;
        }
    wrong(w, &w->other, "the run cannot be ended: %d", job.status);
    job_show(w, &job);
    return false;
}

static void plan_is(struct world *w, const char *will, const char *options)
{
    struct job job;
    char words[80], text[40];
    snprintf(words, sizeof words, "plan --run 1 --json%s", options);
    snprintf(text, sizeof text, "\"will\":%s", will);
    if (cairn_do(w, NULL, "p", &job, words) != 0 || !job_said(w, &job, text)) {
        char *said = job_text(w, &job, "out");
        wrong(w, &w->undetected, "not %s%s: %.300s", text, options, said ? said : "");
        free(said);
    }
}

void part_hashing(struct world *w)
{
    static const int64_t gib = INT64_C(1) << 30;
    int64_t size = gib / 2 + below(w, 3000) * INT64_C(1000000);
    enum act what = (enum act)below(w, ACTS);
    struct job job;
    if (one_in(w, 4))
        size += 4 * gib;
    bool disturbs = one_in(w, 2), stops = what != NOTHING;
    make_project(w, "p");
    write_flow(w, size);
    say(w, "%lld bytes", (long long)size);
    if (!cairn_start(w, &job, NULL, "p", "run w.yaml"))
        return;
    int64_t began = now_ms(), until = began + 60000;
    while (!reads(&job, "big.bin") && now_ms() < until && !job_ended(&job))
        pause_us(1000);
    int64_t read_ms = size / (gib / 1000);
    int64_t at = now_ms() + below(w, (uint32_t)read_ms), last = at + 60000;
    while (!job_ended(&job) && now_ms() < (stops ? at : last)) {
        if (disturbs && one_in(w, 20))
            disturb(w);
        check_times(w, &job, now_ms());
        check_status(w);
        pause_us(50000);
        if (now_ms() > at)
            disturbs = false;
    }
    bool was_alive = !job_ended(&job);
    int64_t acted = now_ms();
    act(w, &job, what);
    int status = job_wait(w, &job, 60);
    check_times(w, &job, acted);
    if (stops && was_alive && now_ms() - acted > GRACE_MS + SLACK_MS)
        wrong(w, &w->other, "%s acted after %lld ms", told[what],
              (long long)(now_ms() - acted));
    say(w, "exit %d", status);
    /* `slow` fails by its limit, if it came so far. */
    if (status != 1 && !(stops && (status == 7 || status == 137)))
        wrong(w, &w->other, "%s: exit %d", told[what], status);
    if (!finish(w))
        return;
    plan_is(w, "0", " --check-outputs=content");
    plan_is(w, "0", "");
    disturb(w);
    plan_is(w, "2", "");
    plan_is(w, "2", " --check-outputs=content");
    if (cairn_do(w, NULL, "p", &job, "checkpoint verify") != 0)
        wrong(w, &w->undetected, "the store is damaged");
}
