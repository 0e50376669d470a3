/* SPDX-License-Identifier: MIT */
/* From a thousand tasks to a million: does a step, a load, a byte cost the same?
 *
 *   sizes [TASKS...]      1000 10000 100000 1000000
 *
 * chain, wide: callbacks that do nothing, one ready at a time or 64, at sync level
 * normal, with everything kept; `time` from the first step to the end of the last one,
 * `whole` and `cpu` (of the processor) with beginning, end and closing; small runs are
 * repeated in one store up to 20,000 steps. foreach, written: reading and compiling a
 * workflow file of as many tasks, as one group, and one by one with a need each; beside
 * the latter, libyaml alone reads the same file. Every measurement has a process of its
 * own that holds nothing else, so its peak memory is that of the library; `run.memory`
 * is that of a run of the file, which is stopped at its first task. The small sizes are
 * measured before and after the large ones. */
#include "bench/process.h"

#include <sys/resource.h>
#include <yaml.h>

enum { GROUP = 64, PASSES = 3, LAYER = 100, SIZES_MOST = 16, STEPS_LEAST = 20000 };

struct steps {
    uint32_t n, called;
    bool wide;
    const char *dir;
    int64_t first, last;
};

/* What a process of its own tells. */
enum { STEP_US, STEP_CPU_US, STEP_BYTES, STEP_MIB, STEP_WHOLE_US, STEP_TOLD };
enum { LOAD_MS, LOAD_MIB, LOAD_FLOOR_MS, LOAD_RUN_MIB, LOAD_TOLD };

/* One size; [0] chain, [1] wide; [0] foreach, [1] written out. */
struct size {
    uint32_t n;
    char file[2][4200];
    struct bench_samples us[2], cpu_us[2], bytes[2], peak_mib[2], whole_us[2];
    struct bench_samples load_ms[2], load_mib[2], run_mib[2], floor_ms;
    /* medians, for the table and the ratios */
    double us_of[2], cpu_of[2], bytes_of[2], peak_of[2], whole_of[2], load_of[2],
        run_mib_of[2], floor_of;
};

static const char *const shapes[] = {"chain", "wide"}, *const forms[] = {"foreach",
                                                                         "written"};

/* ---- Steps ---- */

static enum cairn_outcome complete_step(void *context, struct cairn_attempt *attempt)
{
    struct steps *s = context;
    (void)attempt;
    if (s->called++ == 0)
        s->first = bench_now();
    return CAIRN_COMPLETED;
}

static void note_event(void *context, const struct cairn_event *event)
{
    struct steps *s = context;
    if (event->kind == CAIRN_EVENT_TASK_FINISHED)
        s->last = bench_now();
}

static double database_bytes(const char *dir)
{
    char path[4200];
    struct stat st;
    snprintf(path, sizeof path, "%s/.cairn/cairn.db", dir);
    return stat(path, &st) ? 0 : (double)st.st_size;
}

static double cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* One run; its nanoseconds of steps, and of the processor, are added. */
static void run_once(struct steps *s, struct cairn_store *store, uint32_t run,
                     double told[STEP_TOLD])
{
    char name[16];
    struct cairn_error error;
    struct cairn_run_result result;
    struct cairn_run_options options = {.start = CAIRN_START_FRESH,
                                        .jobs = s->wide ? GROUP : 1,
                                        .keep_all = true,
                                        .observe = note_event,
                                        .observe_context = s};
    snprintf(name, sizeof name, "sizes%u", run);
    struct cairn_workflow *w = bench_workflow(name, s->n, !s->wide, complete_step, s);
    s->called = 0;
    double cpu = cpu_us();
    int64_t began = bench_now();
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    told[STEP_WHOLE_US] += (double)(bench_now() - began) / 1e3;
    told[STEP_CPU_US] += cpu_us() - cpu;
    told[STEP_US] += (double)(s->last - s->first) / 1e3;
    cairn_workflow_free(w);
    if (s->called != s->n || result.completed != s->n)
        bench_fail("sizes", "not every task ran once");
}

