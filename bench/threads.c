/* SPDX-License-Identifier: MIT */
/* Threads of an agent's framework, beside the least that SQLite can do for them.
 *
 *   threads [STATES [PATH]]      10000; PATH: a store that stays
 *
 * A state has n and a log of 400 bytes and a number, a state of its own and metadata as
 * LangGraph makes them, and two writes. floor: one row of 1,200 bytes, and a commit. put:
 * state and writes in one call. bytes: what the file grows by for each state with its
 * writes, in one call and in two; noise: where log and write are 800 bytes that nothing
 * makes smaller, without these. */
#include "bench.h"

#include <sqlite3.h>

enum { LOG_BYTES = 400, VALUE_BYTES = 2 * LOG_BYTES };

struct place {
    char path[4200], db[4300];
    struct cairn_store *store;
    struct cairn_error error;
};

static void open_at(struct place *p, enum cairn_sync sync)
{
    struct cairn_store_options options = {
        .path = p->path, .create = true, .sync = sync};
    bench_check(cairn_store_open(&p->store, &options, &p->error), "open", &p->error);
}

static struct cairn_bytes text(const char *t)
{
    return (struct cairn_bytes){t, strlen(t)};
}

/* Letters that a compressor cannot guess. */
static void fill(char *out, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        out[i] = (char)('!' + (seed >> 33) % 90);
    }
}

struct shape {
    bool together, noise;
};

static void put(struct place *p, const char *thread, uint32_t i, struct shape shape)
{
    char id[40], before[40], n[16], log[LOG_BYTES + 20], wrote[LOG_BYTES + 20],
        state[400], metadata[100], task[40];
    snprintf(id, sizeof id, "1ef%05x-%04x-6%03x-8000-0242ac120002", i >> 12, i & 0xfff,
             (i * 7919) & 0xfff);
    snprintf(before, sizeof before, "1ef%05x-%04x-6%03x-8000-0242ac120002",
             (i - 1) >> 12, (i - 1) & 0xfff, ((i - 1) * 7919) & 0xfff);
    snprintf(n, sizeof n, "%u", i);
    snprintf(task, sizeof task, "task-%08x", i * 2654435761u);
    snprintf(state, sizeof state,
             "{\"v\":4,\"id\":\"%s\",\"ts\":\"2026-11-30T10:%02u:%02u.%03uZ\","
             "\"channel_versions\":{\"n\":%u,\"log\":%u},\"versions_seen\":"
             "{\"agent\":{\"n\":%u},\"__input__\":{}}}",
             id, i / 60 % 60, i % 60, i % 1000, i + 1, i + 1, i);
    snprintf(metadata, sizeof metadata,
             "{\"source\":\"loop\",\"step\":%u,\"parents\":{}}", i);
    memset(log, 'x', sizeof log);
    memcpy(wrote, log, sizeof wrote);
    snprintf(log + LOG_BYTES, 20, "%u", i);
    wrote[LOG_BYTES] = 0;
    if (shape.noise) {
        fill(log, LOG_BYTES, i + 1);
        fill(wrote, LOG_BYTES, i + 100000001);
    }
    const struct cairn_thread_channel channels[] = {
        {.name = text("n"), .kind = text("json"), .value = text(n)},
        {.name = text("log"), .kind = text("json"), .value = text(log)}};
    const struct cairn_thread_write writes[] = {{.task = text(task),
                                                 .channel = text("n"),
                                                 .kind = text("json"),
                                                 .value = text(n)},
                                                {.task = text(task),
                                                 .channel = text("log"),
                                                 .kind = text("json"),
                                                 .value = text(wrote),
                                                 .index = 1}};
    const struct cairn_thread_state s = {.thread = text(thread),
                                         .id = text(id),
                                         .parent = text(i ? before : ""),
                                         .kind = text("json"),
                                         .state = text(state),
                                         .metadata_kind = text("json"),
                                         .metadata = text(metadata),
                                         .channels = channels,
                                         .n_channels = 2};
    const struct cairn_thread_writes w = {
        .thread = s.thread, .id = s.id, .writes = writes, .n_writes = 2};
    int rc = cairn_thread_put(p->store, &s, 1, &w, shape.together, &p->error);
    if (!rc && !shape.together)
        rc = cairn_thread_put(p->store, NULL, 0, &w, 1, &p->error);
    bench_check(rc, "put", &p->error);
}

