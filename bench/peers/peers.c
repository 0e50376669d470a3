/* SPDX-License-Identifier: MIT */
/* cairn beside make, ninja, GNU parallel and Snakemake: the same graphs, the same
 * commands, two jobs, one run.
 *
 *   peers [CAIRN]          $BUILD/cairn; PEERS_TASKS=10000 PEERS_ROUNDS=3
 *
 * PEERS_TOOLS="cairn make" and PEERS_GRAPHS="independent layers" leave out the others.
 * Prints Markdown tables: time from start to exit (median of the rounds, the tools take
 * turns), peak memory of the tool itself, and the time of a second call when all is
 * done; then what happens after `kill -9` at half: how many tasks ran twice, and how
 * long until the first new one. Tools that are not installed are left out, aloud.
 * Snakemake gets at most 1,000 tasks; its time is of those. */
#include "peers.h"
#include "bench/bench.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

enum { TOOLS_MOST = 16 };

struct outcome {
    struct bench_samples ms, again_ms;
    double peak_mib;
};

static const char *work_names[] = {"true", "touch"};
static const char *shape_names[] = {"independent", "chain", "layers"};

/* ---- Running a tool ---- */

static pid_t start(const char *const *words, const char *dir)
{
    pid_t pid;
    posix_spawn_file_actions_t actions;
    char *const *argv;
    memcpy(&argv, &words, sizeof argv);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, dir);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "stderr.log",
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    int error = posix_spawnp(&pid, words[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error ? -1 : pid;
}

/* Exit status, or -1 for a signal. */
static int finish(pid_t pid, struct rusage *usage)
{
    int status;
    while (wait4(pid, &status, 0, usage) < 0)
        if (errno != EINTR)
            bench_fail("wait", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static double run(const char *const *words, const char *dir, double *peak_mib)
{
    struct rusage usage;
    int64_t began = bench_now();
    pid_t pid = start(words, dir);
    if (pid < 0 || finish(pid, &usage) != 0)
        bench_fail(words[0], "failed");
    if (peak_mib)
        *peak_mib = (double)usage.ru_maxrss / 1024;
    return (double)(bench_now() - began) / 1e6;
}

static bool has_word(const char *text, const char *word, size_t length)
{
    for (text += strspn(text, " ,"); *text; text += strspn(text, " ,")) {
        size_t n = strcspn(text, " ,");
        if (n == length && strncmp(text, word, n) == 0)
            return true;
        text += n;
    }
    return false;
}

/* Whether a word of `name` is in the environment variable, if that is there. */
static bool asked_for(const char *variable, const char *name)
{
    const char *words = getenv(variable);
    if (!words || !*words)
        return true;
    for (; *name; name += strspn(name, " ,")) {
        size_t n = strcspn(name, " ,");
        if (has_word(words, name, n))
            return true;
        name += n;
    }
    return false;
}

static bool installed(const struct tool *tool)
{
    char command[128];
    if (!asked_for("PEERS_TOOLS", tool->name))
        return false;
    if (!tool->version)
        return true;
    snprintf(command, sizeof command, "%s >/dev/null 2>&1", tool->version);
    return system(command) == 0;
}

/* ---- Directories ---- */

static void make_place(const char *base, const struct tool *tool,
                       const struct graph *graph, char *dir, size_t size)
{
    char path[4400];
    snprintf(dir, size, "%s/place", base);
    remove_tree(dir);
    snprintf(path, sizeof path, "%s/out", dir);
    if (mkdir(dir, 0700) || mkdir(path, 0700))
        bench_fail(dir, strerror(errno));
    snprintf(path, sizeof path, "%s/%s", dir, tool->file);
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail(path, strerror(errno));
    tool->write(file, graph);
    if (fclose(file))
        bench_fail(path, strerror(errno));
}

static struct graph cut(const struct tool *tool, struct graph graph)
{
    if (tool->most && graph.n > tool->most)
        graph.n = tool->most;
    return graph;
}

/* ---- Times ---- */

static void measure(const char *base, const struct tool *tool,
                    const struct graph *whole, struct outcome *outcome)
{
    char dir[4200];
    struct graph graph = cut(tool, *whole);
    make_place(base, tool, &graph, dir, sizeof dir);
    bench_add(&outcome->ms, run(tool->words(&graph, false), dir, &outcome->peak_mib));
    if (graph.work == TOUCH)
        bench_add(&outcome->again_ms, run(tool->words(&graph, true), dir, NULL));
}

static void print_row(const struct tool *tool, const struct graph *whole,
                      struct outcome *outcome, double best_ms)
{
    struct graph graph = cut(tool, *whole);
    double ms = bench_quantile(&outcome->ms, 0.5);
    printf("| %s | %s | %u | %s | %.2f | %.0f | %.2f | %.0f |",
           shape_names[graph.shape], work_names[graph.work], graph.n, tool->name,
           ms / 1000, (double)graph.n / ms * 1000, ms / (double)graph.n / best_ms,
           outcome->peak_mib);
    if (graph.work == TOUCH)
        printf(" %.0f |\n", bench_quantile(&outcome->again_ms, 0.5));
    else
        printf(" |\n");
    fflush(stdout);
}

static void compare(const char *base, const struct graph *graph, uint32_t rounds)
{
    struct outcome outcomes[TOOLS_MOST];
    memset(outcomes, 0, sizeof outcomes);
    double best = 0;
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t i = 0; i < n_tools; i++)
            if (installed(&tools[i]) && (!tools[i].only_wide || graph->shape == WIDE) &&
                (!tools[i].most || round == 0))
                measure(base, &tools[i], graph, &outcomes[i]);
    for (uint32_t i = 0; i < n_tools; i++) {
        struct graph own = cut(&tools[i], *graph);
        double ms = bench_quantile(&outcomes[i].ms, 0.5) / (double)own.n;
        if (outcomes[i].ms.n && (best == 0 || ms < best))
            best = ms;
    }
    for (uint32_t i = 0; i < n_tools; i++)
        if (outcomes[i].ms.n)
            print_row(&tools[i], graph, &outcomes[i], best);
    for (uint32_t i = 0; i < n_tools; i++) {
        free(outcomes[i].ms.at);
        free(outcomes[i].again_ms.at);
    }
}

/* ---- After kill -9 ---- */

static uint32_t lines_of(const char *path, uint8_t *seen, uint32_t n)
{
    uint32_t lines = 0;
    unsigned task;
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%u", &task) == 1) {
        lines++;
        if (seen && task < n)
            seen[task]++;
    }
    if (file)
        fclose(file);
    return lines;
}

static off_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? 0 : st.st_size;
}

