/* SPDX-License-Identifier: MIT */
/* Weeks of a store, in a hurry: does its size stay bounded by what is kept, and a step
 * as cheap as on the first day?
 *
 *   month [RUNS [TASKS [KEEP]]]        144 2000 48;  month 720 10000: a month of
 *                                      10,000 tasks an hour
 *
 * Every hour a run of callbacks that write nothing, in a store that is opened for it
 * and closed after it; each run keeps its last 50 checkpoints. Every 24 hours, `cairn
 * gc
 * --keep-runs KEEP`. At sync level off, so that the disk waits for nobody. A line for
 * each day: the database and the largest write-ahead log, a step by the clock and by
 * the processor, what the questions `status` and `runs` take (open, ask, close), and
 * the collection with the longest of its transactions. */
#include "bench.h"

#include <sys/resource.h>

enum { DAY = 24 };

struct day {
    double db_mib, wal_mib, us, cpu_us, status_ms, runs_ms, gc_ms, slice_ms;
    uint64_t runs;
};

static const char *dir;

static double file_mib(const char *name)
{
    char path[4200];
    struct stat st;
    snprintf(path, sizeof path, "%s/.cairn/%s", dir, name);
    return stat(path, &st) ? 0 : (double)st.st_size / (1 << 20);
}

static enum cairn_outcome complete_step(void *context, struct cairn_attempt *attempt)
{
    (void)attempt;
    ++*(uint32_t *)context;
    return CAIRN_COMPLETED;
}

static double ms_since(int64_t began)
{
    return (double)(bench_now() - began) / 1e6;
}

/* Milliseconds of the processor: on a busy machine they tell more than the clock. */
static double cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void run_hour(struct cairn_workflow *w, uint32_t tasks, uint32_t *called,
                     struct day *day)
{
    struct cairn_error error;
    struct cairn_run_result result;
    struct cairn_run_options options = {.start = CAIRN_START_FRESH, .jobs = 64};
    int64_t began = bench_now();
    double cpu = cpu_ms();
    *called = 0;
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_OFF);
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    double wal = file_mib("cairn.db-wal");
    cairn_store_close(store);
    day->us += ms_since(began) * 1e3 / DAY / tasks;
    day->cpu_us += (cpu_ms() - cpu) * 1e3 / DAY / tasks;
    if (*called != tasks || result.completed != tasks)
        bench_fail("run", "not every task ran once");
    if (wal > day->wal_mib)
        day->wal_mib = wal;
}

static struct cairn_store *open_reader(void)
{
    char path[4200];
    struct cairn_store *store;
    struct cairn_error error;
    snprintf(path, sizeof path, "%s/.cairn", dir);
    struct cairn_store_options options = {.path = path, .read_only = true};
    bench_check(cairn_store_open(&store, &options, &error), "store", &error);
    return store;
}

static int ignore_run(void *context, const struct cairn_run_info *info)
{
    (void)context;
    (void)info;
    return 0;
}

static void time_queries(struct day *day)
{
    struct cairn_error error;
    struct cairn_run_info info;
    const struct cairn_page page = {.limit = 10};
    int64_t began = bench_now();
    struct cairn_store *store = open_reader();
    bench_check(cairn_run_get(store, 0, &info, &error), "status", &error);
    cairn_store_close(store);
    day->status_ms = ms_since(began);
    began = bench_now();
    store = open_reader();
    bench_check(cairn_runs(store, NULL, &page, ignore_run, NULL, &day->runs, &error),
                "runs", &error);
    cairn_store_close(store);
    day->runs_ms = ms_since(began);
}

static void time_gc(uint32_t keep, struct day *day)
{
    struct cairn_error error;
    struct cairn_gc_result result;
    const struct cairn_gc_options options = {.keep_runs = keep};
    int64_t began = bench_now();
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_OFF);
    bench_check(cairn_gc(store, &options, &result, &error), "gc", &error);
    cairn_store_close(store);
    day->gc_ms = ms_since(began);
    day->slice_ms = (double)result.longest_us / 1e3;
}

static void print_day(uint32_t n, const struct day *d)
{
    printf("%-6u %6llu %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f %9.1f %9.1f\n", n + 1,
           (unsigned long long)d->runs, d->db_mib, d->wal_mib, d->us, d->cpu_us,
           d->status_ms, d->runs_ms, d->gc_ms, d->slice_ms);
    fflush(stdout);
}

/* From the first day on which as many runs were there as stay. */
static void print_ratios(const struct day *days, uint32_t n, uint32_t keep)
{
    uint32_t full = (keep + DAY - 1) / DAY; /* the day after which gc removes runs */
    const struct day *last = &days[n - 1];
    bench_head(
        "month: the last day over the first, and the size over that of the first "
        "full one");
    bench_value("month.time.last/first", last->us / days[0].us, "ratio");
    bench_value("month.cpu.last/first", last->cpu_us / days[0].cpu_us, "ratio");
    if (full < n)
        bench_value("month.size.last/full", last->db_mib / days[full].db_mib, "ratio");
    bench_value("month.size", last->db_mib, "MiB");
    bench_value("month.wal", last->wal_mib, "MiB at most on the last day");
    bench_value("month.status.last/first", last->status_ms / days[0].status_ms,
                "ratio");
}

int main(int argc, char **argv)
{
    uint32_t runs = argc > 1 ? (uint32_t)bench_number(argv[1]) : 144;
    uint32_t tasks = argc > 2 ? (uint32_t)bench_number(argv[2]) : 2000;
    uint32_t keep = argc > 3 ? (uint32_t)bench_number(argv[3]) : 48;
    uint32_t n = runs / DAY, called;
    if (n == 0)
        bench_fail(argv[1], "at least a day of 24 runs");
    struct day *days = bench_memory(n, sizeof *days);
    dir = bench_make_dir();
    struct cairn_workflow *w =
        bench_workflow("hourly", tasks, false, complete_step, &called);
    printf("# month: %u days of 24 runs of %u callbacks, %u runs kept\n", n, tasks,
           keep);
    printf("%-6s %6s %9s %9s %9s %9s %9s %9s %9s %9s\n", "# day", "runs", "db MiB",
           "wal MiB", "us/step", "cpu us", "status ms", "runs ms", "gc ms", "slice ms");
    for (uint32_t d = 0; d < n; d++) {
        for (int hour = 0; hour < DAY; hour++)
            run_hour(w, tasks, &called, &days[d]);
        time_gc(keep, &days[d]);
        time_queries(&days[d]);
        days[d].db_mib = file_mib("cairn.db");
        print_day(d, &days[d]);
    }
    print_ratios(days, n, keep);
    cairn_workflow_free(w);
    free(days);
    remove_tree(dir);
    return 0;
}
