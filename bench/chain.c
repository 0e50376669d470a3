/* SPDX-License-Identifier: MIT */
/* A chain of processes: each link may start only when what it needs is durable.
 *
 *   chain [CAIRN [TASKS]]      $BUILD/cairn 1000
 *
 * floor: one after the other, a bare posix_spawn of /bin/true, its end, and a bare
 * SQLite commit at synchronous=FULL of one row, of the size of a record. cairn: the
 * command `cairn run -j2` of as many tasks, each of which needs the one before it, from
 * start to exit; exec (no shell) and run (`true` for the shell, beside a floor that
 * spawns `sh -eu -c true`). */
#include "bench/process.h"

#include <sqlite3.h>

enum { ROUNDS = 3, RECORD_BYTES = 200 };

static const char *dir, *cairn;

struct bare_store {
    sqlite3 *db;
    sqlite3_stmt *insert;
};

static void open_bare(struct bare_store *s, const char *path)
{
    if (sqlite3_open(path, &s->db) != SQLITE_OK ||
        sqlite3_exec(s->db,
                     "PRAGMA page_size = 2048; PRAGMA journal_mode = WAL;"
                     "PRAGMA synchronous = FULL;"
                     "CREATE TABLE checkpoint(seq INTEGER PRIMARY KEY, record BLOB);",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(s->db, "INSERT INTO checkpoint(record) VALUES(?1)", -1,
                           &s->insert, NULL) != SQLITE_OK)
        bench_fail(path, sqlite3_errmsg(s->db));
}

static double floor_us(const char *const *argv, unsigned long n)
{
    static const char record[RECORD_BYTES] = "record";
    char path[4200];
    struct bare_store s;
    snprintf(path, sizeof path, "%s/floor.db", dir);
    open_bare(&s, path);
    int64_t began = bench_now();
    for (unsigned long i = 0; i < n; i++) {
        bench_wait(bench_start(argv, -1), argv[0]);
        sqlite3_bind_blob(s.insert, 1, record, sizeof record, SQLITE_STATIC);
        if (sqlite3_step(s.insert) != SQLITE_DONE)
            bench_fail(path, sqlite3_errmsg(s.db));
        sqlite3_reset(s.insert);
    }
    double us = (double)(bench_now() - began) / 1e3 / (double)n;
    sqlite3_finalize(s.insert);
    sqlite3_close(s.db);
    remove(path);
    return us;
}

static void write_workflow(const char *path, unsigned long n, const char *action)
{
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail(path, strerror(errno));
    fprintf(file, "name: chain\ntasks:\n  t0:\n    %s\n", action);
    for (unsigned long i = 1; i < n; i++)
        fprintf(file, "  t%lu:\n    needs: [t%lu]\n    %s\n", i, i - 1, action);
    if (fclose(file))
        bench_fail(path, strerror(errno));
}

static double cairn_us(unsigned long n, const char *action)
{
    char file[4200], store[4200];
    const char *const argv[] = {cairn,     "run", "-j2", "--quiet",
                                "--store", store, file,  NULL};
    snprintf(file, sizeof file, "%s/chain.yaml", dir);
    snprintf(store, sizeof store, "%s/.cairn", dir);
    write_workflow(file, n, action);
    double us = bench_command_ms(argv) * 1e3 / (double)n;
    remove_tree(store);
    return us;
}

static void print_one(const char *how, const char *what, struct bench_samples *samples,
                      const char *unit)
{
    char name[64];
    snprintf(name, sizeof name, "chain.%s.%s", how, what);
    bench_figure(name, samples, unit);
}

static void measure_chain(const char *how, const char *const *argv, const char *action,
                          unsigned long n)
{
    struct bench_samples bare = {0}, whole = {0}, ratio = {0};
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&bare, floor_us(argv, n));
        bench_add(&whole, cairn_us(n, action));
    }
    bench_add(&ratio, bench_quantile(&whole, 0.5) / bench_quantile(&bare, 0.5));
    print_one(how, "floor", &bare, "us/link");
    print_one(how, "cairn", &whole, "us/link");
    print_one(how, "ratio", &ratio, "times the floor");
}

int main(int argc, char **argv)
{
    static const char *const exec[] = {"/bin/true", NULL}, *const run[] = {
                                                               "/bin/sh", "-eu", "-c",
                                                               "true", NULL};
    unsigned long n = argc > 2 ? bench_number(argv[2]) : 1000;
    cairn = bench_cairn(argc > 1 ? argv[1] : NULL);
    dir = bench_make_dir();
    bench_head("chain: processes one after the other, each with a durable end");
    measure_chain("exec", exec, "exec: [/bin/true]", n);
    measure_chain("run", run, "run: \"true\"", n);
    remove_tree(dir);
    return 0;
}
