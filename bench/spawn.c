/* SPDX-License-Identifier: MIT */
/* Processes: `cairn run -j2` of tasks that do nothing beside a bare posix_spawn loop
 * that keeps two at a time.
 *
 *   spawn [CAIRN [TASKS]]      $BUILD/cairn 2000
 *
 * cairn's time is that of the whole command: reading the file, every task's output and
 * checkpoint at full sync, and retention at the end. */
#include "bench/process.h"

enum { ROUNDS = 3 };

static double bare_rate(unsigned long n)
{
    static const char *const argv[] = {"/bin/true", NULL};
    int64_t began = bench_now();
    bench_start(argv, -1);
    for (unsigned long i = 1; i < n; i++) {
        bench_start(argv, -1);
        bench_wait(-1, "spawn");
    }
    bench_wait(-1, "spawn");
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
    double us = bench_command_ms(argv) * 1e3 / (double)n;
    remove_tree(store);
    return us;
}

int main(int argc, char **argv)
{
    const char *cairn = bench_cairn(argc > 1 ? argv[1] : NULL);
    unsigned long n = argc > 2 ? bench_number(argv[2]) : 2000;
    struct bench_samples floor_us = {0}, cairn_us = {0};
    const char *dir = bench_make_dir();
    bench_head("spawn: processes that do nothing, two at a time");
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&floor_us, bare_rate(n));
        bench_add(&cairn_us, with_cairn(cairn, dir, n));
    }
    double ratio = bench_quantile(&floor_us, 0.5) / bench_quantile(&cairn_us, 0.5);
    bench_figure("spawn.floor", &floor_us, "us/task");
    bench_figure("spawn.cairn", &cairn_us, "us/task");
    bench_value("spawn.ratio", ratio, "of the bare rate");
    remove_tree(dir);
    return 0;
}
