/* SPDX-License-Identifier: MIT */
/* Two and more of everything at once, for tests/prove/p-racers.sh.
 *
 *   racers race ...       many for one workflow: race.c
 *   racers storm ...      many processes and a new store: storm.c
 *   racers worker ...     one of them */
#include "tests/prove/racers/racers.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum { ARGS_MAX = 32 };

static pid_t start(const char *program, const char *const *argv, const char *out)
{
    char *copy[ARGS_MAX + 1] = {NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    int n = 0, rc = posix_spawn_file_actions_init(&actions);
    for (; argv[n] && n < ARGS_MAX; n++)
        copy[n] = strdup(argv[n]);
    if (!rc && out)
        rc = posix_spawn_file_actions_addopen(&actions, 1, out,
                                              O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!rc && out)
        rc = posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (!rc)
        rc = posix_spawnp(&pid, program, &actions, NULL, copy, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (n > 0)
        free(copy[--n]);
    errno = rc;
    return rc ? -1 : pid;
}

pid_t start_self(const char *const *args)
{
    const char *argv[ARGS_MAX] = {"racers"};
    for (int i = 0; args[i] && i < ARGS_MAX - 2; i++)
        argv[i + 1] = args[i];
    return start("/proc/self/exe", argv, NULL);
}

pid_t start_command(const char *const *argv, const char *out)
{
    return start(argv[0], argv, out);
}

int wait_within(pid_t pid, int seconds)
{
    int status = 0;
    for (long tries = 0; tries < seconds * 1000L; tries++) {
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid)
            return status;
        if (got < 0 && errno != EINTR)
            return -1;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

static const struct {
    const char *name;
    int n;
    int (*call)(char **args);
} parts[] = {
    {"race", 3, race_main}, {"storm", 4, storm_main}, {"worker", 5, worker_main}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(argv[1], parts[i].name) == 0 && argc == parts[i].n + 2)
            return parts[i].call(argv + 2);
    fprintf(stderr, "usage: see tests/prove/racers/racers.c\n");
    return 2;
}
