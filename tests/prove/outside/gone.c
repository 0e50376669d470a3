/* SPDX-License-Identifier: MIT */
/* While a run lives its store or its project is removed or moved, and another run of
 * the same workflow begins in that place. Rules: the old owner ends with 5 and starts
 * nothing more, no value and no output of one run is seen in another, the new run
 * completes as if there were no old one, and what was moved can be resumed where it is.
 */
#include "tests/prove/outside/outside.h"
#include "tests/support/program.h"
#include "tests/support/remove_tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 3 };
static const char *const names[TASKS] = {"a", "b", "c"};
enum how { STORE_REMOVED, STORE_RENAMED, PROJECT_MOVED, PROJECT_REMOVED, BACK, HOWS };
static const char *const told[HOWS] = {"store removed", "store renamed",
                                       "project moved", "project removed",
                                       "store away and back"};

/* Each task passes a value on, prints the label, and logs the value that it was given.
 */
static void write_flow(struct world *w, const char *project, const char *label,
                       const char *mode)
{
    char path[PATH_SIZE + 160];
    in_base(w, path, "%s/%s.yaml", project, label);
    /* What comes late from the old run is the last word then. */
    bool early = strcmp(label, "new") == 0 && one_in(w, 2);
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fprintf(
        file,
        "name: w\non_crash: %s\ndefaults: {timeout: {after: 10m, grace: 1s}}\ntasks:\n",
        mode);
    for (unsigned i = 0; i < TASKS; i++) {
        fprintf(
            file,
            "  %s: {exec: [%s, task, %s, %s, '%u', '-v', %s-%s, '%s', '-p', I am %s",
            names[i], w->self, w->log, label, 30 + below(w, early ? 700 : 250), label,
            names[i], early ? "-e" : "-w", label);
        if (i)
            fprintf(file, ", '-t', '${{ tasks.%s.outputs.v }}'], needs: %s}\n",
                    names[i - 1], names[i - 1]);
        else
            fprintf(file, "]}\n");
    }
    fclose(file);
}

/* Each value comes from a task of the same run. */
static void check_values(struct world *w)
{
    struct notes notes;
    notes_read(w, &notes);
    for (size_t i = 0; i < notes.n; i++) {
        const struct entry *e = &notes.list[i];
        if (strcmp(e->text, "-") != 0 &&
            strncmp(e->text, e->label, strlen(e->label)) != 0)
            wrong(w, &w->undetected, "%s of the %s run was given %s", e->task, e->label,
                  e->text);
    }
    notes_free(&notes);
}

static void check_outputs(struct world *w, const char *project)
{
    struct job job;
    char words[80];
    for (unsigned i = 0; i < TASKS; i++) {
        snprintf(words, sizeof words, "log %s", names[i]);
        if (cairn_do(w, NULL, project, &job, words) != 0 ||
            !job_said(w, &job, "I am new") || job_said(w, &job, "I am old"))
            wrong(w, &w->undetected, "the output of %s is not that of its run",
                  names[i]);
    }
}

static void do_it(struct world *w, enum how how)
{
    char from[PATH_SIZE + 160], to[PATH_SIZE + 160];
    bool store = how == STORE_REMOVED || how == STORE_RENAMED || how == BACK;
    in_base(w, from, "p%s", store ? "/.cairn" : "");
    in_base(w, to, how == PROJECT_MOVED ? "q" : "p/moved");
    if (how == PROJECT_REMOVED || how == STORE_REMOVED) {
        /* What the old owner makes meanwhile may be in the way of rmdir. */
        for (int i = 0; i < 50 && !remove_tree(from); i++)
            pause_us(1000);
        return;
    }
    if (rename(from, to))
        wrong(w, &w->other, "cannot move %s", from);
    if (how == BACK) {
        pause_us(1000 * below(w, 150));
        if (rename(to, from))
            wrong(w, &w->other, "cannot move %s back", from);
    }
}

