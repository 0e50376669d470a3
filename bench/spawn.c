/* Processes: `cairn run -j2` of tasks that do nothing beside a bare posix_spawn loop
 * that keeps two at a time.
 *
 *   spawn [CAIRN [TASKS]]      $BUILD/cairn 2000
 *
 * cairn's time is that of the whole command: reading the file, every task's output and
 * checkpoint at full sync, and retention at the end. */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

enum { ROUNDS = 3 };

extern char **environ;

static char *const *words(const char *const *argv)
{
    char *const *same;
    memcpy(&same, &argv, sizeof same);
    return same;
}

static pid_t start(const char *const *argv)
{
    pid_t pid;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(&pid, argv[0], &quiet, NULL, words(argv), environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (error)
        bench_fail(argv[0], strerror(error));
    return pid;
}

static void wait_one(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            bench_fail("wait", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        bench_fail("spawn", "a process failed");
}

static double bare(unsigned long n)
{
    static const char *const argv[] = {"/bin/true", NULL};
    int64_t began = bench_now();
    start(argv);
    for (unsigned long i = 1; i < n; i++) {
        start(argv);
        wait_one(-1);
    }
    wait_one(-1);
    return (double)(bench_now() - began) / 1e3 / (double)n;
}

static void write_workflow(const char *path, unsigned long n)
{
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail(path, strerror(errno));
    fprintf(file,
            "name: spawn\ntasks:\n  nothing:\n    foreach: {n: {range: [1, %lu]}}\n"
            "    exec: [/bin/true]\n",
            n);
    if (fclose(file))
        bench_fail(path, strerror(errno));
}

static double with_cairn(const char *cairn, const char *dir, unsigned long n)
{
    char file[4200], store[4200];
    snprintf(file, sizeof file, "%s/spawn.yaml", dir);
    snprintf(store, sizeof store, "%s/.cairn", dir);
    write_workflow(file, n);
    const char *const argv[] = {cairn,     "run", "-j2", "--quiet",
                                "--store", store, file,  NULL};
    int64_t began = bench_now();
    wait_one(start(argv));
    double us = (double)(bench_now() - began) / 1e3 / (double)n;
    bench_remove(store);
    return us;
}

int main(int argc, char **argv)
{
    char cairn[4096];
    const char *build = getenv("BUILD");
    unsigned long n = argc > 2 ? bench_number(argv[2]) : 2000;
    struct bench_samples floor_us = {0}, cairn_us = {0};
    snprintf(cairn, sizeof cairn, "%s/cairn", build && *build ? build : "build");
    if (argc > 1)
        snprintf(cairn, sizeof cairn, "%s", argv[1]);
    if (access(cairn, X_OK))
        bench_fail(cairn, strerror(errno));
    const char *dir = bench_make_dir();
    bench_head("spawn: processes that do nothing, two at a time");
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&floor_us, bare(n));
        bench_add(&cairn_us, with_cairn(cairn, dir, n));
    }
    double ratio = bench_quantile(&floor_us, 0.5) / bench_quantile(&cairn_us, 0.5);
    bench_figure("spawn.floor", &floor_us, "us/task");
    bench_figure("spawn.cairn", &cairn_us, "us/task");
    bench_value("spawn.ratio", ratio, "of the bare rate");
    bench_remove(dir);
    return 0;
}
