/* SPDX-License-Identifier: MIT */
/* What a change of a session's board costs, by how many items it has.
 *
 *   board [MOST]                                  100000
 *
 * For boards of 10, 1,000, 10,000 and 100,000 items (as far as MOST): processor time of
 * a note that is added, changed, removed and undone, of evidence, a belief and a
 * dependency that are added, of a checkpoint after the change of one note and of the
 * difference between that checkpoint and the one before. Nothing is synced. floor: a bare SQLite transaction that
 * inserts the same rows: an item, a row of the log, an event, and the settings that
 * count them. build: all items of the board, one call each. */
#include "bench.h"

#include <sqlite3.h>

enum { SAMPLES = 200, FEW = 20 };

static struct cairn_error error;

static double used_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- Changes ---- */

static void text_of(char out[160], unsigned long n)
{
    snprintf(out, 160,
             "note %lu: the request took %lu ms on host %lu, twice as long as the one "
             "before it, and its cache key was %08lx",
             n, n % 997, n % 61, n * 2654435761ul % 4294967296ul);
}

static void add(struct cairn_store *store, const char *kind,
                const struct cairn_set *sets, size_t n)
{
    bench_check(cairn_item_add(store, NULL, kind, sets, n, NULL, &error), kind, &error);
}

static void add_note(struct cairn_store *store, unsigned long n)
{
    char text[160];
    text_of(text, n);
    add(store, "note", &(struct cairn_set){"text", text}, 1);
}

static void change_note(struct cairn_store *store, unsigned long n, unsigned long to)
{
    char text[160], id[32];
    struct cairn_set set = {"text", text};
    text_of(text, to);
    snprintf(id, sizeof id, "n%lu", n);
    bench_check(cairn_item_set(store, NULL, id, &set, 1, NULL, &error), "change",
                &error);
}

static void remove_note(struct cairn_store *store, unsigned long n)
{
    char id[32];
    snprintf(id, sizeof id, "n%lu", n);
    bench_check(cairn_item_remove(store, NULL, id, NULL, &error), "remove", &error);
}

static void undo(struct cairn_store *store)
{
    bench_check(cairn_session_undo(store, NULL, NULL, &error), "undo", &error);
}

static void checkpoint(struct cairn_store *store, struct cairn_captured *made)
{
    struct cairn_capture capture = {.message = "bench"};
    bench_check(cairn_session_checkpoint(store, NULL, &capture, made, &error),
                "checkpoint", &error);
}

static int pass_change(void *context, const struct cairn_board_change *change)
{
    (void)change;
    ++*(unsigned long *)context;
    return 0;
}

static void compare(struct cairn_store *store, const struct cairn_captured *before,
                    const struct cairn_captured *after)
{
    unsigned long n = 0;
    bench_check(cairn_session_diff(store, NULL, before->id, after->id, pass_change, &n,
                                   NULL, &error),
                "diff", &error);
    if (n != 1)
        bench_fail("diff", "not one change");
}

/* ---- The floor ---- */

static sqlite3 *floor_open(const char *dir)
{
    static const char made[] =
        "PRAGMA page_size = 2048; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
        "CREATE TABLE item(session INTEGER, kind INTEGER, n INTEGER, body BLOB,"
        " sum BLOB, PRIMARY KEY(session, kind, n)) WITHOUT ROWID;"
        "CREATE TABLE log(session INTEGER, turn INTEGER, n INTEGER, body BLOB,"
        " sum BLOB, PRIMARY KEY(session, turn, n)) WITHOUT ROWID;"
        "CREATE TABLE event(turn INTEGER PRIMARY KEY, data BLOB);"
        "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
        "CREATE TABLE session(session INTEGER PRIMARY KEY, numbers BLOB);";
    char path[4200];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/floor.db", dir);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, made, NULL, NULL, NULL) != SQLITE_OK)
        bench_fail(path, sqlite3_errmsg(db));
    return db;
}

enum { FLOOR = 8 };

static void floor_prepare(sqlite3 *db, sqlite3_stmt *at[FLOOR])
{
    static const char *const texts[FLOOR] = {
        "BEGIN IMMEDIATE",
        "INSERT INTO item VALUES(1, 6, ?1, ?2, zeroblob(8))",
        "INSERT INTO log VALUES(1, ?1, 1, ?2, zeroblob(8))",
        "INSERT INTO event VALUES(?1, zeroblob(12))",
        "REPLACE INTO meta VALUES('rows item 1', ?2)",
        "REPLACE INTO meta VALUES('rows log 1', ?2)",
        "REPLACE INTO session VALUES(1, zeroblob(60))",
        "COMMIT"};
    for (size_t i = 0; i < FLOOR; i++)
        if (sqlite3_prepare_v2(db, texts[i], -1, &at[i], NULL) != SQLITE_OK)
            bench_fail(texts[i], sqlite3_errmsg(db));
}

static void floor_step(sqlite3 *db, sqlite3_stmt *at[FLOOR], unsigned long n)
{
    char text[160];
    text_of(text, n);
    for (size_t i = 0; i < FLOOR; i++) {
        int values = sqlite3_bind_parameter_count(at[i]);
        if (values)
            sqlite3_bind_int64(at[i], 1, (sqlite3_int64)n);
        if (values > 1)
            sqlite3_bind_text(at[i], 2, text, i == 4 || i == 5 ? 24 : -1,
                              SQLITE_STATIC);
        if (sqlite3_step(at[i]) != SQLITE_DONE)
            bench_fail("floor", sqlite3_errmsg(db));
        sqlite3_reset(at[i]);
    }
}

