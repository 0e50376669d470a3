/* SPDX-License-Identifier: MIT */
/* What one question and one small run take.
 *
 *   latency [CAIRN [TASKS [ROUNDS]]]      $BUILD/cairn 1000000 100
 *
 * run: `cairn run` of a workflow with the one task /bin/true, from start to exit, in a
 * directory without a store and in one with it, beside a bare posix_spawn of /bin/true;
 * `over` is the median of the differences within a round. A run is several durable
 * writes after each other, so one of them is timed, too. show: the first checkpoint of
 * a run of TASKS callbacks, the one in the middle and others, in process (open, get,
 * close) and as the command `cairn checkpoint show`. verify: every record of it, beside
 * SHA-256 of as many bytes in as many pieces, alone (hash) and with a bare SQLite loop
 * that reads them (read). */
#include "base/sha256.h"
#include "bench/process.h"

#include <sqlite3.h>

enum { GROUP = 64, WARM = 3, SHOWS = 20, VERIFIES = 3 };

static const char *dir, *cairn;
static char store_path[4200], file_path[4200];

static double ms_since(int64_t began)
{
    return (double)(bench_now() - began) / 1e6;
}

/* ---- One task ---- */

static void write_workflow(void)
{
    FILE *file = fopen(file_path, "w");
    if (!file)
        bench_fail(file_path, strerror(errno));
    fputs("name: latency\ntasks:\n  nothing:\n    exec: [/bin/true]\n", file);
    if (fclose(file))
        bench_fail(file_path, strerror(errno));
}

/* What the disk asks for one durable write: 4 KiB at the end of a file, and a sync. */
static double sync_ms(void)
{
    static const char bytes[4096] = "durable";
    char path[4200];
    snprintf(path, sizeof path, "%s/sync", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int64_t began = bench_now();
    if (fd < 0 || write(fd, bytes, sizeof bytes) != sizeof bytes || fdatasync(fd))
        bench_fail(path, strerror(errno));
    double ms = ms_since(began);
    close(fd);
    return ms;
}

static void measure_runs(unsigned long rounds)
{
    static const char *const bare[] = {"/bin/true", NULL};
    const char *const version[] = {cairn, "version", NULL};
    const char *const run[] = {cairn,      "run",     "--quiet", "--store",
                               store_path, file_path, NULL};
    const char *const kept[] = {cairn,     "run", "--quiet", "--no-checkpoint",
                                file_path, NULL};
    struct bench_samples bare_ms = {0}, synced_ms = {0}, version_ms = {0},
                         none_ms = {0}, new_ms = {0}, old_ms = {0}, new_over = {0},
                         old_over = {0};
    write_workflow();
    for (unsigned long i = 0; i < rounds + WARM; i++) {
        double floor = bench_command_ms(bare), synced = sync_ms(),
               start = bench_command_ms(version), none = bench_command_ms(kept),
               fresh = bench_command_ms(run), again = bench_command_ms(run);
        remove_tree(store_path);
        if (i < WARM)
            continue;
        bench_add(&bare_ms, floor);
        bench_add(&synced_ms, synced);
        bench_add(&version_ms, start);
        bench_add(&none_ms, none);
        bench_add(&new_ms, fresh);
        bench_add(&old_ms, again);
        bench_add(&new_over, fresh - floor);
        bench_add(&old_over, again - floor);
    }
    bench_head("latency: a workflow with one task, as a command");
    bench_figure("latency.run.floor", &bare_ms, "ms, bare /bin/true");
    bench_figure("latency.run.sync", &synced_ms, "ms, one durable write");
    bench_figure("latency.run.version", &version_ms, "ms, cairn version");
    bench_figure("latency.run.nothing-kept", &none_ms, "ms, --no-checkpoint");
    bench_figure("latency.run.new-store", &new_ms, "ms");
    bench_figure("latency.run.existing-store", &old_ms, "ms");
    bench_figure("latency.run.new-store.over", &new_over, "ms over the floor");
    bench_figure("latency.run.existing-store.over", &old_over, "ms over the floor");
}

/* ---- A long run ---- */

static enum cairn_outcome complete_step(void *context, struct cairn_attempt *attempt)
{
    (void)attempt;
    ++*(uint32_t *)context;
    return CAIRN_COMPLETED;
}

static void make_run(uint32_t n)
{
    struct cairn_workflow *w;
    struct cairn_error error;
    struct cairn_run_result result;
    uint32_t called = 0;
    char id[16];
    bench_check(cairn_workflow_new(&w, "latency", &error), "workflow", &error);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(id, sizeof id, "t%u", i);
        struct cairn_task task = {.id = id, .call = complete_step, .context = &called};
        bench_check(cairn_workflow_add(w, &task, &error), "task", &error);
    }
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_OFF);
    struct cairn_run_options options = {
        .start = CAIRN_START_FRESH, .jobs = GROUP, .keep_all = true};
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    cairn_store_close(store);
    cairn_workflow_free(w);
    if (called != n)
        bench_fail("latency", "not every task ran once");
}

