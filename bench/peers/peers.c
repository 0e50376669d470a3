/* SPDX-License-Identifier: MIT */
/* cairn beside make, ninja, GNU parallel and Snakemake: the same graphs, the same
 * commands, one run; the times with two jobs.
 *
 *   peers [CAIRN]          $BUILD/cairn; PEERS_TASKS=10000 PEERS_ROUNDS=3
 *
 * PEERS_TOOLS="cairn make" and PEERS_GRAPHS="independent layers" leave out the others.
 * Prints Markdown tables: time from start to exit (median of the rounds, the tools take
 * turns), peak memory of the tool itself, and the time of a second call when all is
 * done; then what happens after `kill -9` at half, with 2, 16 and 64 jobs, on an idle
 * machine and on one with two busy processes for each processor: how many tasks ran
 * twice, how many of those had ended, and how long until the first new one. Tools that
 * are not installed are left out, aloud. Snakemake gets at most 1,000 tasks; its time
 * is of those. */
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

static pid_t start_tool(const char *const *words, const char *dir)
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
static int wait_for_tool(pid_t pid, struct rusage *usage)
{
    int status;
    while (wait4(pid, &status, 0, usage) < 0)
        if (errno != EINTR)
            bench_fail("wait", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static double time_tool(const char *const *words, const char *dir, double *peak_mib)
{
    struct rusage usage;
    int64_t began = bench_now();
    pid_t pid = start_tool(words, dir);
    if (pid < 0 || wait_for_tool(pid, &usage) != 0)
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

static bool is_installed(const struct tool *tool)
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

static struct graph limit_graph(const struct tool *tool, struct graph graph)
{
    if (tool->most && graph.n > tool->most)
        graph.n = tool->most;
    return graph;
}

/* ---- Times ---- */

static void measure_tool(const char *base, const struct tool *tool,
                         const struct graph *whole, struct outcome *outcome)
{
    char dir[4200];
    struct graph graph = limit_graph(tool, *whole);
    make_place(base, tool, &graph, dir, sizeof dir);
    bench_add(&outcome->ms,
              time_tool(tool->words(&graph, false), dir, &outcome->peak_mib));
    if (graph.work == TOUCH)
        bench_add(&outcome->again_ms, time_tool(tool->words(&graph, true), dir, NULL));
}

static void print_row(const struct tool *tool, const struct graph *whole,
                      struct outcome *outcome, double best_ms)
{
    struct graph graph = limit_graph(tool, *whole);
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

static void compare_tools(const char *base, const struct graph *graph, uint32_t rounds)
{
    struct outcome outcomes[TOOLS_MOST];
    memset(outcomes, 0, sizeof outcomes);
    double best = 0;
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t i = 0; i < n_tools; i++)
            if (is_installed(&tools[i]) &&
                (!tools[i].only_wide || graph->shape == WIDE) &&
                (!tools[i].most || round == 0))
                measure_tool(base, &tools[i], graph, &outcomes[i]);
    for (uint32_t i = 0; i < n_tools; i++) {
        struct graph own = limit_graph(&tools[i], *graph);
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

/* Starts the tool, and kills it once half of the tasks have begun. How many had then?
 */
static uint32_t kill_at_half(const struct tool *tool, const struct graph *graph,
                             const char *dir, const char *log)
{
    struct rusage usage;
    pid_t pid = start_tool(tool->words(graph, false), dir);
    while (pid > 0 && lines_of(log, NULL, 0) < graph->n / 2)
        pause_ms(5);
    kill(pid, SIGKILL);
    wait_for_tool(pid, &usage);
    pause_ms(500); /* what still runs */
    return lines_of(log, NULL, 0);
}

/* Goes on; *first_ms until the first new task, 0 if there is none. The exit status. */
static int go_on(const struct tool *tool, const struct graph *graph, const char *dir,
                 const char *log, double *first_ms)
{
    struct rusage usage;
    off_t before = size_of(log);
    int64_t began = bench_now(), first = 0;
    pid_t pid = start_tool(tool->words(graph, true), dir);
    while (!first && waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           bench_now() - began < 600000000000) {
        if (size_of(log) > before)
            first = bench_now();
        pause_ms(1);
    }
    *first_ms = first ? (double)(first - began) / 1e6 : 0;
    return wait_for_tool(pid, &usage);
}

/* A task has ended if it wrote its last line; its process may still have been alive. */
static void kill_and_go_on(const char *base, const struct tool *tool,
                           const struct graph *whole, bool loaded)
{
    char dir[4200], log[4300], ends[4300];
    struct graph graph = limit_graph(tool, *whole);
    uint8_t *seen = bench_memory(graph.n, 1), *ended = bench_memory(graph.n, 1);
    double first_ms;
    uint32_t twice = 0, twice_ended = 0, never = 0;
    make_place(base, tool, &graph, dir, sizeof dir);
    snprintf(log, sizeof log, "%s/log", dir);
    snprintf(ends, sizeof ends, "%s/ended", dir);
    uint32_t had = kill_at_half(tool, &graph, dir, log);
    lines_of(ends, ended, graph.n);
    int status = go_on(tool, &graph, dir, log, &first_ms);
    lines_of(log, seen, graph.n);
    for (uint32_t i = 0; i < graph.n; i++) {
        twice += seen[i] > 1;
        twice_ended += seen[i] > 1 && ended[i];
        never += seen[i] == 0;
    }
    printf("| %s | %u | %s | %u | %u | %u | %u | %u | %.0f | %d |\n", tool->name,
           graph.jobs, loaded ? "yes" : "no", graph.n, had, twice, twice_ended, never,
           first_ms, status);
    fflush(stdout);
    free(seen);
    free(ended);
}

enum { BURNERS_MOST = 64 };

struct load {
    pid_t burners[BURNERS_MOST];
    uint32_t n;
};

/* Two busy processes for each processor. */
static void load_begin(struct load *load, const char *dir)
{
    static const char *const words[] = {"sh", "-c", "while :; do :; done", NULL};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    for (load->n = 0; load->n < 2 * (unsigned long)processors && load->n < BURNERS_MOST;
         load->n++)
        load->burners[load->n] = start_tool(words, dir);
}

static void load_end(struct load *load)
{
    struct rusage usage;
    while (load->n) {
        kill(load->burners[--load->n], SIGKILL);
        wait_for_tool(load->burners[load->n], &usage);
    }
}

static void compare_kills(const char *base, uint32_t n, bool loaded)
{
    static const uint32_t jobs[] = {2, 16, 64};
    struct load load = {.n = 0};
    if (loaded)
        load_begin(&load, base);
    for (size_t k = 0; k < sizeof jobs / sizeof jobs[0]; k++)
        for (uint32_t i = 0; i < n_tools; i++) {
            struct graph graph = {WIDE, LOGGED, n, jobs[k]};
            bool once = tools[i].kill_once && (loaded || k > 0);
            if (is_installed(&tools[i]) && !tools[i].no_logged && !once)
                kill_and_go_on(base, &tools[i], &graph, loaded);
        }
    load_end(&load);
}

/* ---- The whole ---- */

static unsigned long number_from_environment(const char *name, unsigned long usual)
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
        if (!is_installed(&tools[i]))
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
    uint32_t n = (uint32_t)number_from_environment("PEERS_TASKS", 10000);
    uint32_t rounds = (uint32_t)number_from_environment("PEERS_ROUNDS", 3);
    const char *base = bench_make_dir();
    print_versions();
    puts("| graph | command | tasks | tool | s | tasks/s | times the best | MiB | "
         "again, "
         "ms |\n|---|---|---:|---|---:|---:|---:|---:|---:|");
    for (int work = NOOP; work <= TOUCH; work++) {
        struct graph graphs[] = {{WIDE, (enum work)work, n, 2},
                                 {CHAIN, (enum work)work, n / 10, 2},
                                 {LAYERS, (enum work)work, n, 2}};
        for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++)
            if (asked_for("PEERS_GRAPHS", shape_names[graphs[i].shape]))
                compare_tools(base, &graphs[i], rounds);
    }
    puts("\n| tool | jobs | loaded | tasks | begun at the kill | run twice | of those "
         "ended | never run | ms to the first new one | exit |\n"
         "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|");
    compare_kills(base, n, false);
    compare_kills(base, n, true);
    remove_tree(base);
    free(absolute);
    return 0;
}