/* Small ones run several times in the store, so that they have their share of what
 * happens now and then, as the transfer of the log. */
static void run_steps(struct steps *s)
{
    double told[STEP_TOLD] = {0};
    uint32_t runs = (STEPS_LEAST + s->n - 1) / s->n;
    double steps = (double)runs * s->n;
    cairn_store_close(bench_store(s->dir, CAIRN_SYNC_NORMAL));
    double empty = database_bytes(s->dir);
    struct cairn_store *store = bench_store(s->dir, CAIRN_SYNC_NORMAL);
    for (uint32_t i = 0; i < runs; i++)
        run_once(s, store, i, told);
    double cpu = cpu_us();
    int64_t began = bench_now();
    cairn_store_close(store); /* which transfers what is left of the log */
    told[STEP_CPU_US] = (told[STEP_CPU_US] + cpu_us() - cpu) / steps;
    told[STEP_WHOLE_US] =
        (told[STEP_WHOLE_US] + (double)(bench_now() - began) / 1e3) / steps;
    told[STEP_US] /= steps;
    told[STEP_BYTES] = (database_bytes(s->dir) - empty) / steps;
    told[STEP_MIB] = bench_peak_mib();
    bench_tell(told, STEP_TOLD);
}

static void measure_steps(const char *dir, struct size *size, bool wide)
{
    char path[4200], n[16];
    double told[STEP_TOLD];
    const char *const words[] = {"steps", n, wide ? "wide" : "chain", dir, NULL};
    snprintf(n, sizeof n, "%u", size->n);
    bench_apart(words, told, STEP_TOLD);
    bench_add(&size->us[wide], told[STEP_US]);
    bench_add(&size->cpu_us[wide], told[STEP_CPU_US]);
    bench_add(&size->bytes[wide], told[STEP_BYTES]);
    bench_add(&size->peak_mib[wide], told[STEP_MIB]);
    bench_add(&size->whole_us[wide], told[STEP_WHOLE_US]);
    snprintf(path, sizeof path, "%s/.cairn", dir);
    remove_tree(path);
}

/* ---- Loads ---- */

static void write_file(const char *path, uint32_t n, bool written)
{
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail(path, strerror(errno));
    fputs("name: sizes\ntasks:\n", file);
    if (!written)
        fprintf(file,
                "  t:\n    foreach: {i: {range: [1, %u]}}\n    exec: [/bin/true]\n", n);
    for (uint32_t i = 0; written && i < n; i++) {
        fprintf(file, "  t%u:\n", i);
        if (i >= LAYER)
            fprintf(file, "    needs: [t%u]\n", i - LAYER);
        fputs("    exec: [/bin/true]\n", file);
    }
    if (fclose(file))
        bench_fail(path, strerror(errno));
}

static double ms_since(int64_t began)
{
    return (double)(bench_now() - began) / 1e6;
}

/* Its parser alone: every event of the file, made and thrown away. */
static double libyaml_ms(const char *path)
{
    yaml_parser_t parser;
    yaml_event_t event;
    bool more = true;
    int64_t began = bench_now();
    FILE *file = fopen(path, "r");
    if (!file || !yaml_parser_initialize(&parser))
        bench_fail(path, "cannot be read");
    yaml_parser_set_input_file(&parser, file);
    while (more) {
        if (!yaml_parser_parse(&parser, &event))
            bench_fail(path, "is not YAML");
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    fclose(file);
    return ms_since(began);
}

static void stop_it(void *context, const struct cairn_event *event)
{
    if (event->kind == CAIRN_EVENT_TASK_STARTED)
        cairn_stop_request(context);
}

/* A run that is stopped at its first task: all that it holds for the others is there.
 */
static void begin_run(struct cairn_workflow *w, const char *dir)
{
    struct cairn_error error;
    struct cairn_run_result result;
    struct cairn_stop *stop;
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_OFF);
    bench_check(cairn_stop_new(&stop, &error), "stop", &error);
    struct cairn_run_options options = {.start = CAIRN_START_FRESH,
                                        .stop = stop,
                                        .observe = stop_it,
                                        .observe_context = stop};
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    cairn_stop_free(stop);
    cairn_store_close(store);
}

