/* SPDX-License-Identifier: MIT */
/* Resuming: how long until it is known what is left?
 *
 *   resume [CAIRN [TASKS...]]      $BUILD/cairn 10000 1000000 back
 *
 * finished: all tasks have completed. half: every second one has, the others run. Both
 * are recorded through the checkpoint service, so that no process has to run for it:
 * tasks of one foreach group, without outputs. files (up to 100,000 tasks): each has
 * really run and made the file that it declares, and the files are looked at, beside a
 * bare stat of each of them. reused (the same number): a new run of tasks with an input
 * and an output each, all of which an earlier run has done. put_back: a new run that puts
 * an output of 1 GiB back, beside cp; each with a sync after it. Measured in process (load: reading and compiling the file;
 * plan: cairn_plan; run: cairn_run; first: cairn_run until it starts a task) and as the
 * command `cairn resume` or `cairn plan`, each with a store that was just opened. */
#include "bench/process.h"

enum { ROUNDS = 5, LOOKS = 25, OUTPUTS_MOST = 100000 };

static const char *dir, *cairn;
static char file[4200], store_path[4200];

static void write_workflow(unsigned long n, const char *rest)
{
    snprintf(file, sizeof file, "%s/resume.yaml", dir);
    FILE *out = fopen(file, "w");
    if (!out)
        bench_fail(file, strerror(errno));
    fprintf(out,
            "name: resume\ntasks:\n  nothing:\n    foreach: {n: {range: [1, %lu]}}\n%s",
            n, rest);
    if (fclose(out))
        bench_fail(file, strerror(errno));
}

static void begin_place(void)
{
    dir = bench_make_dir();
    snprintf(store_path, sizeof store_path, "%s/.cairn", dir);
}

static struct cairn_workflow *load_workflow(void)
{
    struct cairn_workflow *w;
    struct cairn_error error;
    bench_check(cairn_workflow_load(&w, file, NULL, 0, &error), "load", &error);
    bench_check(cairn_workflow_compile(w, &error), "compile", &error);
    return w;
}

/* Every `step`-th task has completed. */
static void record_run(uint32_t step)
{
    struct cairn_error error;
    struct cairn_recorder *recorder;
    struct cairn_workflow *w = load_workflow();
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    uint32_t n = (cairn_workflow_tasks(w) + step - 1) / step;
    struct cairn_change *changes = bench_memory(n, sizeof *changes);
    for (uint32_t i = 0; i < n; i++)
        changes[i] =
            (struct cairn_change){.task = i * step, .outcome = CAIRN_COMPLETED};
    bench_check(cairn_recorder_open(&recorder, w, store, &error), "recorder", &error);
    bench_check(cairn_recorder_save(recorder, changes, n, NULL, &error), "save",
                &error);
    bench_check(
        cairn_recorder_close(
            recorder, step == 1 ? CAIRN_RUN_COMPLETED : CAIRN_RUN_UNFINISHED, &error),
        "close", &error);
    free(changes);
    cairn_store_close(store);
    cairn_workflow_free(w);
}

static double ms_since(int64_t began)
{
    return (double)(bench_now() - began) / 1e6;
}

static void print_one(unsigned long n, const char *what, struct bench_samples *samples,
                      const char *unit)
{
    char name[64];
    snprintf(name, sizeof name, "resume.%lu.%s", n, what);
    bench_figure(name, samples, unit);
}

/* Milliseconds of cairn_plan, which must tell so many tasks. */
static double plan_ms(struct cairn_workflow *w, const struct cairn_run_options *options,
                      uint32_t will)
{
    struct cairn_error error;
    struct cairn_plan *plan;
    int64_t began = bench_now();
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    bench_check(cairn_plan(&plan, w, store, options, &error), "plan", &error);
    double ms = ms_since(began);
    if (cairn_plan_will(plan) != will)
        bench_fail("plan", "other tasks would run");
    cairn_plan_free(plan);
    cairn_store_close(store);
    return ms;
}

static double command_ms(const char *command, const char *option)
{
    const char *const words[] = {cairn,      command, "--quiet", "--store",
                                 store_path, option,  NULL};
    return bench_command_ms(words);
}

/* ---- Finished ---- */

static double nothing_ms(struct cairn_workflow *w)
{
    struct cairn_error error;
    struct cairn_run_result result;
    struct cairn_run_options options = {.start = CAIRN_START_RESUME};
    int64_t began = bench_now();
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    double ms = ms_since(began);
    if (!result.nothing_to_do)
        bench_fail("run", "there was something to do");
    cairn_store_close(store);
    return ms;
}

