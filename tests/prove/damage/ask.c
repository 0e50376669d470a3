/* SPDX-License-Identifier: MIT */
/* Asking the command in this process. What it prints goes into a file without a name,
 * as if it were a pipe; nobody else writes to descriptors 1 and 2 meanwhile. */
#include "damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int cairn_main(int argc, char **argv); /* main of cli/main.c */

static int catcher = -1;

/* Both streams are flushed by the command itself, at its end. */
int ask(struct buf *said, const char *store, const char *const *words)
{
    enum { MOST = 16 };
    static char name[] = "cairn", option[] = "--store";
    char *argv[MOST] = {name}, path[4096];
    int argc = 1;
    if (catcher < 0)
        catcher = memfd_create("said", MFD_CLOEXEC);
    int out = dup(1), err = dup(2);
    if (catcher < 0 || out < 0 || err < 0 || ftruncate(catcher, 0) < 0 ||
        lseek(catcher, 0, SEEK_SET) < 0)
        abort();
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    snprintf(path, sizeof path, "%s", store);
    argv[argc++] = option;
    argv[argc++] = path;
    fflush(stdout);
    dup2(catcher, 1);
    dup2(catcher, 2);
    int status = cairn_main(argc, argv);
    fflush(stdout);
    fflush(stderr);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    off_t size = lseek(catcher, 0, SEEK_END);
    if (said && size > 0) {
        char *room = buf_grow(said, (size_t)size);
        if (!room || pread(catcher, room, (size_t)size, 0) != (ssize_t)size)
            abort();
    }
    return status;
}

/* p-damage.sh asks the same of the command itself. Runs are numbered from 1. */
static const char *const questions[][6] = {
    {"runs", "--limit", "100", "--json"},
    {"checkpoint", "list", "--limit", "100", "--json"},
    {"checkpoint", "timeline", "--json"},
    {"checkpoint", "head", "--json"},
    {"status", "RUN", "--tasks", "--json"},
    {"log", "--run", "RUN", "--json"},
    {"events", "RUN", "--json"},
    {"plan", "--run", "RUN", "--all", "--json"},
    {"explain", "a", "--run", "RUN", "--json"},
};
enum { RUNS = 8 };

static void ask_one(struct buf *answers, const char *store, const char *const *question,
                    const char *run)
{
    const char *words[7] = {0};
    for (int i = 0; question[i]; i++)
        words[i] = strcmp(question[i], "RUN") == 0 ? run : question[i];
    int status = ask(answers, store, words);
    buf_format(answers, "exit %d\n", status);
}

static bool has_run(const char *const *question)
{
    for (int i = 0; question[i]; i++)
        if (strcmp(question[i], "RUN") == 0)
            return true;
    return false;
}

void ask_everything(struct buf *answers, const char *store)
{
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        for (int run = 1; run <= (has_run(questions[i]) ? RUNS : 1); run++) {
            char number[12];
            snprintf(number, sizeof number, "%d", run);
            ask_one(answers, store, questions[i], number);
        }
}
