/* SPDX-License-Identifier: MIT */
/* Outputs that are put back (`reuse: {keep}`) beside `cp` of the same files.
 *
 *   put_back [MIB]      1024
 *
 * Random bytes, which are stored as they are, and text, which is compressed; in one
 * file, and in 10,000 small ones. In turn, with all of it in the page cache: cp -r, and
 * `cairn run --fresh` of the workflow that made them, which verifies each byte; `time`
 * is until syncfs has ended, `cpu` that of the command's processes. */
#include "bench/process.h"

#include <sys/resource.h>

enum { ROUNDS = 3, FILES = 10000, SMALL_BYTES = 16 << 10 };

struct put_back {
    char dir[4200];
    const char *cairn;
    bool text;
};

struct times {
    struct bench_samples ms, cpu_ms;
};

static void fill(struct put_back *p, char *room, size_t n, uint64_t *state)
{
    static const char *const words[] = {"outputs ", "of ",   "a ",     "task ",
                                        "that ",    "were ", "kept\n", "for "};
    size_t at = 0;
    while (at < n) {
        uint64_t x = *state += 0x9e3779b97f4a7c15;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x ^= x >> 27;
        char number[24];
        const char *from = (const char *)&x;
        size_t size = sizeof x;
        if (p->text) {
            from = x & 8 ? words[x & 7] : number;
            snprintf(number, sizeof number, "%u ", (unsigned)(x >> 50));
            size = strlen(from);
        }
        size = size < n - at ? size : n - at;
        memcpy(room + at, from, size);
        at += size;
    }
}

static void write_file(struct put_back *p, const char *path, size_t size,
                       uint64_t *state)
{
    enum { PART = 1 << 20 };
    char *room = bench_memory(1, PART);
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail(path, strerror(errno));
    while (size) {
        size_t n = size < PART ? size : PART;
        fill(p, room, n, state);
        if (fwrite(room, 1, n, file) != n)
            bench_fail(path, strerror(errno));
        size -= n;
    }
    if (fclose(file))
        bench_fail(path, strerror(errno));
    free(room);
}

static void make_files(struct put_back *p, size_t bytes, bool small)
{
    char path[4400];
    uint64_t state = 1;
    snprintf(path, sizeof path, "%s/source", p->dir);
    mkdir(path, 0755);
    for (int i = 0; small && i < FILES; i++) {
        snprintf(path, sizeof path, "%s/source/%d", p->dir, i / 100);
        if (i % 100 == 0)
            mkdir(path, 0755);
        snprintf(path, sizeof path, "%s/source/%d/%d", p->dir, i / 100, i);
        write_file(p, path, SMALL_BYTES, &state);
    }
    snprintf(path, sizeof path, "%s/source/one", p->dir);
    if (!small)
        write_file(p, path, bytes, &state);
}

static void write_workflow(const struct put_back *p)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/w.yaml", p->dir);
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail(path, strerror(errno));
    fprintf(file, "name: w\ntasks:\n  a: {run: cp -r source out, outputs: out, "
                  "reuse: {keep: 7d}}\n");
    fclose(file);
}

static void sync_all(const struct put_back *p)
{
    int fd = open(p->dir, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || syncfs(fd))
        bench_fail(p->dir, strerror(errno));
    close(fd);
}

static void measure(const struct put_back *p, const char *const *argv,
                    struct times *times)
{
    struct rusage used;
    int status;
    sync_all(p);
    int64_t began = bench_now();
    pid_t pid = bench_start(argv, -1);
    while (wait4(pid, &status, 0, &used) < 0)
        if (errno != EINTR)
            bench_fail("wait", strerror(errno));
    sync_all(p);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        bench_fail(argv[0], "failed");
    if (!times)
        return;
    bench_add(&times->ms, (double)(bench_now() - began) / 1e6);
    bench_add(&times->cpu_ms,
              (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
                  (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3);
}

static void print(const char *what, const char *shape, struct times *copied,
                  struct times *put)
{
    char name[64];
    double ratio = bench_quantile(&copied->ms, 0.5) / bench_quantile(&put->ms, 0.5);
    struct {
        const char *name;
        struct bench_samples *samples;
    } rows[] = {{"cp.time", &copied->ms},
                {"cp.cpu", &copied->cpu_ms},
                {"put_back.time", &put->ms},
                {"put_back.cpu", &put->cpu_ms}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(name, sizeof name, "%s.%s.%s", what, shape, rows[i].name);
        bench_figure(name, rows[i].samples, "ms");
    }
    snprintf(name, sizeof name, "%s.%s.speed", what, shape);
    bench_value(name, ratio, "of cp");
}

static void try(struct put_back *p, size_t bytes, bool small)
{
    char source[4400], out[4400], copy[4400], file[4400];
    struct times copied = {0}, put = {0};
    snprintf(p->dir, sizeof p->dir, "%s", bench_make_dir());
    snprintf(source, sizeof source, "%s/source", p->dir);
    snprintf(out, sizeof out, "%s/out", p->dir);
    snprintf(copy, sizeof copy, "%s/copy", p->dir);
    snprintf(file, sizeof file, "%s/w.yaml", p->dir);
    const char *cp[] = {"/bin/cp", "-r", source, copy, NULL};
    const char *run[] = {p->cairn, "run", "--fresh", "-q", file, NULL};
    make_files(p, bytes, small);
    write_workflow(p);
    measure(p, run, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        measure(p, cp, &copied);
        remove_tree(copy);
        remove_tree(out);
        measure(p, run, &put);
    }
    print(p->text ? "text" : "random", small ? "small" : "one", &copied, &put);
    remove_tree(p->dir);
}

int main(int argc, char **argv)
{
    size_t mib = argc > 1 ? bench_number(argv[1]) : 1024;
    struct put_back p = {.cairn = bench_cairn(NULL)};
    unsetenv("CAIRN_STORE");
    bench_head("outputs that are put back, beside cp; both until all is synced");
    for (int text = 0; text < 2; text++)
        for (int small = 0; small < 2; small++) {
            p.text = text;
            try(&p, mib << 20, small);
        }
    return 0;
}
