/* SPDX-License-Identifier: MIT */
/* Members of one list: what does it cost to have so many?
 *
 *   lists [MEMBERS]      100000
 *
 * made.*: a task has made the list, as a value, the lines of a file or the rows of a
 * sheet of four columns, of which two are used. first: from its end until the first
 * member starts. static.*: the same members from a list that is there before: from the
 * call until the first member starts. cpu: time of the processor for the same. bytes: of
 * the store by then. peak: the most memory of the process. Each in a process of its
 * own. */
#include "bench/process.h"

#include <sys/resource.h>

enum { FIRST, CPU, BYTES, PEAK, FIGURES };

struct form {
    const char *name, *foreach, *make;
    bool made;
};
static const struct form forms[] = {
    {"static.lines", "{p: {lines: list}}", NULL, false},
    {"made.lines", "{p: {from: make, lines: list, max: 10000000}}", ":", true},
    {"made.value", "{p: {from: make, value: v, max: 10000000}}",
     "{ echo 'v<<E'; cat list; echo E; } >>\"$CAIRN_OUTPUT\"", true},
    {"static.csv", "{p: {csv: sheet}}", NULL, false},
    {"made.csv", "{p: {from: make, csv: sheet, max: 10000000}}", ":", true}};
enum { FORMS = sizeof forms / sizeof forms[0] };

static FILE *create(const char *dir, const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *out = fopen(path, "w");
    if (!out)
        bench_fail(path, strerror(errno));
    return out;
}

static void write_files(const char *dir, const struct form *form, unsigned long n)
{
    FILE *list = create(dir, "list"), *sheet = create(dir, "sheet"),
         *flow = create(dir, "flow.yaml");
    fprintf(sheet, "p,size,place,note\n");
    for (unsigned long i = 1; i <= n; i++) {
        fprintf(list, "%lu\n", i);
        fprintf(sheet, "%lu,%lu,at-%lu,nothing reads this\n", i, 7 * i, i);
    }
    fprintf(flow, "name: lists\ntasks:\n");
    if (form->make)
        fprintf(flow, "  make:\n    run: |\n      %s\n", form->make);
    fprintf(flow, "  member:\n    foreach: %s\n    exec: [/bin/true, \"%s\"]\n",
            form->foreach,
            strstr(form->foreach, "csv") ? "${{ size }} ${{ place }}" : "");
    if (fclose(list) || fclose(sheet) || fclose(flow))
        bench_fail(dir, strerror(errno));
}

static double cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

struct watch {
    struct cairn_stop *stop;
    int64_t from;
    double cpu, *told;
};

static void look(void *context, const struct cairn_event *event)
{
    struct watch *w = context;
    bool member = event->task && strncmp(event->task, "member", 6) == 0;
    if (event->kind == CAIRN_EVENT_TASK_FINISHED && !member) {
        w->from = bench_now();
        w->cpu = cpu_ms();
    }
    if (event->kind != CAIRN_EVENT_TASK_STARTED || !member || w->told[FIRST] > 0)
        return;
    w->told[FIRST] = (double)(bench_now() - w->from) / 1e6;
    w->told[CPU] = cpu_ms() - w->cpu;
    cairn_stop_request(w->stop);
}

static double store_bytes(const char *dir)
{
    char path[4200];
    struct stat st;
    snprintf(path, sizeof path, "%s/.cairn/cairn.db", dir);
    return stat(path, &st) ? 0 : (double)st.st_size;
}

/* In a process of its own. */
static void measure(const struct form *form, unsigned long n)
{
    char *dir = bench_make_dir(), file[4200];
    double told[FIGURES] = {0};
    struct cairn_error error;
    struct cairn_workflow *w;
    struct cairn_run_result result;
    struct watch watch = {.told = told};
    write_files(dir, form, n);
    snprintf(file, sizeof file, "%s/flow.yaml", dir);
    bench_check(cairn_stop_new(&watch.stop, &error), "stop", &error);
    struct cairn_run_options options = {
        .jobs = 1, .stop = watch.stop, .observe = look, .observe_context = &watch};
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_NORMAL);
    watch.from = bench_now();
    watch.cpu = cpu_ms();
    bench_check(cairn_workflow_load(&w, file, NULL, 0, &error), "load", &error);
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    cairn_workflow_free(w);
    cairn_stop_free(watch.stop);
    cairn_store_close(store);
    told[BYTES] = store_bytes(dir);
    told[PEAK] = bench_peak_mib();
    if (!(told[FIRST] > 0))
        bench_fail(form->name, "no member was started");
    bench_tell(told, FIGURES);
    remove_tree(dir);
}

static void print_figures(const struct form *form, const char *number, unsigned long n)
{
    enum { ROUNDS = 5 };
    static const char *const what[FIGURES] = {"first", "cpu", "bytes", "peak"};
    static const char *const units[FIGURES] = {"ms", "ms", "bytes/member", "MiB"};
    struct bench_samples samples[FIGURES] = {{0}};
    const char *const words[] = {form->name, number, NULL};
    for (int round = 0; round < ROUNDS; round++) {
        double told[FIGURES];
        bench_apart(words, told, FIGURES);
        told[BYTES] /= (double)n;
        for (int i = 0; i < FIGURES; i++)
            bench_add(&samples[i], told[i]);
    }
    for (int i = 0; i < FIGURES; i++) {
        char name[64];
        snprintf(name, sizeof name, "lists.%s.%s", form->name, what[i]);
        bench_figure(name, &samples[i], units[i]);
    }
}

int main(int argc, char **argv)
{
    for (int i = 0; i < FORMS && argc > 2; i++)
        if (strcmp(argv[1], forms[i].name) == 0) {
            measure(&forms[i], bench_number(argv[2]));
            return 0;
        }
    const char *number = argc > 1 ? argv[1] : "100000";
    unsigned long n = bench_number(number);
    char title[64];
    snprintf(title, sizeof title, "lists: %lu members", n);
    bench_head(title);
    for (int i = 0; i < FORMS; i++)
        print_figures(&forms[i], number, n);
    return 0;
}