/* The run continues in the place that its store has now. */
static void check_moved(struct world *w, enum how how)
{
    const char *project = how == PROJECT_MOVED ? "q" : "p";
    const char *store = how == STORE_RENAMED ? "moved" : ".cairn";
    struct state before, after;
    unsigned began[TASKS];
    char words[80];
    struct job job;
    state_ask(w, NULL, project, 1, store, &before);
    for (unsigned i = 0; i < TASKS; i++)
        began[i] = noted(w, "begin", "old", names[i], 0);
    snprintf(words, sizeof words, "run old.yaml --store %s", store);
    int status = cairn_do(w, NULL, project, &job, words);
    /* A task that could not write its value had failed, and runs again. */
    if (status == 1 && job_said(w, &job, "exit 97"))
        status = cairn_do(w, NULL, project, &job, words);
    if (strcmp(before.state, "completed") != 0) {
        for (unsigned i = 0; i < TASKS; i++)
            if (strcmp(state_of(&before, names[i]), "completed") == 0 &&
                noted(w, "begin", "old", names[i], 0) != began[i])
                wrong(w, &w->repeated, "%s had completed and ran again after: %s",
                      names[i], told[how]);
        state_ask(w, NULL, project, 1, store, &after);
        if (status != 0 || strcmp(after.state, "completed") != 0) {
            wrong(w, &w->lost, "%s: the run cannot continue: exit %d, %s", told[how],
                  status, after.state);
            job_show(w, &job);
        }
    }
    snprintf(words, sizeof words, "checkpoint verify --store %s", store);
    if (cairn_do(w, NULL, project, &job, words) != 0)
        wrong(w, &w->undetected, "%s: the store is damaged", told[how]);
}

static void check_new(struct world *w, struct job *job, enum how how)
{
    if (job_wait(w, job, 60) != 0) {
        wrong(w, &w->other, "%s: the new run exits %d", told[how], job->status);
        job_show(w, job);
        return;
    }
    for (unsigned i = 0; i < TASKS; i++) {
        unsigned n = noted(w, "begin", "new", names[i], 0);
        if (n != 1)
            wrong(w, n ? &w->repeated : &w->lost, "%s: %s of the new run ran %u times",
                  told[how], names[i], n);
    }
    check_outputs(w, "p");
    if (cairn_do(w, NULL, "p", job, "checkpoint verify") != 0)
        wrong(w, &w->undetected, "%s: the new store is damaged", told[how]);
}

/* Some time after it is gone. */
static void check_old(struct world *w, struct job *old, enum how how, bool ended)
{
    enum { NOTICES_MS = 1000 };
    pause_us(NOTICES_MS * 1000);
    unsigned n = noted(w, "begin", "old", NULL, 0);
    int status = job_wait(w, old, 20);
    /* It may have been at its end already; and where it is back nothing was lost. */
    if (status != 5 && !(status == 0 && (ended || how == BACK)) &&
        !(status == 1 && how == BACK && job_said(w, old, "exit 97"))) {
        wrong(w, &w->other, "%s: the old run exits %d", told[how], status);
        job_show(w, old);
    }
    if (how != BACK && noted(w, "begin", "old", NULL, 0) != n)
        wrong(w, &w->other, "%s: the old run still starts tasks", told[how]);
}

void part_gone(struct world *w)
{
    enum how how = (enum how)below(w, HOWS);
    const char *mode = one_in(w, 3) ? "adopt" : "kill";
    struct job old, new;
    make_project(w, "p");
    write_flow(w, "p", "old", mode);
    if (!cairn_start(w, &old, NULL, "p", "run old.yaml"))
        return;
    int64_t until = now_ms() + 20000;
    while (!noted(w, "begin", "old", NULL, 0) && now_ms() < until)
        pause_us(2000);
    pause_us(1000 * below(w, 500));
    bool ended = noted(w, "end", "old", "c", 0) > 0;
    say(w, "%s, on_crash: %s%s", told[how], mode, ended ? ", at its end" : "");
    do_it(w, how);
    if (how == BACK) {
        check_old(w, &old, how, ended);
        check_moved(w, how);
        check_values(w);
        return;
    }
    if (how == PROJECT_MOVED || how == PROJECT_REMOVED)
        make_project(w, "p");
    write_flow(w, "p", "new", mode);
    pause_us(1000 * below(w, one_in(w, 2) ? 400 : 1));
    if (!cairn_start(w, &new, NULL, "p", "run new.yaml"))
        return;
    check_old(w, &old, how, ended || noted(w, "end", "old", "c", 0) > 0);
    check_new(w, &new, how);
    if (how == PROJECT_MOVED || how == STORE_RENAMED)
        check_moved(w, how);
    check_values(w);
    check_beside(w);
}