static void run_load(const char *file, uint32_t n, bool with_floor, const char *dir)
{
    double told[LOAD_TOLD];
    struct cairn_error error;
    struct cairn_workflow *w;
    int64_t began = bench_now();
    bench_check(cairn_workflow_load(&w, file, NULL, 0, &error), "load", &error);
    bench_check(cairn_workflow_compile(w, &error), "compile", &error);
    told[LOAD_MS] = ms_since(began);
    told[LOAD_MIB] = bench_peak_mib();
    if (cairn_workflow_tasks(w) != n)
        bench_fail("load", "not every task is there");
    begin_run(w, dir);
    told[LOAD_RUN_MIB] = bench_peak_mib();
    cairn_workflow_free(w);
    told[LOAD_FLOOR_MS] = with_floor ? libyaml_ms(file) : 0;
    bench_tell(told, LOAD_TOLD);
}

static void measure_load(const char *dir, struct size *size, bool written)
{
    char n[16], path[4200];
    double told[LOAD_TOLD];
    const char *const words[] = {"load", n,   forms[written], size->file[written],
                                 dir,    NULL};
    snprintf(n, sizeof n, "%u", size->n);
    bench_apart(words, told, LOAD_TOLD);
    bench_add(&size->load_ms[written], told[LOAD_MS]);
    bench_add(&size->load_mib[written], told[LOAD_MIB]);
    bench_add(&size->run_mib[written], told[LOAD_RUN_MIB]);
    if (written)
        bench_add(&size->floor_ms, told[LOAD_FLOOR_MS]);
    snprintf(path, sizeof path, "%s/.cairn", dir);
    remove_tree(path);
}

/* ---- Sizes ---- */

/* As often as it takes about the same time; the largest ones once, in the middle. */
static uint32_t rounds_for(uint32_t n, uint32_t pass)
{
    if (n > 300000)
        return pass == PASSES / 2;
    return n > 30000 ? 1 : 3;
}

static void measure_size(const char *dir, struct size *size, uint32_t pass)
{
    for (uint32_t i = 0; i < rounds_for(size->n, pass); i++)
        for (int k = 0; k < 2; k++) {
            measure_steps(dir, size, k);
            measure_load(dir, size, k);
        }
}

/* The median of the samples, which are printed and gone. */
static double print_median(const struct size *size, const char *what, const char *of,
                           struct bench_samples *samples, const char *unit)
{
    char name[64];
    double median = bench_quantile(samples, 0.5);
    snprintf(name, sizeof name, "sizes.%u.%s.%s", size->n, what, of);
    bench_figure(name, samples, unit);
    return median;
}

static void print_figures(struct size *s)
{
    for (int k = 0; k < 2; k++) {
        s->us_of[k] = print_median(s, shapes[k], "time", &s->us[k], "us/step");
        s->whole_of[k] =
            print_median(s, shapes[k], "whole", &s->whole_us[k], "us/step");
        s->cpu_of[k] = print_median(s, shapes[k], "cpu", &s->cpu_us[k], "us/step");
        s->bytes_of[k] =
            print_median(s, shapes[k], "bytes", &s->bytes[k], "bytes/step");
        s->peak_of[k] = print_median(s, shapes[k], "memory", &s->peak_mib[k], "MiB");
    }
    for (int k = 0; k < 2; k++) {
        s->load_of[k] = print_median(s, forms[k], "load", &s->load_ms[k], "ms");
        print_median(s, forms[k], "load.memory", &s->load_mib[k], "MiB");
        s->run_mib_of[k] =
            print_median(s, forms[k], "run.memory", &s->run_mib[k], "MiB");
    }
    s->floor_of =
        print_median(s, "written", "floor", &s->floor_ms, "ms, libyaml alone");
}