/* ---- The floor ---- */

static void run_sql(sqlite3 *db, const char *statement)
{
    if (sqlite3_exec(db, statement, NULL, NULL, NULL) != SQLITE_OK)
        bench_fail(statement, sqlite3_errmsg(db));
}

static void floor_puts(const char *dir, enum cairn_sync sync, uint32_t n,
                       struct bench_samples *us)
{
    static const char *const levels[] = {"PRAGMA synchronous = FULL",
                                         "PRAGMA synchronous = NORMAL",
                                         "PRAGMA synchronous = OFF"};
    char path[4300], bytes[2 * VALUE_BYTES];
    sqlite3 *db;
    sqlite3_stmt *insert;
    snprintf(path, sizeof path, "%s/floor.db", dir);
    if (sqlite3_open(path, &db) != SQLITE_OK)
        bench_fail(path, sqlite3_errmsg(db));
    run_sql(db, "PRAGMA page_size = 2048; PRAGMA journal_mode = WAL;"
                "PRAGMA wal_autocheckpoint = 4000;");
    run_sql(db, levels[sync]);
    run_sql(db, "CREATE TABLE state(seq INTEGER PRIMARY KEY, record BLOB)");
    if (sqlite3_prepare_v2(db, "INSERT INTO state(record) VALUES(?1)", -1, &insert,
                           NULL) != SQLITE_OK)
        bench_fail("floor", sqlite3_errmsg(db));
    for (uint32_t i = 0; i < n; i++) {
        int64_t at = bench_now();
        fill(bytes, 1200, i);
        run_sql(db, "BEGIN IMMEDIATE");
        sqlite3_bind_blob(insert, 1, bytes, 1200, SQLITE_STATIC);
        if (sqlite3_step(insert) != SQLITE_DONE)
            bench_fail("floor", sqlite3_errmsg(db));
        sqlite3_reset(insert);
        run_sql(db, "COMMIT");
        bench_add(us, (double)(bench_now() - at) / 1e3);
    }
    sqlite3_finalize(insert);
    sqlite3_close(db);
    remove(path);
}

/* ---- Figures ---- */

static int look(void *context, const struct cairn_thread_found *found)
{
    size_t *bytes = context;
    for (size_t i = 0; i < found->state->n_channels; i++)
        *bytes += found->state->channels[i].value.length;
    return 0;
}

static void measure_gets(struct place *p, const char *thread)
{
    struct bench_samples get = {0}, cold = {0}, list = {0};
    const struct cairn_bytes name = text(thread);
    const struct cairn_thread_filter ten = {.thread = &name, .limit = 10};
    size_t bytes = 0;
    for (int i = 0; i < 20; i++) {
        cairn_store_close(p->store);
        int64_t at = bench_now();
        open_at(p, CAIRN_SYNC_FULL);
        bench_check(
            cairn_thread_get(p->store, name, text(""), NULL, look, &bytes, &p->error),
            "get", &p->error);
        bench_add(&cold, (double)(bench_now() - at) / 1e6);
    }
    for (int i = 0; i < 1000; i++) {
        int64_t at = bench_now();
        bench_check(
            cairn_thread_get(p->store, name, text(""), NULL, look, &bytes, &p->error),
            "get", &p->error);
        bench_add(&get, (double)(bench_now() - at) / 1e3);
    }
    for (int i = 0; i < 50; i++) {
        int64_t at = bench_now();
        bench_check(cairn_thread_list(p->store, &ten, look, &bytes, &p->error), "list",
                    &p->error);
        bench_add(&list, (double)(bench_now() - at) / 1e3);
    }
    bench_figure("threads-open-get", &cold, "ms");
    bench_figure("threads-get-newest", &get, "us");
    bench_figure("threads-list-10", &list, "us");
}