static void measure_finished(unsigned long n)
{
    struct cairn_run_options options = {.start = CAIRN_START_RESUME};
    struct bench_samples loads = {0}, plans = {0}, runs = {0}, commands = {0};
    begin_place();
    write_workflow(n, "    exec: [/bin/true]\n");
    record_run(1);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t began = bench_now();
        struct cairn_workflow *w = load_workflow();
        bench_add(&loads, ms_since(began));
        bench_add(&plans, plan_ms(w, &options, 0));
        bench_add(&runs, nothing_ms(w));
        cairn_workflow_free(w);
        bench_add(&commands, command_ms("resume", NULL));
    }
    print_one(n, "finished.load", &loads, "ms");
    print_one(n, "finished.plan", &plans, "ms");
    print_one(n, "finished.run", &runs, "ms");
    print_one(n, "finished.command", &commands, "ms");
    remove_tree(dir);
}

/* ---- Half-finished ---- */

struct first {
    struct cairn_stop *stop;
    int64_t at;
};

static void note_first(void *context, const struct cairn_event *event)
{
    struct first *first = context;
    if (event->kind != CAIRN_EVENT_TASK_STARTED || first->at)
        return;
    first->at = bench_now();
    cairn_stop_request(first->stop);
}

/* Until the first task starts; the run is stopped then. */
static double first_ms(struct cairn_workflow *w)
{
    struct cairn_error error;
    struct cairn_run_result result;
    struct first first = {0};
    bench_check(cairn_stop_new(&first.stop, &error), "stop", &error);
    struct cairn_run_options options = {.start = CAIRN_START_RESUME,
                                        .jobs = 1,
                                        .stop = first.stop,
                                        .observe = note_first,
                                        .observe_context = &first};
    int64_t began = bench_now();
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    cairn_store_close(store);
    cairn_stop_free(first.stop);
    if (!first.at)
        bench_fail("run", "no task was started");
    return (double)(first.at - began) / 1e6;
}

static void measure_half(unsigned long n)
{
    struct cairn_run_options options = {.start = CAIRN_START_RESUME};
    struct bench_samples plans = {0}, commands = {0}, firsts = {0};
    begin_place();
    write_workflow(n, "    exec: [/bin/true]\n");
    record_run(2);
    struct cairn_workflow *w = load_workflow();
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&plans, plan_ms(w, &options, (uint32_t)(n / 2)));
        bench_add(&commands, command_ms("plan", NULL));
    }
    bench_add(&firsts, first_ms(w)); /* once: it changes the run */
    cairn_workflow_free(w);
    print_one(n, "half.plan", &plans, "ms");
    print_one(n, "half.command", &commands, "ms, cairn plan");
    print_one(n, "half.first", &firsts, "ms to the first task");
    remove_tree(dir);
}

/* ---- Finished, with files to look at ---- */

static double stat_ms(const char *folder, unsigned long n)
{
    char path[4300];
    struct stat st;
    int64_t began = bench_now();
    for (unsigned long i = 1; i <= n; i++) {
        snprintf(path, sizeof path, "%s/%s/%lu", dir, folder, i);
        if (stat(path, &st))
            bench_fail(path, strerror(errno));
    }
    return ms_since(began);
}

static void make_folder(const char *folder)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/%s", dir, folder);
    if (mkdir(path, 0700))
        bench_fail(path, strerror(errno));
}

static double run_ms(const char *sync)
{
    const char *const words[] = {cairn,     "run",      "--quiet", sync,
                                 "--store", store_path, file,      NULL};
    return bench_command_ms(words);
}

static void make_outputs(unsigned long n)
{
    make_folder("out");
    write_workflow(n, "    exec: [touch, \"out/${{ n }}\"]\n"
                      "    outputs: [\"out/${{ n }}\"]\n");
    run_ms("--sync=off");
}

static void measure_outputs(unsigned long n)
{
    struct bench_samples stats = {0}, unseen = {0}, seen = {0}, ratio = {0},
                         there = {0}, read = {0}, commands = {0}, reading = {0};
    struct cairn_run_options blind = {.start = CAIRN_START_RESUME,
                                      .ignore_outputs = true},
                             changed = {.start = CAIRN_START_RESUME},
                             exist = {.start = CAIRN_START_RESUME,
                                      .check_outputs = CAIRN_OUTPUTS_EXIST},
                             content = {.start = CAIRN_START_RESUME,
                                        .check_outputs = CAIRN_OUTPUTS_CONTENT};
    begin_place();
    make_outputs(n);
    struct cairn_workflow *w = load_workflow();
    for (int i = 0; i < LOOKS; i++) {
        double floor = stat_ms("out", n), without = plan_ms(w, &blind, 0),
               with = plan_ms(w, &changed, 0);
        bench_add(&stats, floor);
        bench_add(&unseen, without);
        bench_add(&seen, with);
        bench_add(&ratio, (with - without) / floor);
    }
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&there, plan_ms(w, &exist, 0));
        bench_add(&read, plan_ms(w, &content, 0));
        bench_add(&commands, command_ms("resume", NULL));
        bench_add(&reading, command_ms("resume", "--check-outputs=content"));
    }
    cairn_workflow_free(w);
    print_one(n, "files.floor", &stats, "ms, a bare stat of each");
    print_one(n, "files.plan.unseen", &unseen, "ms, not looked at");
    print_one(n, "files.plan.changed", &seen, "ms");
    print_one(n, "files.plan.exist", &there, "ms");
    print_one(n, "files.plan.content", &read, "ms");
    print_one(n, "files.command.changed", &commands, "ms");
    print_one(n, "files.command.content", &reading, "ms");
    print_one(n, "files.changed/floor", &ratio, "looking over a bare stat of each");
    remove_tree(dir);
}

