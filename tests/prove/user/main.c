/* SPDX-License-Identifier: MIT */
/* What a user does to a project: workflows that share files, run, killed, stopped,
 * resumed, edited, with files changed by hand. After each step plan, log, exit status
 * and files are compared with a model (model.c).
 *
 *   user DIR SEED SCENARIOS STEPS
 *
 * TRACE=1 tells every step.
 *
 * Prints `user SCENARIOS STEPS TASKS LOST REPEATED UNDETECTED OTHER` and, before that,
 * what went wrong as lines with '#'. */
#include "tests/prove/user/user.h"
#include "tests/support/remove_tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static bool find_command(char *path, size_t size)
{
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        snprintf(path, size, "%.*s/cairn", (int)n, list);
        if (access(path, X_OK) == 0)
            return true;
        list += n + (list[n] == ':');
    }
    return false;
}

static bool find_self(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n < 0)
        return false;
    path[n] = '\0';
    return true;
}

/* One scenario; what is of it stays if something went wrong. */
static bool scenario(struct world *w, const char *dir, uint32_t number, uint32_t steps)
{
    unsigned before = w->lost + w->repeated + w->undetected + w->other;
    snprintf(w->base, sizeof w->base, "%.300s/%u", dir, number);
    setenv("PROVER_USER", w->base, 1);
    w->env = environ;
    if (!world_make(w)) {
        wrong(w, &w->other, "cannot make a project");
        return false;
    }
    for (uint32_t i = 0; i < steps; i++) {
        step(w);
        if (w->lost + w->repeated + w->undetected + w->other != before)
            return false;
    }
    remove_tree(w->base);
    return true;
}

int main(int argc, char **argv)
{
    static struct world w;
    if (argc > 1 && strcmp(argv[1], "task") == 0)
        return task_main(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "nest") == 0)
        return nest_main(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "reader") == 0)
        return reader_main(argc - 1, argv + 1);
    if (argc != 5 || !find_self(w.self, sizeof w.self) ||
        !find_command(w.cairn, sizeof w.cairn)) {
        fprintf(stderr, "usage: user DIR SEED SCENARIOS STEPS, with cairn in PATH\n");
        return 2;
    }
    unsigned scenarios = (unsigned)strtoul(argv[3], NULL, 10),
             steps = (unsigned)strtoul(argv[4], NULL, 10);
    unsigned bad = 0, i = 0;
    w.trace = getenv("TRACE") != NULL;
    unsetenv("CAIRN_STORE");
    for (; i < scenarios && bad < 3; i++) {
        w.seed = strtoull(argv[2], NULL, 10) * 1000003 + i;
        w.nested = i % 2;
        w.in_place = i % 4 > 1;
        if (!scenario(&w, argv[1], i, steps)) {
            printf("# that was scenario %u of seed %s\n", i, argv[2]);
            bad++;
        }
    }
    printf("user %u %llu %llu %u %u %u %u\n", i, (unsigned long long)w.steps,
           (unsigned long long)w.tasks, w.lost, w.repeated, w.undetected, w.other);
    return w.lost + w.repeated + w.undetected + w.other != 0;
}
