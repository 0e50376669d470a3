/* SPDX-License-Identifier: MIT */
/* What the tasks execute.
 *
 *   user task FLOW TASK PARAM SALT MS -i INPUT... -o OUTPUT...   -O: in place
 *   user nest FLOW TASK PARAM SALT MS      runs inner.yaml within it; then fails if
 *                                          there is a file `veto` */
#include "tests/prove/user/user.h"
#include "tests/support/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { NAME = 1, TASK, PARAM, SALT, MS, REST };

/* One write, so that lines do not mix. */
static void note(char **argv, const char *what)
{
    const char *run = getenv("CAIRN_RUN");
    int fd = open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    char line[200];
    int n = snprintf(line, sizeof line, "%s %s %s %ld %s\n", argv[NAME], argv[TASK],
                     run ? run : "0", (long)getpid(), what);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        fprintf(stderr, "cannot write the log\n");
    if (fd >= 0)
        close(fd);
}

static int put(const char *path, const char *text, bool in_place)
{
    char beside[PATH_SIZE];
    snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(in_place ? path : beside, "we");
    if (!file)
        return -1;
    fputs(text, file);
    int rc = fclose(file);
    return rc || in_place ? rc : rename(beside, path);
}

int task_main(int argc, char **argv)
{
    uint64_t in[FILES_EACH];
    uint32_t n_in = 0, n_out = 0;
    int i = REST + 1;
    if (argc <= REST)
        return 2;
    note(argv, "start");
    for (; i < argc && argv[i][0] != '-'; i++) {
        in[n_in] = path_digest(argv[i]);
        if (!in[n_in++])
            return 3;
    }
    pause_us((uint32_t)strtoul(argv[MS], NULL, 10) * 1000);
    bool in_place = i < argc && strcmp(argv[i], "-O") == 0;
    for (i++; i < argc; i++) {
        char text[TEXT_SIZE];
        made_text(made_key(argv[NAME], argv[TASK], argv[PARAM], argv[SALT], n_out++, in,
                           n_in),
                  text, sizeof text);
        if (put(argv[i], text, in_place))
            return 4;
    }
    note(argv, "end");
    return 0;
}

static void nothing(int number)
{
    (void)number;
}

/* A stop is for the command inside, which ends by it. */
int nest_main(int argc, char **argv)
{
    char param[64];
    const char *inner[] = {"cairn", "run",     "inner.yaml", "--json",
                           "-j3",   "--param", param,        NULL};
    posix_spawn_file_actions_t actions;
    struct sigaction action = {.sa_handler = nothing};
    pid_t pid;
    int status = 0;
    if (argc <= MS)
        return 2;
    snprintf(param, sizeof param, "p=%s", argv[PARAM]);
    note(argv, "start");
    sigaction(SIGTERM, &action, NULL);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "out.inner",
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, "err.inner",
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (posix_spawnp(&pid, inner[0], &actions, NULL, (char *const *)(uintptr_t)inner,
                     environ))
        return 5;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status))
        return 6;
    pause_us((uint32_t)strtoul(argv[MS], NULL, 10) * 1000);
    if (WEXITSTATUS(status) == 0 && access("veto", F_OK) == 0)
        return 9;
    if (WEXITSTATUS(status) == 0)
        note(argv, "end");
    return WEXITSTATUS(status);
}