static struct cairn_store *open_reader(void)
{
    struct cairn_store *store;
    struct cairn_error error;
    struct cairn_store_options options = {.path = store_path, .read_only = true};
    bench_check(cairn_store_open(&store, &options, &error), "store", &error);
    return store;
}

/* ---- Show ---- */

static double show_ms(uint64_t seq, bool command)
{
    char id[32];
    struct cairn_error error;
    struct cairn_checkpoint_info info;
    const char *const words[] = {cairn,     "checkpoint", "show", id,
                                 "--store", store_path,   NULL};
    snprintf(id, sizeof id, "%llu", (unsigned long long)seq);
    if (command)
        return bench_command_ms(words);
    int64_t began = bench_now();
    struct cairn_store *store = open_reader();
    bench_check(cairn_checkpoint_get(store, id, &info, &error), "show", &error);
    cairn_store_close(store);
    if (info.seq != seq || !info.counted)
        bench_fail("show", "another checkpoint");
    return ms_since(began);
}

/* The first one, the middle one, and others all over the run, taking turns. */
static void measure_shows(uint32_t n, bool command)
{
    const char *how = command ? "command" : "in-process";
    char name[64];
    struct bench_samples first = {0}, middle = {0}, any = {0};
    for (uint32_t i = 0; i < SHOWS; i++) {
        bench_add(&first, show_ms(1, command));
        bench_add(&middle, show_ms(n / 2, command));
        bench_add(&any, show_ms(1 + (uint64_t)n * (2 * i + 1) / (2 * SHOWS), command));
    }
    double ratio = bench_quantile(&middle, 0.5) / bench_quantile(&first, 0.5);
    snprintf(name, sizeof name, "latency.show.%s.first", how);
    bench_figure(name, &first, "ms");
    snprintf(name, sizeof name, "latency.show.%s.%u", how, n / 2);
    bench_figure(name, &middle, "ms");
    snprintf(name, sizeof name, "latency.show.%s.any", how);
    bench_figure(name, &any, "ms, all over the run");
    snprintf(name, sizeof name, "latency.show.%s.ratio", how);
    bench_value(name, ratio, "the middle one over the first");
}

/* ---- Verify ---- */

