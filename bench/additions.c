/* SPDX-License-Identifier: MIT */
/* Tasks that are added to a run one after the other: what does the last one cost, beside
 * the first?
 *
 *   additions [TO-A-RESTING-RUN [TO-A-LIVE-RUN]]      10000 1000
 *
 * Each addition is one task that needs the one before it and uses its status. Of each
 * part: processor time of who adds, of the owner of a live run, and bytes of the
 * database. The live run waits for an external task, so it takes each addition at once,
 * and runs it. */
#include "bench.h"

#include <pthread.h>

enum { PARTS = 100 }; /* the first and the last of these are printed */

struct live_run {
    pthread_t thread;
    struct cairn_workflow *workflow;
    struct cairn_store *store;
};

static int64_t spent_by(pthread_t thread)
{
    clockid_t clock;
    struct timespec t;
    if (pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &t))
        bench_fail("clock", "no processor time of a thread");
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t database_bytes(void)
{
    struct stat st;
    return stat(".cairn/cairn.db", &st) ? 0 : (int64_t)st.st_size;
}

static struct cairn_store *open_here(void)
{
    struct cairn_store *store = NULL;
    struct cairn_error error;
    const struct cairn_store_options options = {.path = ".cairn", .create = true};
    bench_check(cairn_store_open(&store, &options, &error), "store", &error);
    return store;
}

static struct cairn_workflow *load(const char *text)
{
    struct cairn_workflow *w;
    struct cairn_error error;
    FILE *file = fopen("w.yaml", "we");
    if (!file || fputs(text, file) < 0 || fclose(file))
        bench_fail("w.yaml", strerror(errno));
    bench_check(cairn_workflow_load(&w, "w.yaml", NULL, 0, &error), "load", &error);
    return w;
}

static void add_one(struct cairn_store *store, uint32_t i)
{
    char text[200];
    struct cairn_error error;
    snprintf(text, sizeof text,
             "{\"tasks\": {\"t%u\": {\"needs\": \"t%u\", \"env\": {\"S\": \"${{ "
             "tasks.t%u.status }}\"}, \"exec\": [\"true\"]}}}",
             i + 1, i, i);
    const struct cairn_addition addition = {.text = text, .length = strlen(text)};
    bench_check(cairn_add(store, 1, &addition, NULL, &error), "add", &error);
}

static void *own(void *context)
{
    struct live_run *live = context;
    struct cairn_error error;
    bench_check(cairn_run(live->workflow, live->store, NULL, NULL, &error), "run",
                &error);
    return NULL;
}

/* The store is closed and opened between parts, so that the size is known. */
static void measure(const char *name, uint32_t n, const struct live_run *live)
{
    double us[2] = {0}, owner_us[2] = {0}, bytes[2] = {0};
    uint32_t part = n / PARTS;
    char figure[64];
    for (uint32_t p = 0; p < PARTS; p++) {
        struct cairn_store *store = open_here();
        int64_t size = database_bytes(), began = spent_by(pthread_self());
        int64_t owner = live ? spent_by(live->thread) : 0;
        for (uint32_t i = 0; i < part; i++)
            add_one(store, p * part + i);
        double took = (double)(spent_by(pthread_self()) - began) / 1e3 / part;
        double owned = live ? (double)(spent_by(live->thread) - owner) / 1e3 / part : 0;
        cairn_store_close(store);
        if (p == 0 || p == PARTS - 1) {
            us[p > 0] = took;
            owner_us[p > 0] = owned;
            bytes[p > 0] = (double)(database_bytes() - size) / part;
        }
    }
    for (int last = 0; last < 2; last++) {
        const char *which = last ? "last" : "first";
        snprintf(figure, sizeof figure, "additions.%s.%s", name, which);
        bench_value(figure, us[last], "us of processor time each");
        snprintf(figure, sizeof figure, "additions.%s.%s.bytes", name, which);
        if (!live) /* the log of a live run is transferred at times of its own */
            bench_value(figure, bytes[last], "bytes each");
        snprintf(figure, sizeof figure, "additions.%s.%s.owner", name, which);
        if (live)
            bench_value(figure, owner_us[last], "us of the owner each");
    }
}

static void measure_resting(uint32_t n)
{
    struct cairn_workflow *w = load("name: w\ntasks: {t0: {exec: ['true']}}\n");
    struct cairn_store *store = open_here();
    struct cairn_error error;
    bench_check(cairn_run(w, store, NULL, NULL, &error), "run", &error);
    cairn_store_close(store);
    cairn_workflow_free(w);
    measure("resting", n, NULL);
}

static void measure_live(uint32_t n)
{
    struct live_run live = {
        .workflow = load(
            "name: w\ntasks: {t0: {exec: ['true']}, hold: {external: wait for it}}\n"),
        .store = open_here()};
    struct cairn_store *store = open_here();
    struct cairn_run_info info;
    struct cairn_error error;
    if (pthread_create(&live.thread, NULL, own, &live))
        bench_fail("thread", strerror(errno));
    while (cairn_run_get(store, 1, &info, &error)) /* it has not begun yet */
        usleep(1000);
    measure("live", n, &live);
    bench_check(cairn_complete(store, 1, "hold", NULL, NULL, 0, &error), "hold",
                &error);
    pthread_join(live.thread, NULL);
    cairn_store_close(store);
    cairn_store_close(live.store);
    cairn_workflow_free(live.workflow);
}

static void in_a_directory(void (*measured)(uint32_t n), uint32_t n)
{
    char *dir = bench_make_dir();
    if (chdir(dir))
        bench_fail(dir, strerror(errno));
    measured(n);
    if (chdir("/"))
        bench_fail("/", strerror(errno));
    remove_tree(dir);
}

int main(int argc, char **argv)
{
    uint32_t resting = argc > 1 ? (uint32_t)bench_number(argv[1]) : 10000;
    uint32_t live = argc > 2 ? (uint32_t)bench_number(argv[2]) : 1000;
    if (resting < PARTS || live < PARTS)
        bench_fail("additions", "at least 100");
    bench_head("additions: one task after the other");
    in_a_directory(measure_resting, resting);
    in_a_directory(measure_live, live);
    return 0;
}
