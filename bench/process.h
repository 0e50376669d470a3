/* SPDX-License-Identifier: MIT */
/* Processes of a benchmark: the cairn command, peers, and measurements that need a
 * process of their own. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include "bench/bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

/* The absolute path of the command: `given`, else $BUILD/cairn. */
static inline const char *bench_cairn(const char *given)
{
    char path[4096];
    const char *build = getenv("BUILD");
    snprintf(path, sizeof path, "%s/cairn", build && *build ? build : "build");
    char *absolute = realpath(given ? given : path, NULL);
    if (!absolute)
        bench_fail(given ? given : path, strerror(errno));
    return absolute;
}

/* `out`: a descriptor for stdout; -1: nothing of its output is shown. */
static inline pid_t bench_start(const char *const *argv, int out)
{
    pid_t pid;
    char *const *words;
    posix_spawn_file_actions_t quiet;
    memcpy(&words, &argv, sizeof words);
    posix_spawn_file_actions_init(&quiet);
    if (out < 0) {
        posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    } else
        posix_spawn_file_actions_adddup2(&quiet, out, 1);
    int error = posix_spawn(&pid, argv[0], &quiet, NULL, words, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (error)
        bench_fail(argv[0], strerror(error));
    return pid;
}

static inline void bench_wait(pid_t pid, const char *what)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            bench_fail("wait", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        bench_fail(what, "a process failed");
}

/* Milliseconds from start to exit. */
static inline double bench_command_ms(const char *const *argv)
{
    int64_t began = bench_now();
    bench_wait(bench_start(argv, -1), argv[0]);
    return (double)(bench_now() - began) / 1e6;
}

/* This program again, with other words, in a process that holds nothing else; it tells
 * n numbers with bench_tell. */
static inline void bench_apart(const char *const *words, double *told, size_t n)
{
    const char *argv[16] = {"/proc/self/exe"};
    int ends[2];
    for (size_t i = 0; words[i] && i + 2 < sizeof argv / sizeof argv[0]; i++)
        argv[i + 1] = words[i];
    if (pipe2(ends, O_CLOEXEC))
        bench_fail("pipe", strerror(errno));
    pid_t pid = bench_start(argv, ends[1]);
    close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    for (size_t i = 0; file && i < n; i++)
        if (fscanf(file, "%lf", &told[i]) != 1)
            bench_fail(words[0], "told too little");
    if (file)
        fclose(file);
    bench_wait(pid, words[0]);
}

static inline void bench_tell(const double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%.17g\n", numbers[i]);
}

/* The most memory that this process has had, in MiB. */
static inline double bench_peak_mib(void)
{
    char line[256];
    unsigned long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    if (file)
        fclose(file);
    return (double)kib / 1024;
}

#endif