/* ---- A new run that reuses all ---- */

static void make_inputs(unsigned long n)
{
    char path[4300];
    make_folder("in");
    for (unsigned long i = 1; i <= n; i++) {
        snprintf(path, sizeof path, "%s/in/%lu", dir, i);
        FILE *out = fopen(path, "w");
        if (!out || fprintf(out, "%lu\n", i) < 0 || fclose(out))
            bench_fail(path, strerror(errno));
    }
}

static void measure_reused(unsigned long n)
{
    struct cairn_run_options fresh = {.start = CAIRN_START_FRESH};
    struct bench_samples stats = {0}, plans = {0}, commands = {0};
    begin_place();
    make_inputs(n);
    make_folder("out");
    write_workflow(n, "    exec: [cp, \"in/${{ n }}\", \"out/${{ n }}\"]\n"
                      "    inputs: [\"in/${{ n }}\"]\n"
                      "    outputs: [\"out/${{ n }}\"]\n"
                      "    reuse: true\n");
    run_ms("--sync=off");
    struct cairn_workflow *w = load_workflow();
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&stats, stat_ms("in", n) + stat_ms("out", n));
        bench_add(&plans, plan_ms(w, &fresh, 0));
        bench_add(&commands, run_ms("--sync=full"));
    }
    cairn_workflow_free(w);
    print_one(n, "reused.floor", &stats, "ms, a bare stat of each file");
    print_one(n, "reused.plan", &plans, "ms");
    print_one(n, "reused.command", &commands, "ms, cairn run");
    remove_tree(dir);
}

/* ---- One output that is put back ---- */

static void write_source(uint64_t bytes)
{
    enum { PART = 1 << 16 };
    static uint64_t part[PART / sizeof(uint64_t)];
    uint64_t state = 1;
    char path[4300];
    snprintf(path, sizeof path, "%s/src", dir);
    FILE *out = fopen(path, "w");
    for (; out && bytes; bytes -= PART) {
        for (size_t i = 0; i < PART / sizeof *part; i++) /* xorshift64 */
            part[i] = state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        if (fwrite(part, PART, 1, out) != 1)
            break;
    }
    if (!out || fclose(out) || bytes)
        bench_fail(path, strerror(errno));
}

static double synced_ms(const char *const *words)
{
    sync();
    int64_t began = bench_now();
    bench_command_ms(words);
    sync();
    return ms_since(began);
}

static void measure_put_back(void)
{
    enum { TRIES = 3 };
    const uint64_t bytes = 1 << 30;
    struct bench_samples copies = {0}, commands = {0}, ratios = {0};
    char src[4300], out[4300];
    begin_place();
    write_source(bytes);
    snprintf(src, sizeof src, "%s/src", dir);
    snprintf(out, sizeof out, "%s/out", dir);
    snprintf(file, sizeof file, "%s/resume.yaml", dir);
    FILE *f = fopen(file, "w");
    if (!f ||
        fputs("name: back\ntasks:\n"
              "  a: {exec: [cp, src, out], outputs: out, reuse: {keep: 1h}}\n",
              f) < 0 ||
        fclose(f))
        bench_fail(file, strerror(errno));
    const char *const copy[] = {"cp", src, out, NULL};
    const char *const command[] = {cairn,     "run",      "--quiet", "--fresh",
                                   "--store", store_path, file,      NULL};
    bench_command_ms(command);
    for (int i = 0; i < TRIES; i++) {
        unlink(out);
        double cp = synced_ms(copy);
        unlink(out);
        double run = synced_ms(command);
        bench_add(&copies, cp);
        bench_add(&commands, run);
        bench_add(&ratios, cp / run);
    }
    bench_figure("resume.put_back.cp", &copies, "ms, cp of 1 GiB");
    bench_figure("resume.put_back.command", &commands, "ms, cairn run");
    bench_figure("resume.put_back.cp/command", &ratios, "of the speed of cp");
    remove_tree(dir);
}

/* ---- The whole ---- */

static void measure_resume(unsigned long n)
{
    measure_finished(n);
    measure_half(n);
    if (n <= OUTPUTS_MOST) {
        measure_outputs(n);
        measure_reused(n);
    }
}

int main(int argc, char **argv)
{
    cairn = bench_cairn(argc > 1 ? argv[1] : NULL);
    bench_head("resume: a finished run, a half-finished one, one with files");
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "back") == 0)
            measure_put_back();
        else
            measure_resume(bench_number(argv[i]));
    if (argc < 3) {
        measure_resume(10000);
        measure_resume(1000000);
        measure_put_back();
    }
    return 0;
}