static void pause_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void kill_at_half(const char *base, const struct tool *tool,
                         const struct graph *whole)
{
    char dir[4200], log[4300];
    struct rusage usage;
    struct graph graph = cut(tool, *whole);
    uint8_t *seen = bench_memory(graph.n, 1);
    make_place(base, tool, &graph, dir, sizeof dir);
    snprintf(log, sizeof log, "%s/log", dir);
    pid_t pid = start(tool->words(&graph, false), dir);
    while (pid > 0 && lines_of(log, NULL, 0) < graph.n / 2)
        pause_ms(5);
    kill(pid, SIGKILL);
    finish(pid, &usage);
    pause_ms(500); /* what still runs */
    off_t before = size_of(log);
    uint32_t had = lines_of(log, NULL, 0);
    int64_t began = bench_now(), first = 0;
    pid = start(tool->words(&graph, true), dir);
    while (!first && waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           bench_now() - began < 600000000000) {
        if (size_of(log) > before)
            first = bench_now();
        pause_ms(1);
    }
    int status = finish(pid, &usage);
    lines_of(log, seen, graph.n);
    uint32_t twice = 0, never = 0;
    for (uint32_t i = 0; i < graph.n; i++) {
        twice += seen[i] > 1;
        never += seen[i] == 0;
    }
    printf("| %s | %u | %u | %u | %u | %.0f | %d |\n", tool->name, graph.n, had, twice,
           never, first ? (double)(first - began) / 1e6 : 0, status);
    fflush(stdout);
    free(seen);
}

/* ---- The whole ---- */

static unsigned long setting(const char *name, unsigned long usual)
{
    const char *text = getenv(name);
    return text && *text ? bench_number(text) : usual;
}

static void print_versions(void)
{
    for (uint32_t i = 0; i < n_tools; i++) {
        if (!tools[i].version)
            continue;
        fflush(stdout);
        char command[128];
        snprintf(command, sizeof command, "%s 2>/dev/null | head -n 1",
                 tools[i].version);
        printf("- %s: ", tools[i].name);
        fflush(stdout);
        if (!installed(&tools[i]))
            puts("left out");
        else if (system(command))
            puts("?");
    }
    puts("");
}

int main(int argc, char **argv)
{
    char cairn[4096];
    const char *build = getenv("BUILD");
    snprintf(cairn, sizeof cairn, "%s/cairn", build && *build ? build : "build");
    if (argc > 1)
        snprintf(cairn, sizeof cairn, "%s", argv[1]);
    char *absolute = realpath(cairn, NULL);
    if (!absolute)
        bench_fail(cairn, strerror(errno));
    tools_use(absolute);
    uint32_t n = (uint32_t)setting("PEERS_TASKS", 10000);
    uint32_t rounds = (uint32_t)setting("PEERS_ROUNDS", 3);
    const char *base = bench_make_dir();
    print_versions();
    puts("| graph | command | tasks | tool | s | tasks/s | times the best | MiB | "
         "again, "
         "ms |\n|---|---|---:|---|---:|---:|---:|---:|---:|");
    for (int work = NOOP; work <= TOUCH; work++) {
        struct graph graphs[] = {{WIDE, (enum work)work, n},
                                 {CHAIN, (enum work)work, n / 10},
                                 {LAYERS, (enum work)work, n}};
        for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++)
            if (asked_for("PEERS_GRAPHS", shape_names[graphs[i].shape]))
                compare(base, &graphs[i], rounds);
    }
    puts(
        "\n| tool | tasks | done at the kill | run twice | never run | ms to the first "
        "new one | exit |\n|---|---:|---:|---:|---:|---:|---:|");
    for (uint32_t i = 0; i < n_tools; i++) {
        struct graph graph = {WIDE, LOGGED, n};
        if (installed(&tools[i]) && !tools[i].no_logged)
            kill_at_half(base, &tools[i], &graph);
    }
    remove_tree(base);
    free(absolute);
    return 0;
}
