/* SPDX-License-Identifier: MIT */
/* Starting the command, and files. Only processes that this program started are ever
 * signalled. */
#include "flow.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 12, VARIABLES_MAX = 512, PATIENCE_MS = 60000, OWN_MAX = 4 };

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

/* ---- Processes ---- */

struct environment {
    char *entries[VARIABLES_MAX];
    char own[OWN_MAX][DIR_SIZE + 32];
};

static void fill_environment(struct environment *e, const struct workflow *w,
                             const char *dir)
{
    size_t n = 0, own = 0;
    for (char **at = environ; *at && n + OWN_MAX + 1 < VARIABLES_MAX; at++)
        if (strncmp(*at, "CAIRN_", 6) != 0 && strncmp(*at, "FLOW_", 5) != 0)
            e->entries[n++] = *at;
    snprintf(e->own[own++], sizeof e->own[0], "FLOW_DIR=%s", dir);
    for (uint32_t i = 0; i < SECRETS_MAX; i++)
        snprintf(e->own[own++], sizeof e->own[0], "SECRET_%u=kept-secret-%u-%u", i, i,
                 w->secret[i]);
    for (size_t i = 0; i < own; i++)
        e->entries[n++] = e->own[i];
    e->entries[n] = NULL;
}

static bool file_actions(posix_spawn_file_actions_t *actions, const char *dir,
                         const char *tag)
{
    char out[DIR_SIZE + 32], err[DIR_SIZE + 32];
    enum { FLAGS = O_WRONLY | O_CREAT | O_TRUNC };
    snprintf(out, sizeof out, "%s/out.%s", dir, tag);
    snprintf(err, sizeof err, "%s/err.%s", dir, tag);
    return !posix_spawn_file_actions_init(actions) &&
           !posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0) &&
           !posix_spawn_file_actions_addopen(actions, 1, out, FLAGS, 0600) &&
           !posix_spawn_file_actions_addopen(actions, 2, err, FLAGS, 0600) &&
           !posix_spawn_file_actions_addchdir_np(actions, dir);
}

pid_t cairn_start(const struct setup *setup, const struct workflow *w, const char *dir,
                  const char *tag, const char *const *arguments)
{
    static struct environment environment;
    char *argv[ARGUMENTS_MAX + 2];
    posix_spawn_file_actions_t actions;
    size_t n = 0;
    pid_t pid;
    argv[n++] = (char *)(uintptr_t)setup->cairn;
    for (; *arguments && n <= ARGUMENTS_MAX; arguments++)
        argv[n++] = (char *)(uintptr_t)*arguments;
    argv[n] = NULL;
    fill_environment(&environment, w, dir);
    if (!file_actions(&actions, dir, tag))
        return -1;
    int sys =
        posix_spawn(&pid, setup->cairn, &actions, NULL, argv, environment.entries);
    posix_spawn_file_actions_destroy(&actions);
    return sys ? -1 : pid;
}

int cairn_wait(pid_t pid)
{
    int status = 0, fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    bool hangs = fd >= 0 && poll(&watched, 1, PATIENCE_MS) == 0;
    if (pid <= 0)
        return -1;
    if (hangs)
        kill(pid, SIGKILL);
    if (fd >= 0)
        close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return hangs               ? -2
           : WIFEXITED(status) ? WEXITSTATUS(status)
                               : 128 + WTERMSIG(status);
}

int cairn_do(const struct setup *setup, const struct workflow *w, const char *dir,
             const char *tag, const char *const *arguments)
{
    return cairn_wait(cairn_start(setup, w, dir, tag, arguments));
}

/* ---- Files ---- */

bool make_dir(const char *dir)
{
    static const char *const inside[] = {"", "/in", "/out", "/flaky"};
    char path[DIR_SIZE + 32];
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        snprintf(path, sizeof path, "%s%s", dir, inside[i]);
        if (mkdir(path, 0700) < 0)
            return false;
    }
    for (uint32_t i = 0; i < DEFS_MAX; i++) {
        snprintf(path, sizeof path, "in/%u", i);
        if (!file_write(dir, path, "read by a task\n"))
            return false;
    }
    return true;
}

bool file_write(const char *dir, const char *name, const char *text)
{
    char path[DIR_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "we");
    bool good = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && good;
}

char *file_read(const char *dir, const char *name)
{
    char path[DIR_SIZE + 64], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *from = fopen(path, "re"), *to = from ? open_memstream(&text, &size) : NULL;
    char block[4096];
    size_t n;
    while (to && (n = fread(block, 1, sizeof block, from)) > 0)
        fwrite(block, 1, n, to);
    if (from)
        fclose(from);
    if (to)
        fclose(to);
    return text;
}