static double file_bytes(struct place *p)
{
    struct stat st;
    cairn_store_close(p->store);
    if (stat(p->db, &st))
        bench_fail(p->db, strerror(errno));
    open_at(p, CAIRN_SYNC_FULL);
    return (double)st.st_size;
}

static void measure_delete(struct place *p, const char *thread, uint32_t n)
{
    struct bench_samples ms = {0};
    uint64_t states = 0;
    int64_t at = bench_now();
    bench_check(cairn_thread_delete(p->store, text(thread), &states, &p->error),
                "delete", &p->error);
    bench_add(&ms, (double)(bench_now() - at) / 1e6);
    if (states != n)
        bench_fail("delete", "not all states were there");
    bench_figure("threads-delete", &ms, "ms");
}

/* Turns of floor and cairn, so that both have the same machine. */
static void measure_puts(struct place *p, const char *dir, uint32_t n)
{
    enum { TURN = 100 };
    static const struct {
        const char *name, *floor, *ratio;
        enum cairn_sync sync;
    } levels[] = {{"threads-put-full", "threads-floor-full", "threads-ratio-full",
                   CAIRN_SYNC_FULL},
                  {"threads-put-normal", "threads-floor-normal", "threads-ratio-normal",
                   CAIRN_SYNC_NORMAL}};
    for (size_t l = 0; l < 2; l++) {
        struct bench_samples us = {0}, floor = {0}, ratio = {0};
        cairn_store_close(p->store);
        open_at(p, levels[l].sync);
        for (uint32_t i = 0; i < n; i += TURN) {
            size_t from = us.n;
            double cairn = 0, bare = 0;
            floor_puts(dir, levels[l].sync, TURN, &floor);
            for (uint32_t j = i; j < i + TURN && j < n; j++) {
                int64_t at = bench_now();
                put(p, levels[l].name, j, (struct shape){true, false});
                bench_add(&us, (double)(bench_now() - at) / 1e3);
            }
            for (; from < us.n && from < floor.n; from++) {
                cairn += us.at[from];
                bare += floor.at[from];
            }
            bench_add(&ratio, bare / cairn);
        }
        bench_figure(levels[l].floor, &floor, "us");
        bench_figure(levels[l].name, &us, "us");
        bench_figure(levels[l].ratio, &ratio, "ratio");
    }
}

static void measure_bytes(struct place *p, const char *name, uint32_t n,
                          struct shape shape)
{
    struct bench_samples bytes = {0};
    double before = file_bytes(p);
    cairn_store_close(p->store);
    open_at(p, CAIRN_SYNC_OFF);
    for (uint32_t part = 0; part < 4; part++) {
        for (uint32_t i = part * n / 4; i < (part + 1) * n / 4; i++)
            put(p, name, i, shape);
        double after = file_bytes(p);
        double each = (after - before) / ((part + 1) * n / 4 - part * n / 4);
        bench_add(&bytes, each - (shape.noise ? VALUE_BYTES : 0));
        before = after;
        cairn_store_close(p->store);
        open_at(p, CAIRN_SYNC_OFF);
    }
    bench_figure(name, &bytes, "bytes");
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)bench_number(argv[1]) : 10000;
    struct place p = {.store = NULL};
    const char *dir = bench_make_dir();
    bench_head("threads");
    snprintf(p.path, sizeof p.path, "%s", argc > 2 ? argv[2] : "");
    if (argc <= 2)
        snprintf(p.path, sizeof p.path, "%s/.cairn", dir);
    snprintf(p.db, sizeof p.db, "%s/cairn.db", p.path);
    open_at(&p, CAIRN_SYNC_FULL);
    measure_puts(&p, dir, n < 2000 ? n : 2000);
    measure_bytes(&p, "threads-bytes-one-call", n, (struct shape){true, false});
    measure_bytes(&p, "threads-bytes-noise", n, (struct shape){true, true});
    measure_bytes(&p, "threads-bytes-two-calls", n, (struct shape){false, false});
    measure_gets(&p, "threads-bytes-two-calls");
    measure_delete(&p, "threads-bytes-two-calls", n);
    cairn_store_close(p.store);
    remove_tree(dir);
    return 0;
}
