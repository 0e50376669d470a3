/* Resuming a run that is finished: how long until "nothing to do"?
 *
 *   resume [CAIRN [TASKS...]]      $BUILD/cairn 10000 1000000
 *
 * The finished run is recorded through the checkpoint service, so that no process has
 * to run for it: tasks of one foreach group, without outputs. Measured in process
 * (load: reading and compiling the file; plan: cairn_plan; run: cairn_run) and as the
 * command `cairn resume`, each with a store that was just opened. */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

enum { ROUNDS = 5 };

extern char **environ;

static const char *dir;
static char file[4200];

static void write_workflow(unsigned long n)
{
    snprintf(file, sizeof file, "%s/resume.yaml", dir);
    FILE *out = fopen(file, "w");
    if (!out)
        bench_fail(file, strerror(errno));
    fprintf(out,
            "name: resume\ntasks:\n  nothing:\n    foreach: {n: {range: [1, %lu]}}\n"
            "    exec: [/bin/true]\n",
            n);
    if (fclose(out))
        bench_fail(file, strerror(errno));
}

static struct cairn_workflow *load(void)
{
    struct cairn_workflow *w;
    struct cairn_error error;
    bench_check(cairn_workflow_load(&w, file, NULL, 0, &error), "load", &error);
    bench_check(cairn_workflow_compile(w, &error), "compile", &error);
    return w;
}

static void record_finished_run(void)
{
    struct cairn_error error;
    struct cairn_recorder *recorder;
    struct cairn_workflow *w = load();
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    uint32_t n = cairn_workflow_tasks(w);
    struct cairn_change *changes = bench_memory(n, sizeof *changes);
    for (uint32_t i = 0; i < n; i++)
        changes[i] = (struct cairn_change){.task = i, .outcome = CAIRN_COMPLETED};
    bench_check(cairn_recorder_open(&recorder, w, store, &error), "recorder", &error);
    bench_check(cairn_recorder_save(recorder, changes, n, NULL, &error), "save",
                &error);
    bench_check(cairn_recorder_close(recorder, CAIRN_RUN_COMPLETED, &error), "close",
                &error);
    free(changes);
    cairn_store_close(store);
    cairn_workflow_free(w);
}

static double ms_since(int64_t began)
{
    return (double)(bench_now() - began) / 1e6;
}

static void in_process(struct bench_samples *loads, struct bench_samples *plans,
                       struct bench_samples *runs)
{
    struct cairn_error error;
    struct cairn_plan *plan;
    struct cairn_run_result result;
    struct cairn_run_options options = {.start = CAIRN_START_RESUME};
    int64_t began = bench_now();
    struct cairn_workflow *w = load();
    bench_add(loads, ms_since(began));
    began = bench_now();
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    bench_check(cairn_plan(&plan, w, store, &options, &error), "plan", &error);
    bench_add(plans, ms_since(began));
    if (cairn_plan_will(plan))
        bench_fail("plan", "something would run");
    cairn_plan_free(plan);
    cairn_store_close(store);
    began = bench_now();
    store = bench_store(dir, CAIRN_SYNC_FULL);
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    bench_add(runs, ms_since(began));
    if (!result.nothing_to_do)
        bench_fail("run", "there was something to do");
    cairn_store_close(store);
    cairn_workflow_free(w);
}

static double command_ms(const char *cairn)
{
    char store[4200];
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    snprintf(store, sizeof store, "%s/.cairn", dir);
    const char *const argv[] = {cairn, "resume", "--quiet", "--store", store, NULL};
    char *const *words;
    const char *const *given = argv;
    memcpy(&words, &given, sizeof words);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int64_t began = bench_now();
    int error = posix_spawn(&pid, cairn, &actions, NULL, words, environ);
    if (error)
        bench_fail(cairn, strerror(error));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            bench_fail("wait", strerror(errno));
    double ms = ms_since(began);
    posix_spawn_file_actions_destroy(&actions);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        bench_fail(cairn, "cairn resume failed");
    return ms;
}

static void measure(const char *cairn, unsigned long n)
{
    char name[64];
    struct bench_samples loads = {0}, plans = {0}, runs = {0}, commands = {0};
    dir = bench_make_dir();
    write_workflow(n);
    record_finished_run();
    for (int i = 0; i < ROUNDS; i++) {
        in_process(&loads, &plans, &runs);
        bench_add(&commands, command_ms(cairn));
    }
    snprintf(name, sizeof name, "resume.%lu.load", n);
    bench_figure(name, &loads, "ms");
    snprintf(name, sizeof name, "resume.%lu.plan", n);
    bench_figure(name, &plans, "ms");
    snprintf(name, sizeof name, "resume.%lu.run", n);
    bench_figure(name, &runs, "ms");
    snprintf(name, sizeof name, "resume.%lu.command", n);
    bench_figure(name, &commands, "ms");
    bench_remove(dir);
}

int main(int argc, char **argv)
{
    char cairn[4096];
    const char *build = getenv("BUILD");
    snprintf(cairn, sizeof cairn, "%s/cairn", build && *build ? build : "build");
    if (argc > 1)
        snprintf(cairn, sizeof cairn, "%s", argv[1]);
    if (access(cairn, X_OK))
        bench_fail(cairn, strerror(errno));
    bench_head("resume: a finished run, nothing to do");
    for (int i = 2; i < argc; i++)
        measure(cairn, bench_number(argv[i]));
    if (argc < 3) {
        measure(cairn, 10000);
        measure(cairn, 1000000);
    }
    return 0;
}