/* ---- One size ---- */

static void figure(const char *name, unsigned long items, struct bench_samples *samples)
{
    char text[80];
    snprintf(text, sizeof text, "board.%lu.%s", items, name);
    bench_figure(text, samples, "us");
}

#define MEASURE(samples, call)                   \
    do {                                         \
        double before_ = used_us();              \
        call;                                    \
        bench_add(samples, used_us() - before_); \
    } while (0)

static void measure_floor(const char *dir, unsigned long items)
{
    struct bench_samples floor = {0};
    sqlite3 *db = floor_open(dir);
    sqlite3_stmt *at[FLOOR];
    floor_prepare(db, at);
    for (unsigned long i = 1; i <= items; i++)
        floor_step(db, at, i);
    for (unsigned long i = 1; i <= SAMPLES; i++)
        MEASURE(&floor, floor_step(db, at, items + i));
    for (size_t i = 0; i < FLOOR; i++)
        sqlite3_finalize(at[i]);
    sqlite3_close(db);
    figure("floor", items, &floor);
}

static void measure_changes(struct cairn_store *store, unsigned long items)
{
    struct bench_samples added = {0}, changed = {0}, removed = {0}, undone = {0};
    for (unsigned long i = 0; i < SAMPLES; i++)
        MEASURE(&added, add_note(store, items + i));
    for (unsigned long i = 0; i < SAMPLES; i++)
        MEASURE(&changed, change_note(store, 1 + i * 7919 % items, items + i));
    for (unsigned long i = 0; i < SAMPLES / 2; i++)
        MEASURE(&removed, remove_note(store, items + 1 + i));
    for (unsigned long i = 0; i < FEW; i++)
        MEASURE(&undone, undo(store));
    figure("add", items, &added);
    figure("change", items, &changed);
    figure("remove", items, &removed);
    figure("undo", items, &undone);
}

/* A hypothesis with two pieces of evidence, beliefs of a subject, what rests on what. */
static void measure_reasoning(struct cairn_store *store, unsigned long items)
{
    struct bench_samples evidence = {0}, belief = {0}, dependency = {0};
    for (unsigned long i = 0; i < SAMPLES / 2; i++) {
        char text[160], subject[32], id[2][32];
        text_of(text, i);
        snprintf(subject, sizeof subject, "host %lu", i);
        add(store, "hypothesis", &(struct cairn_set){"statement", text}, 1);
        snprintf(id[0], sizeof id[0], "h%lu", i + 1);
        const struct cairn_set found[] = {
            {"text", text}, {"hypothesis", id[0]}, {"strength", "0.3"}};
        add(store, "evidence", found, 3);
        MEASURE(&evidence, add(store, "evidence", found, 3));
        const struct cairn_set believed[] = {
            {"statement", text}, {"subject", subject}, {"claim", "slow"}};
        add(store, "belief", believed, 3);
        MEASURE(&belief, add(store, "belief", believed, 3));
        snprintf(id[0], sizeof id[0], "b%lu", 2 * i + 1);
        snprintf(id[1], sizeof id[1], "b%lu", 2 * i + 2);
        const struct cairn_set rests[] = {{"from", id[0]}, {"to", id[1]}};
        MEASURE(&dependency, add(store, "dependency", rests, 2));
    }
    figure("add_evidence", items, &evidence);
    figure("add_belief", items, &belief);
    figure("add_dependency", items, &dependency);
}

static void measure_checkpoints(struct cairn_store *store, unsigned long items)
{
    struct bench_samples made = {0}, differ = {0};
    struct cairn_captured before, after;
    checkpoint(store, &before);
    for (unsigned long i = 0; i < FEW; i++) {
        change_note(store, 1 + i * 7919 % items, 2 * items + i);
        MEASURE(&made, checkpoint(store, &after));
        MEASURE(&differ, compare(store, &before, &after));
        before = after;
    }
    figure("checkpoint", items, &made);
    figure("diff", items, &differ);
}

static void measure(const char *dir, unsigned long items)
{
    struct bench_samples build = {0};
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_OFF);
    char name[32];
    snprintf(name, sizeof name, "board-%lu", items);
    bench_check(cairn_session_start(store, name, true, NULL, &error), "start", &error);
    bench_check(cairn_session_configure(store, NULL, "significant-time", "off", &error),
                "config", &error);
    double began = used_us();
    for (unsigned long i = 0; i < items; i++)
        add_note(store, i);
    bench_add(&build, used_us() - began);
    figure("build", items, &build);
    measure_floor(dir, items);
    measure_changes(store, items);
    measure_reasoning(store, items);
    measure_checkpoints(store, items);
    cairn_store_close(store);
}

int main(int argc, char **argv)
{
    static const unsigned long sizes[] = {10, 1000, 10000, 100000};
    unsigned long most = argc > 1 ? bench_number(argv[1]) : 100000;
    bench_head("A change of a board, processor time");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= most; i++) {
        char *dir = bench_make_dir();
        measure(dir, sizes[i]);
        remove_tree(dir);
    }
    return 0;
}