static void print_table(const struct size *sizes, uint32_t n)
{
    printf("# one line per size\n%-9s %8s %7s %8s %7s %8s %9s %8s %9s %8s %9s\n",
           "# tasks", "chain us", "bytes", "wide us", "bytes", "MiB", "foreach", "MiB",
           "written", "MiB", "libyaml");
    for (uint32_t i = 0; i < n; i++) {
        const struct size *s = &sizes[i];
        printf("%-9u %8.2f %7.1f %8.2f %7.1f %8.1f %9.2f %8.1f %9.2f %8.1f %9.2f\n",
               s->n, s->us_of[0], s->bytes_of[0], s->us_of[1], s->bytes_of[1],
               s->peak_of[1], s->load_of[0], s->run_mib_of[0], s->load_of[1],
               s->run_mib_of[1], s->floor_of);
    }
    fflush(stdout);
}

static void print_ratios(const struct size *first, const struct size *last)
{
    char name[64];
    double more = (double)last->n / first->n;
    for (int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "sizes.%s.time.last/first", shapes[k]);
        bench_value(name, last->us_of[k] / first->us_of[k], "ratio");
        snprintf(name, sizeof name, "sizes.%s.whole.last/first", shapes[k]);
        bench_value(name, last->whole_of[k] / first->whole_of[k], "ratio");
        snprintf(name, sizeof name, "sizes.%s.cpu.last/first", shapes[k]);
        bench_value(name, last->cpu_of[k] / first->cpu_of[k], "ratio");
        snprintf(name, sizeof name, "sizes.%s.bytes.last/first", shapes[k]);
        bench_value(name, last->bytes_of[k] / first->bytes_of[k], "ratio");
    }
    for (int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "sizes.%s.load.last/first", forms[k]);
        bench_value(name, last->load_of[k] / first->load_of[k] / more,
                    "ratio, per task");
    }
    bench_value("sizes.written.load/floor", last->load_of[1] / last->floor_of,
                "times libyaml alone");
}

static uint32_t take_sizes(int argc, char **argv, struct size *sizes)
{
    static const uint32_t usual[] = {1000, 10000, 100000, 1000000};
    uint32_t n = 0;
    if (argc - 1 > SIZES_MOST)
        bench_fail(argv[0], "too many sizes");
    for (int i = 1; i < argc; i++)
        sizes[n++].n = (uint32_t)bench_number(argv[i]);
    for (size_t i = 0; argc < 2 && i < sizeof usual / sizeof usual[0]; i++)
        sizes[n++].n = usual[i];
    for (uint32_t i = 0; i < n; i++)
        if (sizes[i].n < GROUP)
            bench_fail(argv[i + 1], "too few tasks");
    return n;
}

/* The process of one measurement: steps TASKS SHAPE DIR, load TASKS FORM FILE DIR. */
static int measure_in_process(char **argv)
{
    uint32_t n = (uint32_t)bench_number(argv[2]);
    struct steps steps = {.n = n, .wide = strcmp(argv[3], "wide") == 0, .dir = argv[4]};
    if (strcmp(argv[1], "steps") == 0)
        run_steps(&steps);
    else
        run_load(argv[4], n, strcmp(argv[3], "written") == 0, argv[5]);
    return 0;
}

int main(int argc, char **argv)
{
    static struct size sizes[SIZES_MOST];
    if ((argc == 5 && strcmp(argv[1], "steps") == 0) ||
        (argc == 6 && strcmp(argv[1], "load") == 0))
        return measure_in_process(argv);
    uint32_t n = take_sizes(argc, argv, sizes);
    const char *dir = bench_make_dir();
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            snprintf(sizes[i].file[k], sizeof sizes[i].file[k], "%s/%s-%u.yaml", dir,
                     forms[k], i);
            write_file(sizes[i].file[k], sizes[i].n, k);
        }
    for (uint32_t pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < n; i++)
            measure_size(dir, &sizes[i], pass);
    bench_head("sizes: steps and loads from small to large");
    for (uint32_t i = 0; i < n; i++)
        print_figures(&sizes[i]);
    print_table(sizes, n);
    print_ratios(&sizes[0], &sizes[n - 1]);
    remove_tree(dir);
    return 0;
}
