/* SPDX-License-Identifier: MIT */
/* Long runs, watched: does anything grow with the number of tasks done?
 *
 *   resources calls DIR TASKS        callbacks, one ready at a time (a chain)
 *   resources tasks DIR TASKS JOBS   processes of the command, JOBS at a time
 *
 *   resources marked NAME=VALUE      processes with this in their environment
 *
 * The store is DIR/store. The first two print `NAME TASKS BAD BYTES` (of the store, a
 * task), and what they saw in lines that begin with '#'. */
#include "tests/prove/resources/resources.h"

#include "cairn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

/* A span is a tenth of the steps: from 5 % to 15 %, and from 85 % to 95 %. */
struct watch {
    struct growth growth;
    uint64_t done, total;
    pid_t pid;
    const char *live;
    bool gone;
};

static void watch_step(struct watch *w)
{
    struct growth *g = &w->growth;
    w->done++;
    if (w->done == w->total / 20)
        w->gone |= !take_sample(w->pid, w->live, &g->begin[0]);
    else if (w->done == w->total * 3 / 20)
        w->gone |= !take_sample(w->pid, w->live, &g->end[0]);
    else if (w->done == w->total * 17 / 20)
        w->gone |= !take_sample(w->pid, w->live, &g->begin[1]);
    else if (w->done == w->total * 19 / 20)
        w->gone |= !take_sample(w->pid, w->live, &g->end[1]);
    g->steps = (double)w->total / 10;
}

static long store_bytes(const char *store)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof path, "%s/cairn.db", store);
    return stat(path, &st) ? -1 : (long)st.st_size;
}

static unsigned watch_end(struct watch *w, const char *store)
{
    w->growth.store = (double)store_bytes(store);
    if (w->gone || w->done != w->total) {
        printf("# %llu of %llu steps were seen\n", (unsigned long long)w->done,
               (unsigned long long)w->total);
        return 1;
    }
    return judge_growth(&w->growth);
}

static unsigned complain(const char *what, const struct cairn_error *error)
{
    printf("# %s: %s\n", what, error->text);
    return 1;
}

/* ---- Who has a mark ---- */

static bool has_variable(const char *pid, const char *variable)
{
    char path[300];
    char *text = NULL;
    size_t size = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    FILE *file = fopen(path, "r");
    while (file && !found && getdelim(&text, &size, 0, file) > 0)
        found = strcmp(text, variable) == 0;
    free(text);
    if (file)
        fclose(file);
    return found;
}

/* Prints the processes that have NAME=VALUE in their environment. Zombies have none. */
static int marked_main(const char *variable)
{
    const struct dirent *entry;
    DIR *dir = opendir("/proc");
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
            has_variable(entry->d_name, variable))
            printf("%s\n", entry->d_name);
    return dir ? closedir(dir) : 2;
}

/* ---- Callbacks ---- */

static enum cairn_outcome count_call(void *context, struct cairn_attempt *attempt)
{
    (void)attempt;
    watch_step(context);
    return CAIRN_COMPLETED;
}

static int add_chain(struct cairn_workflow *workflow, struct watch *w,
                     struct cairn_error *error)
{
    char id[32], before[32] = "";
    int code = 0;
    for (uint64_t i = 0; i < w->total && !code; i++) {
        const char *needs[] = {before, NULL};
        snprintf(id, sizeof id, "t%llu", (unsigned long long)i);
        struct cairn_task task = {
            .id = id, .call = count_call, .context = w, .needs = i ? needs : NULL};
        code = cairn_workflow_add(workflow, &task, error);
        memcpy(before, id, sizeof before);
    }
    return code;
}

static unsigned run_chain(struct watch *w, const char *path)
{
    struct cairn_error error = {0};
    struct cairn_workflow *workflow = NULL;
    struct cairn_store *store = NULL;
    struct cairn_run_result result = {0};
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_NORMAL};
    struct cairn_run_options how = {.keep_all = true};
    int code = cairn_workflow_new(&workflow, "chain", &error);
    if (!code)
        code = add_chain(workflow, w, &error);
    if (!code)
        code = cairn_store_open(&store, &options, &error);
    if (!code)
        code = cairn_run(workflow, store, &how, &result, &error);
    cairn_workflow_free(workflow);
    cairn_store_close(store);
    if (code)
        return complain("the run", &error);
    if (result.completed != w->total || result.exit_status) {
        printf("# %u of %llu tasks completed, exit %d\n", result.completed,
               (unsigned long long)w->total, result.exit_status);
        return 1;
    }
    return 0;
}

