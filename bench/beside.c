/* SPDX-License-Identifier: MIT */
/* A run beside two debugging sessions in the same store.
 *
 *   beside [CAIRN [TASKS [ITEMS [ROUNDS]]]]      $BUILD/cairn 200 1000 7
 *
 * TASKS tasks of 20 ms each, two at a time, with full sync; alone, and while two
 * processes write to a session of ITEMS notes each: five changes and one checkpoint a
 * second, also with full sync. The rounds are interleaved, and every other one begins
 * with the sessions. ratio: the median with the sessions over the median alone. At the
 * end everything verifies, and the sessions have as many checkpoints as were made. */
#include "bench/process.h"

#include <signal.h>

enum { WRITERS = 2, CHANGES = 5 };

static struct cairn_error error;
static volatile sig_atomic_t stopped;

/* ---- A process that writes to its session ---- */

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static void pause_until(int64_t when)
{
    int64_t left = when - bench_now();
    struct timespec t = {left / 1000000000, left % 1000000000};
    if (left > 0 && !stopped)
        nanosleep(&t, NULL);
}

/* Tells how many checkpoints it has made. */
static int write_on(const char *dir, const char *session, unsigned long items)
{
    struct sigaction action = {.sa_handler = stop};
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    struct cairn_capture capture = {.message = "beside a run"};
    int64_t next = bench_now();
    double made = 0;
    char id[32], text[64];
    struct cairn_set set = {"text", text};
    sigaction(SIGTERM, &action, NULL);
    for (unsigned long n = 0; !stopped; n++) {
        snprintf(id, sizeof id, "n%lu", n * 37 % items + 1);
        snprintf(text, sizeof text, "changed as number %lu by process %d", n,
                 (int)getpid());
        bench_check(cairn_item_set(store, session, id, &set, 1, NULL, &error), "change",
                    &error);
        if (n % CHANGES == CHANGES - 1) {
            bench_check(
                cairn_session_checkpoint(store, session, &capture, NULL, &error),
                "checkpoint", &error);
            made++;
        }
        next += 1000000000 / CHANGES;
        pause_until(next);
    }
    cairn_store_close(store);
    bench_tell(&made, 1);
    return 0;
}

struct writer {
    pid_t pid;
    FILE *told;
};

static void start_writer(struct writer *writer, const char *dir, int number,
                         unsigned long items)
{
    char session[16], count[24];
    int ends[2];
    const char *argv[] = {"/proc/self/exe", "write", dir, session, count, NULL};
    snprintf(session, sizeof session, "s%d", number);
    snprintf(count, sizeof count, "%lu", items);
    if (pipe2(ends, O_CLOEXEC))
        bench_fail("pipe", strerror(errno));
    writer->pid = bench_start(argv, ends[1]);
    close(ends[1]);
    writer->told = fdopen(ends[0], "r");
}

static double end_writer(struct writer *writer)
{
    double made = 0;
    kill(writer->pid, SIGTERM);
    if (!writer->told || fscanf(writer->told, "%lf", &made) != 1)
        bench_fail("write", "told nothing");
    fclose(writer->told);
    bench_wait(writer->pid, "write");
    return made;
}

/* ---- The run ---- */

static void write_workflow(const char *path, unsigned long tasks)
{
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail(path, strerror(errno));
    fprintf(file,
            "name: beside\ntasks:\n  pause:\n    foreach: {n: {range: [1, %lu]}}\n"
            "    exec: [/bin/sleep, '0.02']\n",
            tasks);
    if (fclose(file))
        bench_fail(path, strerror(errno));
}

static void make_sessions(const char *dir, unsigned long items)
{
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_OFF);
    struct cairn_set set = {"text", "a note of a session beside a run, of some length"};
    char name[16];
    for (int i = 0; i < WRITERS; i++) {
        snprintf(name, sizeof name, "s%d", i);
        bench_check(cairn_session_start(store, name, false, NULL, &error), "start",
                    &error);
        for (unsigned long n = 0; n < items; n++)
            bench_check(cairn_item_add(store, name, "note", &set, 1, NULL, &error),
                        "add", &error);
    }
    cairn_store_close(store);
}

static double run_beside(const char *const *argv, const char *dir, unsigned long items,
                         double *made)
{
    struct writer writers[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        start_writer(&writers[i], dir, i, items);
    usleep(300000); /* until they are at it */
    double ms = bench_command_ms(argv);
    for (int i = 0; i < WRITERS; i++)
        *made += end_writer(&writers[i]);
    return ms;
}

static void check_all(const char *dir, double made)
{
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_OFF);
    struct cairn_session_info info;
    double found = 0;
    char name[16];
    for (int i = 0; i < WRITERS; i++) {
        snprintf(name, sizeof name, "s%d", i);
        bench_check(cairn_session_get(store, name, &info, &error), "session", &error);
        found += (double)info.checkpoints;
    }
    if (found < made || found > made)
        bench_fail("beside", "checkpoints were lost, or made twice");
    bench_check(cairn_checkpoint_verify(store, NULL, NULL, NULL,
                                        &(struct cairn_verify_result){0}, &error),
                "verify", &error);
    cairn_store_close(store);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "write") == 0)
        return write_on(argv[2], argv[3], bench_number(argv[4]));
    const char *cairn = bench_cairn(argc > 1 ? argv[1] : NULL);
    unsigned long tasks = argc > 2 ? bench_number(argv[2]) : 200,
                  items = argc > 3 ? bench_number(argv[3]) : 1000,
                  rounds = argc > 4 ? bench_number(argv[4]) : 7;
    const char *dir = bench_make_dir();
    char file[4200], store[4200];
    struct bench_samples alone = {0}, beside = {0};
    double made = 0;
    snprintf(file, sizeof file, "%s/beside.yaml", dir);
    snprintf(store, sizeof store, "%s/.cairn", dir);
    const char *const run[] = {cairn,     "run", "-j2", "--quiet", "--fresh",
                               "--store", store, file,  NULL};
    write_workflow(file, tasks);
    make_sessions(dir, items);
    bench_command_ms(run);
    for (unsigned long i = 0; i < rounds; i++) {
        if (i % 2)
            bench_add(&beside, run_beside(run, dir, items, &made));
        bench_add(&alone, bench_command_ms(run));
        if (i % 2 == 0)
            bench_add(&beside, run_beside(run, dir, items, &made));
    }
    double ratio = bench_quantile(&beside, 0.5) / bench_quantile(&alone, 0.5);
    check_all(dir, made);
    bench_head("beside: a run, and two sessions that write to the same store");
    bench_figure("beside.alone", &alone, "ms");
    bench_figure("beside.with-sessions", &beside, "ms");
    bench_value("beside.ratio", ratio, "of the medians");
    remove_tree(dir);
    return 0;
}
