/* SPDX-License-Identifier: MIT */
/* What an agent waits for its hook.
 *
 *   hook [CAIRN [FILES [LINES [ROUNDS]]]]      $BUILD/cairn 1000 5000 100
 *
 * `cairn session hook` as a command, from start to exit, in a project of FILES files,
 * with a transcript of LINES lines of 1 KiB, in turns with a bare posix_spawn of
 * /bin/true. nothing: a tool that the strategy `smart` does not ask about. ended: the
 * end of a turn in which nothing has changed. unchanged: before a tool that writes.
 * changed: after it has written one file. said: the end of a turn with a line more in
 * the transcript. `over` is the median of the differences within a round. */
#include "bench/process.h"

enum { WARM = 3, KINDS = 5 };

static const char *dir;
static char project[4150], transcript[4200], store_path[4300];

static const struct {
    const char *name, *event, *tool;
} kinds[KINDS] = {{"nothing", "PostToolUse", "Read"},
                  {"ended", "Stop", "none"},
                  {"unchanged", "PreToolUse", "Write"},
                  {"changed", "PostToolUse", "Write"},
                  {"said", "Stop", "none"}};

static void write_text(const char *path, const char *mode, const char *format,
                       unsigned long n)
{
    FILE *file = fopen(path, mode);
    if (!file || fprintf(file, format, n) < 0 || fclose(file))
        bench_fail(path, strerror(errno));
}

static void add_lines(unsigned long first, unsigned long n)
{
    char text[1024], format[1200];
    memset(text, 'a', sizeof text);
    text[900] = '\0';
    snprintf(format, sizeof format,
             "{\"type\":\"assistant\",\"uuid\":\"line-%%lu\",\"message\":{\"role\":"
             "\"assistant\",\"content\":\"%s\"}}\n",
             text);
    for (unsigned long i = 0; i < n; i++)
        write_text(transcript, "a", format, first + i);
}

static void make_project(unsigned long files, unsigned long lines)
{
    char path[4300];
    snprintf(project, sizeof project, "%.4096s/project", dir);
    snprintf(transcript, sizeof transcript, "%s/transcript.jsonl", dir);
    snprintf(store_path, sizeof store_path, "%s/.cairn", project);
    if (mkdir(project, 0700))
        bench_fail(project, strerror(errno));
    for (unsigned long i = 0; i < files; i++) {
        snprintf(path, sizeof path, "%s/d%lu", project, i / 100);
        if (i % 100 == 0 && mkdir(path, 0700))
            bench_fail(path, strerror(errno));
        snprintf(path, sizeof path, "%s/d%lu/f%lu", project, i / 100, i);
        write_text(path, "w", "file %lu\n", i);
    }
    add_lines(0, lines);
    cairn_store_close(bench_store(project, CAIRN_SYNC_FULL));
}

/* The events wait in files, of which each becomes stdin in turn. */
static void write_event(int kind)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/%s.json", dir, kinds[kind].name);
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail(path, strerror(errno));
    fprintf(file,
            "{\"session_id\":\"bench\",\"transcript_path\":\"%s\",\"cwd\":\"%s\","
            "\"hook_event_name\":\"%s\",\"tool_name\":\"%s\"}\n",
            transcript, project, kinds[kind].event, kinds[kind].tool);
    if (fclose(file))
        bench_fail(path, strerror(errno));
}

static double hook_ms(const char *cairn, int kind)
{
    const char *const argv[] = {cairn, "session", "hook", NULL};
    char path[4300];
    snprintf(path, sizeof path, "%s/%s.json", dir, kinds[kind].name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || dup2(fd, 0) < 0)
        bench_fail(path, strerror(errno));
    close(fd);
    return bench_command_ms(argv);
}

/* Each event really has what it is named after. */
static void check_checkpoints(uint64_t rounds)
{
    struct cairn_session_info info;
    struct cairn_error error;
    struct cairn_store_options options = {.path = store_path, .read_only = true};
    struct cairn_store *store;
    bench_check(cairn_store_open(&store, &options, &error), "store", &error);
    bench_check(cairn_session_get(store, "agent-bench", &info, &error), "session",
                &error);
    if (info.checkpoints != rounds + 1)
        bench_fail("hook", "not one checkpoint for each change");
    cairn_store_close(store);
}

static void measure(const char *cairn, unsigned long lines, unsigned long rounds)
{
    static const char *const bare[] = {"/bin/true", NULL};
    struct bench_samples floor = {0}, over[KINDS] = {{0}};
    char path[4300];
    snprintf(path, sizeof path, "%s/d0/f0", project);
    for (int i = 0; i < KINDS; i++)
        write_event(i);
    hook_ms(cairn, 2); /* the first checkpoint, with every file */
    for (unsigned long round = 0; round < rounds + WARM; round++) {
        double bare_ms = bench_command_ms(bare), ms[KINDS];
        for (int i = 0; i < KINDS; i++) {
            if (i == 3)
                write_text(path, "w", "changed %lu\n", round);
            if (i == 4)
                add_lines(lines + round, 1);
            ms[i] = hook_ms(cairn, i);
        }
        for (int i = 0; i < KINDS && round >= WARM; i++)
            bench_add(&over[i], ms[i] - bare_ms);
        if (round >= WARM)
            bench_add(&floor, bare_ms);
    }
    check_checkpoints(rounds + WARM);
    bench_figure("hook.floor", &floor, "ms, bare /bin/true");
    for (int i = 0; i < KINDS; i++) {
        snprintf(path, sizeof path, "hook.%s.over", kinds[i].name);
        bench_figure(path, &over[i], "ms over the floor");
    }
}

int main(int argc, char **argv)
{
    const char *cairn = bench_cairn(argc > 1 ? argv[1] : NULL);
    unsigned long files = argc > 2 ? bench_number(argv[2]) : 1000,
                  lines = argc > 3 ? bench_number(argv[3]) : 5000,
                  rounds = argc > 4 ? bench_number(argv[4]) : 100;
    dir = realpath(bench_make_dir(), NULL);
    if (!dir)
        bench_fail("directory", strerror(errno));
    unsetenv("CAIRN_SESSION");
    unsetenv("CAIRN_STORE");
    make_project(files, lines);
    bench_head("hook: what an agent waits for `cairn session hook`");
    measure(cairn, lines, rounds);
    remove_tree(dir);
    return 0;
}