int calls_main(char **args)
{
    char store[2048], live[4096];
    struct sample before, after;
    struct watch w = {
        .total = strtoull(args[1], NULL, 10), .pid = getpid(), .live = live};
    snprintf(store, sizeof store, "%s/store", args[0]);
    snprintf(live, sizeof live, "%s/live", store);
    w.growth.jobs = 1;
    w.growth.factor = 1.2;
    bool seen = take_sample(w.pid, NULL, &before);
    unsigned bad = run_chain(&w, store);
    bad += watch_end(&w, store);
    seen &= take_sample(w.pid, live, &after);
    if (!seen || after.descriptors != before.descriptors || after.children ||
        after.threads != before.threads || after.live_files) {
        printf(
            "# left: descriptors %ld (before: %ld), threads %ld (%ld), children %ld, "
            "live files %ld\n",
            after.descriptors, before.descriptors, after.threads, before.threads,
            after.children, after.live_files);
        bad++;
    }
    printf("calls %llu %u %ld\n", (unsigned long long)w.total, bad,
           store_bytes(store) / (long)w.total);
    return bad > 0;
}

/* ---- Processes ---- */

static pid_t start_cairn(const char *store, const char *flow, const char *jobs,
                         int *from)
{
    char *argv[] = {strdup("cairn"),
                    strdup("run"),
                    strdup("--json"),
                    strdup("-j"),
                    strdup(jobs),
                    strdup("--keep"),
                    strdup("0"),
                    strdup("--store"),
                    strdup(store),
                    strdup(flow),
                    NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    int rc = posix_spawnp(&pid, "cairn", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
    close(ends[1]);
    *from = ends[0];
    return rc ? -1 : pid;
}

static int put_flow(const char *path, uint64_t tasks)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return -1;
    fprintf(file,
            "name: many\ntasks:\n  t:\n    foreach: {n: {range: [1, %llu]}}\n"
            "    exec: [\"true\"]\n",
            (unsigned long long)tasks);
    return fclose(file);
}

int tasks_main(char **args)
{
    char store[2048], live[4096], flow[2048], line[4096];
    struct watch w = {.total = strtoull(args[1], NULL, 10), .live = live};
    int from, status = -1;
    snprintf(store, sizeof store, "%s/store", args[0]);
    snprintf(live, sizeof live, "%s/live", store);
    snprintf(flow, sizeof flow, "%s/flow.yaml", args[0]);
    w.growth.jobs = strtol(args[2], NULL, 10);
    w.growth.factor = 2; /* how many outcomes share a commit is chance */
    if (put_flow(flow, w.total) ||
        (w.pid = start_cairn(store, flow, args[2], &from)) < 0)
        return 2;
    FILE *events = fdopen(from, "r");
    while (events && fgets(line, sizeof line, events))
        if (strstr(line, "\"task_finished\""))
            watch_step(&w);
    if (events)
        fclose(events);
    while (waitpid(w.pid, &status, 0) < 0 && errno == EINTR)
        continue;
    unsigned bad = watch_end(&w, store);
    struct sample after;
    take_sample(getpid(), live, &after);
    if (status || after.children || after.live_files) {
        printf("# wait status %d, children left %ld, files left in live/ %ld\n", status,
               after.children, after.live_files);
        bad++;
    }
    printf("tasks %llu %u %ld\n", (unsigned long long)w.total, bad,
           store_bytes(store) / (long)w.total);
    return bad > 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "calls") == 0)
        return calls_main(argv + 2);
    if (argc == 5 && strcmp(argv[1], "tasks") == 0)
        return tasks_main(argv + 2);
    if (argc == 3 && strcmp(argv[1], "marked") == 0)
        return marked_main(argv[2]);
    fprintf(stderr, "usage: see tests/prove/resources/resources.c\n");
    return 2;
}
