/* SPDX-License-Identifier: MIT */
/* A task that writes much: what does it cost that cairn keeps its output?
 *
 *   output [CAIRN [MIB [CHUNK...]]]       $BUILD/cairn 1024 4096 65536 1048576
 *
 * A program writes MIB mebibytes to stdout, CHUNK bytes at a time: into a plain file
 * (file), into a pipe whose reader throws them away (pipe), as a task of `cairn run`,
 * which keeps head and tail (cairn), and as a task of a workflow with a secret, where
 * all of it passes through a pipe and the redactor (redacted; a quarter as much). The
 * time is that of the writer with who reads it, or of the whole command; the ratios are
 * to file and to pipe. `disk`: what the task's file and the store take there at most,
 * as far as looking every few milliseconds shows. */
#include "bench/process.h"

#include <dirent.h>

enum { ROUNDS = 3, PIPE_BYTES = 1 << 20, KEPT_BYTES = 1 << 20 };

static const char *dir, *cairn;
static char store_path[4200], self[4096];

/* ---- The writer ---- */

static int write_output(size_t chunk, unsigned long mib)
{
    char *bytes = bench_memory(chunk, 1);
    uint64_t left = (uint64_t)mib << 20;
    for (size_t i = 0; i < chunk; i++)
        bytes[i] = (char)(i % 80 == 79 ? '\n' : 'a' + i % 26);
    while (left) {
        ssize_t n = write(1, bytes, left < chunk ? (size_t)left : chunk);
        if (n < 0)
            return 1;
        left -= (uint64_t)n;
    }
    free(bytes);
    return 0;
}

static pid_t start_writer(size_t chunk, unsigned long mib, int out)
{
    char chunk_text[32], mib_text[32];
    const char *const argv[] = {self, "--write", chunk_text, mib_text, NULL};
    snprintf(chunk_text, sizeof chunk_text, "%zu", chunk);
    snprintf(mib_text, sizeof mib_text, "%lu", mib);
    return bench_start(argv, out);
}

static double mib_per_s(unsigned long mib, int64_t began)
{
    return (double)mib / ((double)(bench_now() - began) / 1e9);
}

/* ---- Into a file, into a pipe ---- */

static double into_file(size_t chunk, unsigned long mib)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/plain", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        bench_fail(path, strerror(errno));
    int64_t began = bench_now();
    bench_wait(start_writer(chunk, mib, fd), "writer");
    double rate = mib_per_s(mib, began);
    close(fd);
    remove(path);
    return rate;
}

static double into_pipe(size_t chunk, unsigned long mib)
{
    int ends[2];
    char *bytes = bench_memory(PIPE_BYTES, 1);
    uint64_t got = 0;
    ssize_t n;
    if (pipe2(ends, O_CLOEXEC))
        bench_fail("pipe", strerror(errno));
    int64_t began = bench_now();
    pid_t pid = start_writer(chunk, mib, ends[1]);
    close(ends[1]);
    while ((n = read(ends[0], bytes, PIPE_BYTES)) > 0)
        got += (uint64_t)n;
    bench_wait(pid, "writer");
    double rate = mib_per_s(mib, began);
    close(ends[0]);
    free(bytes);
    if (got != (uint64_t)mib << 20)
        bench_fail("pipe", "something is missing");
    return rate;
}

/* ---- As a task ---- */

static void write_workflow(const char *path, size_t chunk, unsigned long mib,
                           bool secret)
{
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail(path, strerror(errno));
    fputs("name: output\n", file);
    if (secret)
        fputs("secrets: [BENCH_SECRET]\n", file);
    fprintf(file, "tasks:\n  writer:\n    exec: ['%s', --write, '%zu', '%lu']\n", self,
            chunk, mib);
    if (secret)
        fputs("    secrets: [BENCH_SECRET]\n", file);
    if (fclose(file))
        bench_fail(path, strerror(errno));
}

