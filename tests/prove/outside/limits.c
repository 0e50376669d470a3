/* SPDX-License-Identifier: MIT */
/* Low limits of descriptors, processes, sizes of files and memory, with many jobs.
 * Rules: the run completes, or is refused as documented; no task fails of it; with the
 * usual limits it continues, and nothing that was recorded runs again. */
#include "tests/prove/outside/outside.h"
#include "tests/support/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OTHER_USER = 61234 }; /* who has no other processes */
enum limit { DESCRIPTORS, PROCESSES, FILE_SIZE, MEMORY, LIMITS };

static unsigned write_flow(struct world *w)
{
    char path[PATH_SIZE + 160];
    unsigned n = 10 + below(w, 50);
    in_base(w, path, "p/w.yaml");
    FILE *file = fopen(path, "we");
    if (!file)
        return 0;
    fprintf(file,
            "name: w\n%son_crash: %s\non_failure: continue\n"
            "defaults: {timeout: {after: 10m, grace: 1s}}\ntasks:\n"
            "  t:\n    foreach: {i: {range: [1, %u]}}\n"
            "    exec: [%s, task, %s, l, '%u', '-p', some output, '-v', value]\n%s%s",
            one_in(w, 4) ? "secrets: [WORD]\n" : "", one_in(w, 4) ? "adopt" : "kill", n,
            w->self, w->log, below(w, 60), one_in(w, 3) ? "    check: 'true'\n" : "",
            one_in(w, 3) ? "    once: true\n" : "");
    fclose(file);
    return n;
}

/* -u means nothing to root. */
static void make_words(struct world *w, char *words, size_t size, bool *as_other,
                       bool *file_size)
{
    static const char *const options[LIMITS] = {
        "ulimit -n ", "prlimit --pid $$ --nproc=", "ulimit -f ", "ulimit -v "};
    unsigned first = below(w, LIMITS), n = 1 + one_in(w, 3), at = 0;
    *as_other = *file_size = false;
    words[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        unsigned limit = (first + i) % LIMITS;
        static const unsigned least[LIMITS] = {40, 6, 60, 60000};
        static const unsigned more[LIMITS] = {200, 40, 3000, 400000};
        unsigned value =
            least[limit] + below(w, one_in(w, 2) ? more[limit] / 8 : more[limit]);
        if (limit == DESCRIPTORS && one_in(w, 6))
            value = 1024;
        *as_other = *as_other || limit == PROCESSES;
        *file_size = *file_size || limit == FILE_SIZE;
        at += (unsigned)snprintf(words + at, size - at, "%s%u && ", options[limit],
                                 value);
    }
}

static void check_counts(struct world *w, unsigned n, bool saved, unsigned before,
                         const char *limits)
{
    unsigned began = noted(w, "begin", "l", NULL, 0),
             ended = noted(w, "end", "l", NULL, 0);
    if (ended < n)
        wrong(w, &w->lost, "%s%u of %u tasks ended", limits, ended, n);
    if (saved && began > n)
        wrong(w, &w->repeated, "%s%u tasks began, %u of them with the limits, of %u",
              limits, began, before, n);
}

void part_limits(struct world *w)
{
    char limits[200], jobs[16], text[PATH_SIZE + 400];
    const char *argv[] = {
        "setpriv", "--reuid=61234", "--regid=61234", "--clear-groups", "sh", "-c", text,
        NULL};
    bool as_other, file_size;
    struct state state;
    struct job job, again;
    make_project(w, "p");
    unsigned n = write_flow(w);
    make_words(w, limits, sizeof limits, &as_other, &file_size);
    as_other = as_other && geteuid() == 0;
    if (as_other) {
        char path[PATH_SIZE + 160];
        static const char *const names[] = {"", "p", "p/.cairn", "p/w.yaml"};
        for (int i = 0; i < 4; i++) {
            in_base(w, path, "%s", names[i]);
            if (chown(path, OTHER_USER, OTHER_USER))
                wrong(w, &w->other, "cannot give %s away", path);
        }
    }
    setenv("WORD", "a-secret-word", 1);
    snprintf(jobs, sizeof jobs, "%u", one_in(w, 2) ? 1 + below(w, 8) : 512);
    snprintf(text, sizeof text, "%sexec %s run w.yaml -j %s", limits, w->cairn, jobs);
    say(w, "%s, %u tasks%s", text, n, as_other ? ", another user" : "");
    if (!job_start(w, &job, NULL, "p", as_other ? argv : argv + 4))
        return;
    int status = job_wait(w, &job, 60);
    unsigned before = noted(w, "begin", "l", NULL, 0);
    /* Not promised: guarantees.md, "Few descriptors". */
    bool no_process = status == 1 && as_other &&
                      job_said(w, &job, "Resource temporarily unavailable");
    bool refused = status == 75 || status == 9 || status == 8;
    say(w, "exit %d, %u began", status, before);
    /* 127: not even the loader has enough. */
    if (status && !refused && !no_process && (before || status != 127)) {
        wrong(w, &w->other, "%s-j %s: exit %d", limits, jobs, status);
        job_show(w, &job);
    }
    char *said = job_text(w, &job, "err");
    if (refused && (!said || !*said))
        wrong(w, &w->other, "%sexit %d, and nothing is said", limits, status);
    free(said);
    if (status != 127 && (status != 75 || before)) {
        state_ask(w, NULL, "p", 1, ".cairn", &state);
        for (unsigned i = 0; i < state.n; i++)
            if (!no_process && strcmp(state.task[i].state, "failed") == 0)
                wrong(w, &w->other, "%s-j %s: %s failed", limits, jobs,
                      state.task[i].name);
    }
    snprintf(text, sizeof text, "exec %s run w.yaml", w->cairn);
    if (status && job_start(w, &again, NULL, "p", as_other ? argv : argv + 4)) {
        int code = job_wait(w, &again, 60);
        if (code != 0 && code != 8) {
            wrong(w, &w->lost, "after %s-j %s it exits %d", limits, jobs, code);
            job_show(w, &again);
        }
        if (code == 8)
            return; /* what was running when it ended: that is for the user */
    }
    check_counts(w, n, status != 9 && !no_process, before, limits);
    check_beside(w);
}
