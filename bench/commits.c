/* SPDX-License-Identifier: MIT */
/* What a durable step costs beside the least that SQLite can do for it.
 *
 *   commits [STEPS]      4000 per level and shape
 *
 * floor: a bare SQLite loop that inserts one checkpoint row and one attempt row, of the
 * bytes that cairn stores, and commits; with 1 and with 64 steps per commit. cairn:
 * no-op callbacks, one ready at a time (chain) and 64 at a time (wide). Both in one
 * directory, taking turns, at each sync level. ratio: steps per second of cairn over
 * the floor's. */
#include "bench.h"

#include <sqlite3.h>

enum { ROUNDS = 3, GROUP = 64, RECORD_BYTES = 200, DIGEST_BYTES = 32 };

static const char *const level_names[] = {"full", "normal", "off"};

struct race { /* one shape at one level */
    const char *dir;
    uint32_t n;
    bool wide;
    enum cairn_sync sync;
    uint32_t record_bytes;
    struct bench_samples floor_us, cairn_us;
    double floor_total, cairn_total;
};

/* ---- The floor ---- */

static void run_sql(sqlite3 *db, const char *text)
{
    char *error = NULL;
    if (sqlite3_exec(db, text, NULL, NULL, &error) != SQLITE_OK)
        bench_fail(text, error ? error : "failed");
}

static sqlite3 *floor_open(const struct race *r, const char *path)
{
    static const char *const levels[] = {"PRAGMA synchronous = FULL",
                                         "PRAGMA synchronous = NORMAL",
                                         "PRAGMA synchronous = OFF"};
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK)
        bench_fail(path, sqlite3_errmsg(db));
    run_sql(db, "PRAGMA page_size = 2048");
    run_sql(db, "PRAGMA journal_mode = WAL");
    run_sql(db, "PRAGMA wal_autocheckpoint = 4000");
    run_sql(db, levels[r->sync]);
    run_sql(
        db,
        "CREATE TABLE checkpoint(seq INTEGER PRIMARY KEY, namespace INTEGER, stream "
        "INTEGER, parent INTEGER, time_ns INTEGER, kind INTEGER, record BLOB, digest "
        "BLOB);"
        "CREATE TABLE attempt(run INTEGER, gen INTEGER, task INTEGER, n INTEGER, "
        "intent_ns INTEGER, wait_ns INTEGER, duration_ns INTEGER, outcome INTEGER, "
        "PRIMARY KEY(run, gen, task, n)) WITHOUT ROWID;");
    return db;
}

static sqlite3_stmt *prepare_statement(sqlite3 *db, const char *text)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
        SQLITE_OK)
        bench_fail(text, sqlite3_errmsg(db));
    return statement;
}

