/* Steps in process: is the cost of one the same at the end of a long run as at its
 * start?
 *
 *   steps [TASKS [chain|wide [full|normal|off]]]      100000, both shapes, full
 *
 * A graph of callbacks that do nothing runs against a real store, is stopped in the
 * middle, and goes on after the store was closed and opened again. chain: each task
 * needs the one before it, and one step is ready at a time. wide: all are ready, 64 at
 * once. */
#include "bench.h"

#include <sys/resource.h>

enum { TENTHS = 10, GROUP = 64 };

struct steps {
    uint32_t n, half;
    bool wide;
    enum cairn_sync sync;
    const char *dir;
    struct cairn_stop *stop;
    uint32_t called, first_half; /* steps begun; of these before the stop */
    int64_t *begun;              /* [n] when the i-th step began */
    int64_t ended[2];            /* last step of each half */
    int64_t bytes[TENTHS + 1];   /* of the database when a tenth began */
};

static int64_t store_bytes(const char *dir)
{
    char path[4200];
    struct stat st;
    snprintf(path, sizeof path, "%s/.cairn/cairn.db", dir);
    return stat(path, &st) ? 0 : (int64_t)st.st_size;
}

static enum cairn_outcome step(void *context, struct cairn_attempt *attempt)
{
    struct steps *s = context;
    (void)attempt;
    if (s->called == s->n)
        bench_fail("steps", "a task ran twice");
    for (uint32_t t = 0; t < TENTHS; t++)
        if (s->called == (uint64_t)s->n * t / TENTHS)
            s->bytes[t] = store_bytes(s->dir);
    s->begun[s->called++] = bench_now();
    if (s->called == s->half)
        cairn_stop_request(s->stop);
    return CAIRN_COMPLETED;
}

static void observe(void *context, const struct cairn_event *event)
{
    struct steps *s = context;
    if (event->kind == CAIRN_EVENT_TASK_FINISHED)
        s->ended[s->first_half > 0] = bench_now();
}

static struct cairn_workflow *build(struct steps *s)
{
    struct cairn_workflow *w;
    struct cairn_error error;
    char id[16], before[16];
    const char *needs[] = {before, NULL};
    bench_check(cairn_workflow_new(&w, "steps", &error), "workflow", &error);
    for (uint32_t i = 0; i < s->n; i++) {
        snprintf(id, sizeof id, "t%u", i);
        struct cairn_task task = {.id = id, .call = step, .context = s};
        if (i && !s->wide)
            task.needs = needs;
        bench_check(cairn_workflow_add(w, &task, &error), "task", &error);
        memcpy(before, id, sizeof before);
    }
    bench_check(cairn_workflow_compile(w, &error), "compile", &error);
    return w;
}

static void run_half(struct steps *s, enum cairn_start start, const char *name)
{
    struct cairn_error error;
    struct cairn_run_result result;
    struct cairn_workflow *w = build(s);
    struct cairn_store *store = bench_store(s->dir, s->sync);
    struct cairn_run_options options = {.start = start,
                                        .jobs = s->wide ? GROUP : 1,
                                        .keep_all = true,
                                        .stop = s->stop,
                                        .observe = observe,
                                        .observe_context = s};
    uint32_t before = s->called;
    int64_t began = bench_now();
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    bench_value(name, (double)(s->begun[before] - began) / 1e6, "ms to the first step");
    cairn_store_close(store);
    cairn_workflow_free(w);
}

/* How long the i-th step took, until the next began or the half was over. */
static double step_us(const struct steps *s, uint32_t i)
{
    int64_t end = i + 1 == s->first_half ? s->ended[0]
                  : i + 1 == s->n        ? s->ended[1]
                                         : s->begun[i + 1];
    return (double)(end - s->begun[i]) / 1e3;
}

static double tenth_us(const struct steps *s, uint32_t tenth, uint32_t *count)
{
    double sum = 0;
    uint32_t first = (uint32_t)((uint64_t)s->n * tenth / TENTHS);
    uint32_t last = (uint32_t)((uint64_t)s->n * (tenth + 1) / TENTHS);
    for (uint32_t i = first; i < last; i++)
        sum += step_us(s, i);
    *count = last - first;
    return sum / *count;
}