static double disk_mib_of(const char *path)
{
    struct dirent *entry;
    DIR *open_dir = opendir(path);
    double mib = 0;
    while (open_dir && (entry = readdir(open_dir))) {
        struct stat st;
        if (!fstatat(dirfd(open_dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
            S_ISREG(st.st_mode))
            mib += (double)st.st_blocks / 2048;
    }
    if (open_dir)
        closedir(open_dir);
    return mib;
}

static void wait_and_look(pid_t pid, double *disk_mib)
{
    char live[4300];
    siginfo_t info = {0};
    const struct timespec pause = {0, 5000000};
    snprintf(live, sizeof live, "%s/live", store_path);
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           info.si_pid == 0) {
        double mib = disk_mib_of(live) + disk_mib_of(store_path);
        if (mib > *disk_mib)
            *disk_mib = mib;
        nanosleep(&pause, NULL);
    }
    bench_wait(pid, "cairn run");
}

/* Head and tail are there, and cairn knows what was written in all. */
static int check_one(void *context, const struct cairn_attempt_info *info)
{
    *(uint64_t *)context = info->stdout_bytes;
    return 0;
}

static int add_bytes(void *context, const char *bytes, size_t n, uint64_t gap)
{
    uint64_t *kept = context;
    (void)bytes;
    *kept += n;
    kept[1] += gap;
    return 0;
}

static void check_kept(unsigned long mib)
{
    uint64_t written = 0, kept[2] = {0, 0};
    struct cairn_error error;
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    bench_check(cairn_attempts(store, 0, "writer", check_one, &written, &error),
                "attempts", &error);
    bench_check(cairn_output(store, 0, "writer", 0, 1, add_bytes, kept, &error),
                "output", &error);
    cairn_store_close(store);
    if (written != (uint64_t)mib << 20 || kept[0] + kept[1] != written ||
        (written >= KEPT_BYTES && kept[0] != KEPT_BYTES))
        bench_fail("output", "not what was to be kept");
}

static double as_task(size_t chunk, unsigned long mib, bool secret, double *disk_mib)
{
    char path[4200];
    const char *const argv[] = {cairn,      "run", "--quiet", "--store",
                                store_path, path,  NULL};
    snprintf(path, sizeof path, "%s/output.yaml", dir);
    write_workflow(path, chunk, mib, secret);
    int64_t began = bench_now();
    wait_and_look(bench_start(argv, -1), disk_mib);
    double rate = mib_per_s(mib, began);
    check_kept(mib);
    remove_tree(store_path);
    return rate;
}

/* ---- The whole ---- */

static void print_one(size_t chunk, const char *what, struct bench_samples *samples,
                      const char *unit)
{
    char name[64];
    snprintf(name, sizeof name, "output.%zu.%s", chunk, what);
    bench_figure(name, samples, unit);
}

static void print_ratio(size_t chunk, const char *what, double value, const char *unit)
{
    struct bench_samples one = {0};
    bench_add(&one, value);
    print_one(chunk, what, &one, unit);
}

static void measure_output(size_t chunk, unsigned long mib)
{
    unsigned long less = mib < 4 ? mib : mib / 4;
    double disk_mib = 0, other = 0;
    struct bench_samples file = {0}, piped = {0}, task = {0}, redacted = {0};
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&file, into_file(chunk, mib));
        bench_add(&task, as_task(chunk, mib, false, &disk_mib));
        bench_add(&piped, into_pipe(chunk, mib));
        bench_add(&redacted, as_task(chunk, less, true, &other));
    }
    double of_file = bench_quantile(&task, 0.5) / bench_quantile(&file, 0.5),
           of_pipe = bench_quantile(&task, 0.5) / bench_quantile(&piped, 0.5),
           cleaned = bench_quantile(&redacted, 0.5) / bench_quantile(&piped, 0.5);
    print_one(chunk, "file", &file, "MiB/s");
    print_one(chunk, "pipe", &piped, "MiB/s");
    print_one(chunk, "cairn", &task, "MiB/s");
    print_one(chunk, "redacted", &redacted, "MiB/s");
    print_ratio(chunk, "cairn/file", of_file, "of the file's rate");
    print_ratio(chunk, "cairn/pipe", of_pipe, "of the pipe's rate");
    print_ratio(chunk, "redacted/pipe", cleaned, "of the pipe's rate");
    print_ratio(chunk, "disk", disk_mib, "MiB at most");
}

int main(int argc, char **argv)
{
    static const size_t usual[] = {4096, 65536, 1048576};
    char title[96];
    if (argc == 4 && strcmp(argv[1], "--write") == 0)
        return write_output(bench_number(argv[2]), bench_number(argv[3]));
    cairn = bench_cairn(argc > 1 ? argv[1] : NULL);
    unsigned long mib = argc > 2 ? bench_number(argv[2]) : 1024;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        bench_fail("/proc/self/exe", strerror(errno));
    self[n] = 0;
    setenv("BENCH_SECRET", "never-in-this-output", 1);
    dir = bench_make_dir();
    snprintf(store_path, sizeof store_path, "%s/.cairn", dir);
    snprintf(title, sizeof title, "output: a task that writes %lu MiB", mib);
    bench_head(title);
    for (int i = 3; i < argc; i++)
        measure_output(bench_number(argv[i]), mib);
    for (size_t i = 0; argc < 4 && i < sizeof usual / sizeof usual[0]; i++)
        measure_output(usual[i], mib);
    remove_tree(dir);
    return 0;
}