static void floor_step(sqlite3_stmt *checkpoint, sqlite3_stmt *attempt, uint32_t i,
                       const struct race *r)
{
    static char bytes[4096];
    int64_t now = bench_now() + 1700000000000000000;
    memcpy(bytes, &now, sizeof now);
    sqlite3_bind_int64(checkpoint, 1, i + 1);
    sqlite3_bind_int64(checkpoint, 2, i);
    sqlite3_bind_int64(checkpoint, 3, now);
    sqlite3_bind_blob(checkpoint, 4, bytes, (int)r->record_bytes, SQLITE_STATIC);
    sqlite3_bind_blob(checkpoint, 5, bytes, DIGEST_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(attempt, 1, i);
    sqlite3_bind_int64(attempt, 2, now);
    if (sqlite3_step(checkpoint) != SQLITE_DONE || sqlite3_step(attempt) != SQLITE_DONE)
        bench_fail("floor", "an insert failed");
    sqlite3_reset(checkpoint);
    sqlite3_reset(attempt);
}

static void floor_run(struct race *r)
{
    char path[4200];
    uint32_t group = r->wide ? GROUP : 1;
    snprintf(path, sizeof path, "%s/floor.db", r->dir);
    sqlite3 *db = floor_open(r, path);
    sqlite3_stmt *begin = prepare_statement(db, "BEGIN IMMEDIATE"),
                 *commit = prepare_statement(db, "COMMIT");
    sqlite3_stmt *checkpoint = prepare_statement(
        db, "INSERT INTO checkpoint VALUES(?1, 1, 1, ?2, ?3, 2, ?4, ?5)");
    sqlite3_stmt *attempt = prepare_statement(
        db, "INSERT INTO attempt VALUES(1, 1, ?1, 1, ?2, 1000, 1000, 1)");
    int64_t began = bench_now();
    for (uint32_t i = 0; i < r->n; i += group) {
        int64_t at = bench_now();
        sqlite3_step(begin);
        sqlite3_reset(begin);
        for (uint32_t j = i; j < i + group; j++)
            floor_step(checkpoint, attempt, j, r);
        if (sqlite3_step(commit) != SQLITE_DONE)
            bench_fail("floor", sqlite3_errmsg(db));
        sqlite3_reset(commit);
        bench_add(&r->floor_us, (double)(bench_now() - at) / 1e3 / group);
    }
    r->floor_total += (double)(bench_now() - began);
    sqlite3_stmt *all[] = {begin, commit, checkpoint, attempt};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        sqlite3_finalize(all[i]);
    sqlite3_close(db);
    remove(path);
}

/* ---- cairn ---- */

struct progress {
    struct race *race;
    uint32_t called;
    int64_t first, mark, last;
};

static enum cairn_outcome count_step(void *context, struct cairn_attempt *attempt)
{
    struct progress *p = context;
    uint32_t group = p->race->wide ? GROUP : 1;
    int64_t now = bench_now();
    (void)attempt;
    if (p->called == 0)
        p->first = now;
    else if (p->called % group == 0)
        bench_add(&p->race->cairn_us, (double)(now - p->mark) / 1e3 / group);
    if (p->called++ % group == 0)
        p->mark = now;
    return CAIRN_COMPLETED;
}

static void note_event(void *context, const struct cairn_event *event)
{
    struct progress *p = context;
    if (event->kind == CAIRN_EVENT_TASK_FINISHED)
        p->last = bench_now();
}

static int note_bytes(void *context, const struct cairn_checkpoint_info *info)
{
    uint32_t *bytes = context;
    if (!info->full)
        *bytes = info->bytes;
    return !info->full;
}

static void cairn_run_once(struct race *r)
{
    struct cairn_error error;
    struct cairn_run_result result;
    struct progress progress = {.race = r};
    char path[4200];
    struct cairn_workflow *w =
        bench_workflow("commits", r->n, !r->wide, count_step, &progress);
    struct cairn_store *store = bench_store(r->dir, r->sync);
    struct cairn_run_options options = {.start = CAIRN_START_FRESH,
                                        .jobs = r->wide ? GROUP : 1,
                                        .keep_all = true,
                                        .observe = note_event,
                                        .observe_context = &progress};
    bench_check(cairn_run(w, store, &options, &result, &error), "run", &error);
    if (progress.called != r->n)
        bench_fail("commits", "not every task ran once");
    r->cairn_total += (double)(progress.last - progress.first);
    struct cairn_checkpoint_filter filter = {.page = {.limit = 8}};
    bench_check(cairn_checkpoint_list(store, &filter, note_bytes, &r->record_bytes,
                                      NULL, &error),
                "list", &error);
    cairn_store_close(store);
    cairn_workflow_free(w);
    snprintf(path, sizeof path, "%s/.cairn", r->dir);
    remove_tree(path);
}

static void compare_with_floor(const char *dir, uint32_t n, bool wide,
                               enum cairn_sync sync)
{
    char name[64];
    const char *shape = wide ? "wide" : "chain";
    struct race r = {.dir = dir,
                     .n = n / GROUP * GROUP,
                     .wide = wide,
                     .sync = sync,
                     .record_bytes = RECORD_BYTES};
    for (int i = 0; i < ROUNDS; i++) {
        cairn_run_once(&r);
        floor_run(&r);
    }
    snprintf(name, sizeof name, "commits.%s.%s.floor", level_names[sync], shape);
    bench_figure(name, &r.floor_us, "us/step");
    snprintf(name, sizeof name, "commits.%s.%s.cairn", level_names[sync], shape);
    bench_figure(name, &r.cairn_us, "us/step");
    snprintf(name, sizeof name, "commits.%s.%s.ratio", level_names[sync], shape);
    bench_value(name, r.floor_total / r.cairn_total, "of the floor's rate");
    snprintf(name, sizeof name, "commits.%s.%s.record", level_names[sync], shape);
    bench_value(name, r.record_bytes, "bytes");
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)bench_number(argv[1]) : 4000;
    const char *dir = bench_make_dir();
    if (n < GROUP)
        bench_fail(argv[1], "too few steps");
    bench_head("commits: cairn's steps beside bare SQLite");
    for (int sync = CAIRN_SYNC_FULL; sync <= CAIRN_SYNC_OFF; sync++)
        for (int wide = 0; wide < 2; wide++)
            compare_with_floor(dir, n, wide, (enum cairn_sync)sync);
    remove_tree(dir);
    return 0;
}
