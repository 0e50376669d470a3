/* SPDX-License-Identifier: MIT */
/* What does a reading command cost where there is much to read?
 *
 *   reads [CAIRN [SHARE]]      $BUILD/cairn 1
 *
 * Six stores, each made once at sync level off: an empty one (a run of one task, a
 * session with one of each), and those with one run of 1,000,000 tasks, 10,000 runs, a
 * session of 100,000 checkpoints, of 100,000 messages, and of 100,000 items; all divided
 * by SHARE. Each command runs three times in each store (twice where that takes long),
 * and the least time of the processor over that in the empty store is told, in
 * milliseconds, as a row of a table.
 * Its output goes to /dev/null. */
#include "bench/process.h"

#include <sys/resource.h>

static struct cairn_error error;
static unsigned long share = 1;

/* ---- The stores ---- */

static enum cairn_outcome complete_step(void *context, struct cairn_attempt *attempt)
{
    (void)context;
    (void)attempt;
    return CAIRN_COMPLETED;
}

static void add_runs(struct cairn_store *store, uint32_t tasks, unsigned long runs)
{
    struct cairn_workflow *w =
        bench_workflow("reads", tasks, false, complete_step, NULL);
    struct cairn_run_options options = {.start = CAIRN_START_FRESH, .jobs = 64};
    struct cairn_run_result result;
    for (unsigned long i = 0; i < runs; i++)
        bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    cairn_workflow_free(w);
}

static void add_tasks(struct cairn_store *store, unsigned long n)
{
    add_runs(store, (uint32_t)n, 1);
}

static void add_many_runs(struct cairn_store *store, unsigned long n)
{
    add_runs(store, 1, n);
}

static void add_item(struct cairn_store *store, unsigned long n)
{
    char text[160];
    snprintf(text, sizeof text, "note %lu: request %08lx took twice as long", n,
             n * 2654435761ul % 4294967296ul);
    bench_check(cairn_item_add(store, NULL, "note", &(struct cairn_set){"text", text},
                               1, NULL, &error),
                "item", &error);
}

static void add_items(struct cairn_store *store, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        add_item(store, i);
}

static void add_checkpoints(struct cairn_store *store, unsigned long n)
{
    struct cairn_capture capture = {.message = "as it is"};
    struct cairn_captured made;
    for (unsigned long i = 0; i < n; i++) {
        if (i % 10 == 0 && i < 1000)
            add_item(store, i);
        bench_check(cairn_session_checkpoint(store, NULL, &capture, &made, &error),
                    "checkpoint", &error);
    }
}

static void add_messages(struct cairn_store *store, unsigned long n)
{
    char text[400];
    struct cairn_new_message message = {.text = text};
    for (unsigned long i = 0; i < n; i++) {
        message.bytes = (size_t)snprintf(
            text, sizeof text, "message %lu: request %08lx took twice as long as %lu",
            i, i * 2654435761ul % 4294967296ul, i % 997);
        bench_check(cairn_message_add(store, NULL, &message, NULL, &error), "message",
                    &error);
    }
}

static void add_nothing(struct cairn_store *store, unsigned long n)
{
    (void)store;
    (void)n;
}

static const struct kind {
    const char *name;
    void (*add)(struct cairn_store *store, unsigned long n);
    unsigned long n;
} kinds[] = {
    {"empty", add_nothing, 0},          {"tasks", add_tasks, 1000000},
    {"runs", add_many_runs, 10000},     {"checkpoints", add_checkpoints, 100000},
    {"messages", add_messages, 100000}, {"items", add_items, 100000}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void make_store(const char *dir, const struct kind *kind)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", dir, kind->name);
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    struct cairn_store *store;
    int64_t began = bench_now();
    bench_check(cairn_store_open(&store, &options, &error), "open", &error);
    bench_check(cairn_session_start(store, "bench", true, NULL, &error), "start",
                &error);
    bench_check(cairn_session_configure(store, NULL, "significant-time", "off", &error),
                "config", &error);
    kind->add(store, kind->n / share);
    add_checkpoints(store, 1);
    add_messages(store, 1);
    add_items(store, 1);
    if (kind->add != add_tasks)
        add_many_runs(store, 1);
    cairn_store_close(store);
    fprintf(stderr, "# %s: made in %.1f s\n", kind->name,
            (double)(bench_now() - began) / 1e9);
}

