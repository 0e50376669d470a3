/* SPDX-License-Identifier: MIT */
/* Random lives of a directory whose files are in the checkpoints of a session: changes
 * by plain system calls, then `cairn` in new processes, some of them killed, against a
 * model (judge.c).
 *
 *   files DIR SEED LIVES SECONDS [FIRST]
 *
 * Directories without write permission are an obstacle for root as well: the
 * capabilities that pass them are given up first. TRACE=1 tells every command.
 *
 * Prints `files LIVES TREES MOVES KILLED LOST REPEATED UNDETECTED OTHER` and, before
 * that, what went wrong as lines with '#'. */
#include "tests/prove/files/files.h"
#include "tests/support/program.h"
#include "tests/support/remove_tree.h"

#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static char *find_command(const char *name)
{
    const char *list = getenv("PATH");
    char path[PATH_MAX];
    while (list && *list) {
        size_t n = strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, list, name);
        if (access(path, X_OK) == 0)
            return strdup(path);
        list += n + (list[n] == ':');
    }
    return NULL;
}

/* They are gone after the next exec. */
static void give_up_capabilities(char **argv)
{
    if (geteuid() != 0 || getenv("PROVER_FILES"))
        return;
    (void)prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0);
    (void)prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH, 0, 0, 0);
    setenv("PROVER_FILES", "1", 1);
    execv("/proc/self/exe", argv);
}

static bool one(struct life *life, const char *dir, unsigned long number)
{
    snprintf(life->dir, sizeof life->dir, "%s/%lu", dir, number);
    snprintf(life->root, sizeof life->root, "%s/p", life->dir);
    snprintf(life->outside, sizeof life->outside, "%s/out", life->dir);
    life->kills = number % 3 == 2;
    life->hurt = false;
    live(life);
    if (life->hurt)
        return false;
    make_writable(life->dir);
    remove_tree(life->dir);
    return true;
}

int main(int argc, char **argv)
{
    static struct life life;
    give_up_capabilities(argv);
    char *cairn = find_command("cairn");
    life.cairn = cairn;
    if (argc < 5 || !cairn) {
        fprintf(stderr, "usage: files DIR SEED LIVES SECONDS, with cairn in PATH\n");
        return 2;
    }
    life.nth = getenv("PROVER_NTH");
    if (!life.nth)
        life.nth = "";
    life.trace = getenv("TRACE") != NULL;
    unsetenv("CAIRN_STORE");
    unsetenv("CAIRN_SESSION");
    unsigned long lives = strtoul(argv[3], NULL, 10), bad = 0;
    unsigned long i = argc > 5 ? strtoul(argv[5], NULL, 10) : 0, first = i;
    int64_t until = now_ms() + 1000 * strtoll(argv[4], NULL, 10);
    for (; i < first + lives && bad < 5 && now_ms() < until; i++) {
        life.seed = strtoull(argv[2], NULL, 10) * 1000003 + i;
        if (!one(&life, argv[1], i)) {
            printf("# that was life %lu of seed %s\n", i, argv[2]);
            bad++;
        }
    }
    printf("# %lu were refused, since something was in the way\n", life.barred);
    printf("files %lu %lu %lu %lu %lu %lu %lu %lu\n", i - first, life.trees, life.moves,
           life.killed, life.lost, life.repeated, life.undetected, life.other);
    free(life.seen);
    free(cairn);
    return bad != 0;
}