static void print_tenths(struct steps *s, const char *shape)
{
    double us[TENTHS], bytes[TENTHS];
    char name[64];
    printf("# %s by tenths of the run\n%-8s %8s %12s %12s\n", shape, "# tenth", "steps",
           "us/step", "bytes/step");
    for (uint32_t t = 0; t < TENTHS; t++) {
        uint32_t count;
        us[t] = tenth_us(s, t, &count);
        bytes[t] = (double)(s->bytes[t + 1] - s->bytes[t]) / count;
        printf("%-8u %8u %12.2f %12.1f\n", t + 1, count, us[t], bytes[t]);
    }
    snprintf(name, sizeof name, "steps.%s.time.last/first", shape);
    bench_value(name, us[TENTHS - 1] / us[0], "ratio");
    snprintf(name, sizeof name, "steps.%s.bytes.last/first", shape);
    bench_value(name, bytes[TENTHS - 1] / bytes[0], "ratio");
    snprintf(name, sizeof name, "steps.%s.bytes", shape);
    bench_value(name, (double)s->bytes[TENTHS] / s->n, "bytes/step");
}

/* Wide steps come in bursts between commits: a sample is the mean of 64 of them. */
static void print_steps(const struct steps *s, const char *shape)
{
    struct bench_samples samples = {0};
    uint32_t group = s->wide ? GROUP : 1;
    char name[64];
    for (uint32_t i = 0; i + group <= s->n; i += group) {
        double sum = 0;
        for (uint32_t j = 0; j < group; j++)
            sum += step_us(s, i + j);
        bench_add(&samples, sum / group);
    }
    snprintf(name, sizeof name, "steps.%s", shape);
    bench_figure(name, &samples, "us/step");
}

static void measure(uint32_t n, bool wide, enum cairn_sync sync)
{
    struct cairn_error error;
    struct rusage usage;
    const char *shape = wide ? "wide" : "chain";
    struct steps s = {.n = n, .half = n / 2, .wide = wide, .sync = sync};
    char title[64], name[64];
    s.dir = bench_make_dir();
    s.begun = bench_memory(n, sizeof *s.begun);
    snprintf(title, sizeof title, "steps: %u callbacks, %s", n, shape);
    bench_head(title);
    bench_check(cairn_stop_new(&s.stop, &error), "stop", &error);
    snprintf(name, sizeof name, "steps.%s.start", shape);
    run_half(&s, CAIRN_START_FRESH, name);
    cairn_stop_free(s.stop);
    s.stop = NULL;
    s.first_half = s.called;
    s.half = 0;
    snprintf(name, sizeof name, "steps.%s.resume", shape);
    run_half(&s, CAIRN_START_RESUME, name);
    if (s.called != n)
        bench_fail("steps", "not every task ran");
    s.bytes[TENTHS] = store_bytes(s.dir);
    print_steps(&s, shape);
    print_tenths(&s, shape);
    getrusage(RUSAGE_SELF, &usage);
    snprintf(name, sizeof name, "steps.%s.memory", shape);
    bench_value(name, (double)usage.ru_maxrss / 1024, "MiB at most so far");
    free(s.begun);
    bench_remove(s.dir);
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)bench_number(argv[1]) : 100000;
    enum cairn_sync sync = CAIRN_SYNC_FULL;
    if (n < 2 * TENTHS)
        bench_fail(argv[1], "too few tasks for tenths");
    if (argc > 3)
        sync = strcmp(argv[3], "off") == 0      ? CAIRN_SYNC_OFF
               : strcmp(argv[3], "normal") == 0 ? CAIRN_SYNC_NORMAL
                                                : CAIRN_SYNC_FULL;
    if (argc < 3 || strcmp(argv[2], "chain") == 0)
        measure(n, false, sync);
    if (argc < 3 || strcmp(argv[2], "wide") == 0)
        measure(n, true, sync);
    return 0;
}
