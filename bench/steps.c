/* SPDX-License-Identifier: MIT */
/* Steps in process: is the cost of one the same at the end of a long run as at its
 * start?
 *
 *   steps [TASKS [chain|wide|both [full|normal|off]]]      100000 both normal
 *
 * A graph of callbacks that do nothing runs against a real store. After every tenth it
 * is stopped, the store is closed and opened, and the run goes on: so the size of the
 * store is known to the byte, and resuming is measured too. chain: each task needs the
 * one before it, and one step is ready at a time. wide: all are ready, 64 at once. */
#include "bench.h"

#include <sys/resource.h>

enum { TENTHS = 10, GROUP = 64 };

struct part {
    uint32_t first, count; /* steps */
    int64_t ended;
    int64_t bytes; /* of the database afterwards */
    double start_ms;
};

struct steps {
    uint32_t n;
    bool wide;
    enum cairn_sync sync;
    const char *dir;
    struct cairn_stop *stop;
    uint32_t called, stop_at; /* steps begun, and how many it may be in this part */
    int64_t *begun;           /* [n] when the i-th step began */
    struct part part[TENTHS + 1];
    uint32_t parts;
};

static int64_t store_bytes(const char *dir)
{
    char path[4200];
    struct stat st;
    snprintf(path, sizeof path, "%s/.cairn/cairn.db", dir);
    return stat(path, &st) ? 0 : (int64_t)st.st_size;
}

static enum cairn_outcome complete_step(void *context, struct cairn_attempt *attempt)
{
    struct steps *s = context;
    (void)attempt;
    if (s->called == s->n)
        bench_fail("steps", "a task ran twice");
    s->begun[s->called++] = bench_now();
    if (s->called == s->stop_at)
        cairn_stop_request(s->stop);
    return CAIRN_COMPLETED;
}

static void note_event(void *context, const struct cairn_event *event)
{
    struct steps *s = context;
    if (event->kind == CAIRN_EVENT_TASK_FINISHED)
        s->part[s->parts].ended = bench_now();
}

static void run_part(struct steps *s)
{
    struct cairn_error error;
    struct cairn_run_result result;
    struct part *part = &s->part[s->parts];
    struct cairn_workflow *w =
        bench_workflow("steps", s->n, !s->wide, complete_step, s);
    bench_check(cairn_stop_new(&s->stop, &error), "stop", &error);
    struct cairn_run_options options = {.start = s->called ? CAIRN_START_RESUME
                                                           : CAIRN_START_FRESH,
                                        .jobs = s->wide ? GROUP : 1,
                                        .keep_all = true,
                                        .stop = s->stop,
                                        .observe = note_event,
                                        .observe_context = s};
    part->first = s->called;
    s->stop_at = (uint32_t)((uint64_t)s->n * (s->parts + 1) / TENTHS);
    int64_t began = bench_now();
    struct cairn_store *store = bench_store(s->dir, s->sync);
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    cairn_store_close(store);
    cairn_workflow_free(w);
    cairn_stop_free(s->stop);
    if (s->called == part->first)
        bench_fail("steps", "a part of the run made no step");
    part->start_ms = (double)(s->begun[part->first] - began) / 1e6;
    part->count = s->called - part->first;
    part->bytes = store_bytes(s->dir);
    s->parts++;
}

/* The first part begins with an empty store: its tables are not the steps'. */
static void print_parts(struct steps *s, int64_t empty, const char *shape)
{
    double us[TENTHS + 1], bytes[TENTHS + 1];
    char name[64];
    struct bench_samples starts = {0};
    printf("# %s by tenths of the run\n%-8s %8s %12s %12s\n", shape, "# tenth", "steps",
           "us/step", "bytes/step");
    for (uint32_t i = 0; i < s->parts; i++) {
        const struct part *p = &s->part[i];
        us[i] = (double)(p->ended - s->begun[p->first]) / 1e3 / p->count;
        bytes[i] = (double)(p->bytes - (i ? p[-1].bytes : empty)) / p->count;
        printf("%-8u %8u %12.2f %12.1f\n", i + 1, p->count, us[i], bytes[i]);
        if (i)
            bench_add(&starts, p->start_ms);
    }
    uint32_t last = s->parts - 1;
    snprintf(name, sizeof name, "steps.%s.time.last/first", shape);
    bench_value(name, us[last] / us[0], "ratio");
    snprintf(name, sizeof name, "steps.%s.bytes.last/first", shape);
    bench_value(name, bytes[last] / bytes[0], "ratio");
    snprintf(name, sizeof name, "steps.%s.bytes", shape);
    bench_value(name, (double)(s->part[last].bytes - empty) / s->n, "bytes/step");
    snprintf(name, sizeof name, "steps.%s.resume", shape);
    bench_figure(name, &starts, "ms to the first step");
}

/* Wide steps come in bursts of 128 between commits, 64 that run and 64 ahead: a sample
 * is the mean of so many. */
static void print_steps(const struct steps *s, const char *shape)
{
    struct bench_samples samples = {0};
    uint32_t group = s->wide ? 2 * GROUP : 1;
    char name[64];
    for (uint32_t i = 0; i < s->parts; i++) {
        const int64_t *begun = s->begun + s->part[i].first;
        for (uint32_t j = 0; j + group < s->part[i].count; j += group)
            bench_add(&samples, (double)(begun[j + group] - begun[j]) / 1e3 / group);
    }
    snprintf(name, sizeof name, "steps.%s", shape);
    bench_figure(name, &samples, "us/step");
}

static void measure_steps(uint32_t n, bool wide, enum cairn_sync sync)
{
    struct rusage usage;
    const char *shape = wide ? "wide" : "chain";
    struct steps s = {.n = n, .wide = wide, .sync = sync};
    char title[64], name[64];
    s.dir = bench_make_dir();
    s.begun = bench_memory(n, sizeof *s.begun);
    snprintf(title, sizeof title, "steps: %u callbacks, %s", n, shape);
    bench_head(title);
    cairn_store_close(bench_store(s.dir, sync));
    int64_t empty = store_bytes(s.dir);
    while (s.called < n && s.parts <= TENTHS)
        run_part(&s);
    if (s.called != n)
        bench_fail("steps", "not every task ran");
    print_steps(&s, shape);
    print_parts(&s, empty, shape);
    getrusage(RUSAGE_SELF, &usage);
    snprintf(name, sizeof name, "steps.%s.memory", shape);
    bench_value(name, (double)usage.ru_maxrss / 1024, "MiB at most so far");
    free(s.begun);
    remove_tree(s.dir);
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)bench_number(argv[1]) : 100000;
    const char *shape = argc > 2 ? argv[2] : "both";
    enum cairn_sync sync = CAIRN_SYNC_NORMAL;
    if (n < TENTHS * GROUP)
        bench_fail(argv[1], "too few tasks for tenths");
    if (argc > 3)
        sync = strcmp(argv[3], "off") == 0    ? CAIRN_SYNC_OFF
               : strcmp(argv[3], "full") == 0 ? CAIRN_SYNC_FULL
                                              : CAIRN_SYNC_NORMAL;
    if (strcmp(shape, "wide") != 0)
        measure_steps(n, false, sync);
    if (strcmp(shape, "chain") != 0)
        measure_steps(n, true, sync);
    return 0;
}
