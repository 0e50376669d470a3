/* SPDX-License-Identifier: MIT */
/* Others who look at the store or at the project, and commands that tidy. */
#include "tests/prove/user/user.h"
#include "tests/support/program.h"
#include "tests/support/remove_tree.h"

#include <spawn.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- A program that reads the store with SQLite ---- */

/* Looks, in a transaction or without, makes a backup; or has the write lock for a
 * while, so that what ends in that time is not stored. */
enum { HOLDS = 3 };

/*   user reader STORE KIND MS */
int reader_main(int argc, char **argv)
{
    sqlite3 *db = NULL, *copy = NULL;
    if (argc != 4 ||
        sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        sqlite3_close(db);
        return 0; /* no store yet */
    }
    unsigned long kind = strtoul(argv[2], NULL, 10);
    uint32_t us = (uint32_t)strtoul(argv[3], NULL, 10) * 1000;
    if (kind == HOLDS) {
        pause_us(us);
        sqlite3_busy_timeout(db, 50);
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        pause_us(60000);
        _exit(0); /* not closed: that could remove the log */
    }
    if (kind == 1)
        sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    pause_us(us);
    if (kind == 1)
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    if (kind == 2 && sqlite3_open(":memory:", &copy) == SQLITE_OK) {
        sqlite3_backup *backup = sqlite3_backup_init(copy, "main", db, "main");
        while (backup && sqlite3_backup_step(backup, 20) == SQLITE_OK)
            pause_us(500);
        sqlite3_backup_finish(backup);
    }
    sqlite3_close(copy);
    sqlite3_close(db);
    return 0;
}

static pid_t start(struct world *w, const char *program, const char *const *argv)
{
    pid_t pid = -1;
    int sys =
        posix_spawnp(&pid, program, NULL, NULL, (char *const *)(uintptr_t)argv, w->env);
    if (sys)
        wrong(w, &w->other, "cannot start %s: %s", program, strerror(sys));
    return sys ? -1 : pid;
}

pid_t reader_start(struct world *w, bool holds)
{
    char path[PATH_SIZE + 96], kind[16], ms[16];
    const char *argv[] = {"user", "reader", path, kind, ms, NULL};
    snprintf(path, sizeof path, "%s/.cairn/cairn.db", w->dir);
    snprintf(kind, sizeof kind, "%u", holds ? HOLDS : below(w, HOLDS));
    snprintf(ms, sizeof ms, "%u", holds ? 5 + below(w, 25) : below(w, 40));
    say(w, "somebody reads the store, %s for %s ms", kind, ms);
    return start(w, w->self, argv);
}

/* ---- The project moves, is copied ---- */

void step_move(struct world *w)
{
    char to[PATH_SIZE + 16];
    snprintf(to, sizeof to, "%s/p%u", w->base, ++w->moves);
    say(w, "move the project");
    if (rename(w->dir, to))
        wrong(w, &w->other, "cannot move the project");
    else
        memcpy(w->dir, to, sizeof to);
}

static bool copy_project(struct world *w, const char *to)
{
    const char *argv[] = {"cp", "-a", w->dir, to, NULL};
    return cairn_wait(w, start(w, "cp", argv), "cp") == 0;
}

/* What had ended unstored belongs to the original alone (guide-resuming.md). */
static void forget_ends(struct world *copy)
{
    for (uint32_t i = 0; i < copy->n_runs; i++) {
        struct run *run = &copy->run[i];
        for (uint32_t t = 0; t < TASKS; t++)
            if ((run->maybe | run->noted) & 1u << t && !run->reset)
                run->state[t] = OPEN;
        /* A resume that was killed early may have stored them before. */
        run->maybe = run->reset ? run->maybe | run->noted : 0;
        run->noted = 0;
    }
}

void step_copy(struct world *w)
{
    static struct world copy;
    struct files before, after;
    long log = log_size(w);
    unsigned failures = w->lost + w->repeated + w->undetected + w->other;
    world_look(w, &before);
    copy = *w;
    snprintf(copy.dir, sizeof copy.dir, "%s/copy", w->base);
    if (!copy_project(w, copy.dir)) {
        wrong(w, &w->other, "cannot copy the project");
        return;
    }
    say(w, "copy the project, and there:");
    forget_ends(&copy);
    step_resume(&copy);
    world_look(w, &after);
    if (memcmp(&before, &after, sizeof before) != 0 || log_size(w) != log)
        wrong(w, &w->other, "what was done in a copy changed the original");
    w->seed = copy.seed;
    w->tasks = copy.tasks;
    w->lost = copy.lost;
    w->repeated = copy.repeated;
    w->undetected = copy.undetected;
    w->other = copy.other;
    if (w->lost + w->repeated + w->undetected + w->other == failures)
        remove_tree(copy.dir);
}

/* ---- Commands that change nothing that counts ---- */

void step_tidy(struct world *w)
{
    static const char *const commands[][6] = {{"gc"},
                                              {"checkpoint", "prune", "--keep", "1"},
                                              {"checkpoint", "verify"},
                                              {"doctor"},
                                              {"runs"},
                                              {"status"}};
    const char *const *command = commands[below(w, 6)];
    if (!w->n_runs)
        return;
    say(w, "%s %s", command[0], command[1] ? command[1] : "");
    int status = cairn_do(w, "tidy", command);
    if (status) {
        wrong(w, &w->other, "%s %s: exit %d", command[0], command[1] ? command[1] : "",
              status);
        show_errors(w, "tidy");
    }
}