/* ---- The commands ---- */

static const char *const commands[] = {"status",
                                       "runs",
                                       "log",
                                       "log t0",
                                       "events",
                                       "values",
                                       "explain t0",
                                       "next",
                                       "artifact list",
                                       "checkpoint list",
                                       "checkpoint show 1",
                                       "checkpoint timeline",
                                       "checkpoint head",
                                       "checkpoint at now",
                                       "checkpoint diff",
                                       "checkpoint recover",
                                       "checkpoint verify",
                                       "session list",
                                       "session show",
                                       "session log",
                                       "session size",
                                       "session message list",
                                       "session message show 1",
                                       "note list",
                                       "note show n1",
                                       "command list",
                                       "branch list",
                                       "search request",
                                       "stats",
                                       "doctor"};
enum {
    COMMANDS = sizeof commands / sizeof commands[0],
    MAX_WORDS = 12,
    ROUNDS = 3,
    LONG_MS = 500
};

/* Milliseconds of the processor. *status: of its exit. */
static double processor_ms(const char *cairn, const char *command, const char *path,
                           int *status)
{
    const char *argv[MAX_WORDS] = {cairn};
    char text[100], *rest = text, *word;
    struct rusage used;
    size_t n = 1;
    snprintf(text, sizeof text, "%s", command);
    while ((word = strsep(&rest, " ")) && n + 3 < MAX_WORDS)
        argv[n++] = word;
    argv[n++] = "--store";
    argv[n++] = path;
    pid_t pid = bench_start(argv, -1);
    while (wait4(pid, status, 0, &used) < 0)
        if (errno != EINTR)
            bench_fail("wait", strerror(errno));
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

/* `refused`: it ended with another status than 0, which the row says. */
static double least_ms(const char *cairn, const char *command, const char *path,
                       bool *refused)
{
    double least = 0;
    for (int round = 0; round < ROUNDS && (round < 2 || least < LONG_MS); round++) {
        int status;
        double ms = processor_ms(cairn, command, path, &status);
        least = round == 0 || ms < least ? ms : least;
        *refused = status != 0;
    }
    return least;
}

static void print_row(const char *cairn, const char *dir, const char *command)
{
    double empty = 0;
    printf("| `%s` |", command);
    for (int i = 0; i < KINDS; i++) {
        char path[4200];
        bool refused;
        snprintf(path, sizeof path, "%s/%s", dir, kinds[i].name);
        double ms = least_ms(cairn, command, path, &refused);
        empty = i == 0 ? ms : empty;
        printf(" %.1f%s |",
               i == 0       ? ms
               : ms > empty ? ms - empty
                            : 0,
               refused ? " (refused)" : "");
        fflush(stdout);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *cairn = bench_cairn(argc > 1 ? argv[1] : NULL), *dir = bench_make_dir();
    share = argc > 2 ? bench_number(argv[2]) : 1;
    printf("# reads: ms of the processor, in an empty store and more than that\n"
           "| command | empty |");
    for (int i = 0; i < KINDS; i++) {
        make_store(dir, &kinds[i]);
        if (i > 0)
            printf(" %lu %s |", kinds[i].n / share, kinds[i].name);
    }
    printf("\n|---|---:|---:|---:|---:|---:|---:|\n");
    for (int i = 0; i < COMMANDS; i++)
        print_row(cairn, dir, commands[i]);
    remove_tree(dir);
    return 0;
}
