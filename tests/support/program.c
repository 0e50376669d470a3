/* SPDX-License-Identifier: MIT */
#include "tests/support/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 600 };

int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void pause_us(uint32_t us)
{
    struct timespec left = {us / 1000000, (long)(us % 1000000) * 1000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static int add_files(posix_spawn_file_actions_t *actions, const char *dir,
                     const char *tag)
{
    enum { FLAGS = O_WRONLY | O_CREAT | O_TRUNC };
    char out[PATH_SIZE], err[PATH_SIZE];
    snprintf(out, sizeof out, "%s/out.%s", dir, tag);
    snprintf(err, sizeof err, "%s/err.%s", dir, tag);
    int sys = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (!sys)
        sys = posix_spawn_file_actions_addopen(actions, 1, out, FLAGS, 0600);
    if (!sys)
        sys = posix_spawn_file_actions_addopen(actions, 2, err, FLAGS, 0600);
    return sys ? sys : posix_spawn_file_actions_addchdir_np(actions, dir);
}

int program_start(pid_t *pid, const char *dir, const char *tag, char *const *argv,
                  char *const *env)
{
    posix_spawn_file_actions_t actions;
    int sys = posix_spawn_file_actions_init(&actions);
    if (sys)
        return sys;
    sys = add_files(&actions, dir, tag);
    if (!sys)
        sys = posix_spawn(pid, argv[0], &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    return sys;
}

int program_wait(pid_t pid, int patience_ms, bool *hung)
{
    int status = 0, fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    *hung = fd >= 0 && poll(&watched, 1, patience_ms) == 0;
    if (*hung)
        kill(pid, SIGKILL);
    if (fd >= 0)
        close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

char *file_text(const char *path)
{
    char block[4096], *text = NULL;
    size_t n, size = 0;
    FILE *from = fopen(path, "re"), *to = from ? open_memstream(&text, &size) : NULL;
    while (to && (n = fread(block, 1, sizeof block, from)) > 0)
        fwrite(block, 1, n, to);
    if (from)
        fclose(from);
    if (to)
        fclose(to);
    return text;
}