/* Reads every record as bare SQLite does, and hashes it. */
static double read_us(uint64_t *records, uint64_t *bytes)
{
    char path[4300];
    sqlite3 *db;
    sqlite3_stmt *each;
    struct digest digest;
    struct sha256 *sha = sha256_new();
    int64_t began = bench_now();
    *records = *bytes = 0;
    snprintf(path, sizeof path, "%s/cairn.db", store_path);
    if (!sha || sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "SELECT record FROM checkpoint ORDER BY seq", -1, &each,
                           NULL) != SQLITE_OK)
        bench_fail(path, "cannot be read");
    while (sqlite3_step(each) == SQLITE_ROW) {
        int n = sqlite3_column_bytes(each, 0);
        sha256_begin(sha);
        sha256_add(sha, sqlite3_column_blob(each, 0), (size_t)n);
        sha256_end(sha, &digest);
        ++*records;
        *bytes += (uint64_t)n;
    }
    sqlite3_finalize(each);
    sqlite3_close(db);
    sha256_free(sha);
    return (double)(bench_now() - began) / 1e3 / (double)*records;
}

static double hash_us(uint64_t records, uint64_t bytes)
{
    struct digest digest;
    size_t piece = (size_t)(bytes / records);
    struct sha256 *sha = sha256_new();
    char *memory = bench_memory(piece, 1);
    int64_t began = bench_now();
    for (uint64_t i = 0; sha && i < records; i++) {
        sha256_begin(sha);
        sha256_add(sha, memory, piece);
        sha256_end(sha, &digest);
        memcpy(memory, digest.bytes, piece < DIGEST_SIZE ? piece : DIGEST_SIZE);
    }
    free(memory);
    sha256_free(sha);
    return (double)(bench_now() - began) / 1e3 / (double)records;
}

static double verify_us(uint64_t records)
{
    struct cairn_error error;
    struct cairn_verify_result result;
    int64_t began = bench_now();
    struct cairn_store *store = open_reader();
    bench_check(cairn_checkpoint_verify(store, NULL, NULL, NULL, &result, &error),
                "verify", &error);
    cairn_store_close(store);
    if (result.checked != records)
        bench_fail("verify", "not every record was checked");
    return (double)(bench_now() - began) / 1e3 / (double)records;
}

static void measure_verify(void)
{
    uint64_t records, bytes;
    struct bench_samples hash = {0}, reading = {0}, verify = {0};
    read_us(&records, &bytes); /* so that the file is in memory for all of them */
    for (int i = 0; i < VERIFIES; i++) {
        bench_add(&hash, hash_us(records, bytes));
        bench_add(&reading, read_us(&records, &bytes));
        bench_add(&verify, verify_us(records));
    }
    double us = bench_quantile(&verify, 0.5);
    double over_hash = us / bench_quantile(&hash, 0.5),
           over_read = us / bench_quantile(&reading, 0.5);
    bench_value("latency.verify.records", (double)records, "records");
    bench_value("latency.verify.bytes", (double)bytes / (double)records,
                "bytes/record");
    bench_figure("latency.verify.hash", &hash, "us/record, SHA-256 alone");
    bench_figure("latency.verify.read", &reading, "us/record, SQLite and SHA-256");
    bench_figure("latency.verify.cairn", &verify, "us/record");
    bench_value("latency.verify.cairn/hash", over_hash, "times SHA-256 alone");
    bench_value("latency.verify.cairn/read", over_read, "times SQLite and SHA-256");
    bench_value("latency.verify.whole", us * (double)records / 1e3, "ms");
}

int main(int argc, char **argv)
{
    char title[96];
    cairn = bench_cairn(argc > 1 ? argv[1] : NULL);
    uint32_t n = argc > 2 ? (uint32_t)bench_number(argv[2]) : 1000000;
    unsigned long rounds = argc > 3 ? bench_number(argv[3]) : 100;
    if (n < SHOWS)
        bench_fail(argv[2], "too few tasks");
    dir = bench_make_dir();
    snprintf(store_path, sizeof store_path, "%s/.cairn", dir);
    snprintf(file_path, sizeof file_path, "%s/latency.yaml", dir);
    measure_runs(rounds);
    make_run(n);
    snprintf(title, sizeof title, "latency: checkpoints of a run of %u tasks", n);
    bench_head(title);
    measure_shows(n, false);
    measure_shows(n, true);
    measure_verify();
    remove_tree(dir);
    return 0;
}
