/* SPDX-License-Identifier: MIT */
/* What the benchmarks share: time, samples, a directory, and how a figure is printed:
 *
 *   name  n  median  p99  unit
 *
 * Timings are never asserted. A program ends with 1 when what it measured went wrong.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "cairn.h"
#include "tests/support/remove_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static inline int64_t bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void bench_fail(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

static inline void bench_check(int result, const char *what,
                               const struct cairn_error *error)
{
    if (result)
        bench_fail(what, error->text);
}

static inline void *bench_memory(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        bench_fail("memory", strerror(ENOMEM));
    return memory;
}

static inline unsigned long bench_number(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || n == 0 || n > 10000000)
        bench_fail(text, "not a number from 1 to 10000000");
    return n;
}

/* ---- Figures ---- */

struct bench_samples {
    double *at;
    size_t n, capacity;
};

static inline void bench_add(struct bench_samples *samples, double value)
{
    if (samples->n == samples->capacity) {
        samples->capacity = samples->capacity ? 2 * samples->capacity : 1024;
        samples->at = realloc(samples->at, samples->capacity * sizeof *samples->at);
        if (!samples->at)
            bench_fail("memory", strerror(ENOMEM));
    }
    samples->at[samples->n++] = value;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the samples. `part` from 0 to 1. */
static inline double bench_quantile(struct bench_samples *samples, double part)
{
    if (!samples->n)
        return 0;
    qsort(samples->at, samples->n, sizeof *samples->at, bench_compare);
    return samples->at[(size_t)(part * (double)(samples->n - 1) + 0.5)];
}

static inline void bench_head(const char *title)
{
    printf("# %s\n%-34s %9s %12s %12s unit\n", title, "# name", "n", "median", "p99");
}

/* Prints and empties. */
static inline void bench_figure(const char *name, struct bench_samples *samples,
                                const char *unit)
{
    printf("%-34s %9zu %12.2f %12.2f %s\n", name, samples->n,
           bench_quantile(samples, 0.5), bench_quantile(samples, 0.99), unit);
    fflush(stdout);
    free(samples->at);
    *samples = (struct bench_samples){0};
}

static inline void bench_value(const char *name, double value, const char *unit)
{
    struct bench_samples one = {0};
    bench_add(&one, value);
    bench_figure(name, &one, unit);
}

/* ---- A directory: $BENCH_DIR, $BUILD, $TMPDIR or /tmp. What is measured with syncs
 * depends on the file system there. ---- */

static inline char *bench_make_dir(void)
{
    static const char *const names[] = {"BENCH_DIR", "BUILD", "TMPDIR"};
    static char path[4096];
    const char *base = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !(base && *base); i++)
        base = getenv(names[i]);
    snprintf(path, sizeof path, "%s/cairn-bench-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path))
        bench_fail(path, strerror(errno));
    return path;
}

/* A workflow of `n` callbacks t0, t1, ..., each after the one before, or none. */
static inline struct cairn_workflow *bench_workflow(const char *name, uint32_t n,
                                                    bool chain, cairn_task_fn *call,
                                                    void *context)
{
    struct cairn_workflow *w;
    struct cairn_error error;
    char id[16], before[16];
    const char *needs[] = {before, NULL};
    bench_check(cairn_workflow_new(&w, name, &error), "workflow", &error);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(id, sizeof id, "t%u", i);
        struct cairn_task task = {.id = id, .call = call, .context = context};
        if (i && chain)
            task.needs = needs;
        bench_check(cairn_workflow_add(w, &task, &error), "task", &error);
        memcpy(before, id, sizeof before);
    }
    bench_check(cairn_workflow_compile(w, &error), "compile", &error);
    return w;
}

static inline struct cairn_store *bench_store(const char *dir, enum cairn_sync sync)
{
    char path[4200];
    struct cairn_store *store;
    struct cairn_error error;
    snprintf(path, sizeof path, "%s/.cairn", dir);
    struct cairn_store_options options = {.path = path, .create = true, .sync = sync};
    bench_check(cairn_store_open(&store, &options, &error), "store", &error);
    return store;
}

#endif
