/* SPDX-License-Identifier: MIT */
/* What checkpoints of debugging sessions cost.
 *
 *   sessions [ITEMS [CHECKPOINTS [MANY]]]        1000 500 100000
 *   sessions make DIR CHECKPOINTS                 measures nothing: a store for web.mjs
 *
 * A board of ITEMS notes, of which one in a hundred changes before each of CHECKPOINTS
 * checkpoints; create and restore are one call each, every write synced. floor: a bare
 * SQLite transaction that inserts as many bytes as a create stored. size: the content
 * of all checkpoints as it is stored, in percent of full copies. one_note: what a
 * checkpoint stores after a change of a single note. Then a session of MANY checkpoints
 * of ten notes, not synced, and questions to it, each with a handle of its own. At last
 * messages: a transcript of 10,000 lines and then of 100,000, imported, and single ones
 * added and listed behind them, every write synced. */
#include "bench.h"

#include <sqlite3.h>

enum { NOTE_BYTES = 160, FEW = 10 };

static struct cairn_error error;
static char db_path[4200];

/* ---- The board ---- */

static void note_text(char out[NOTE_BYTES], unsigned long n)
{
    static unsigned long seed = 88172645463325252ul;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    snprintf(out, NOTE_BYTES,
             "note %lu: request %016lx took %lu ms on host %lu, twice as long as the "
             "one before it, and its cache key was %08lx",
             n, seed, seed % 997, seed % 61, seed >> 32);
}

static void add_notes(struct cairn_store *store, unsigned long n)
{
    char text[NOTE_BYTES];
    struct cairn_set set = {"text", text};
    for (unsigned long i = 0; i < n; i++) {
        note_text(text, i);
        bench_check(cairn_item_add(store, NULL, "note", &set, 1, NULL, &error), "add",
                    &error);
    }
}

static void change_note(struct cairn_store *store, unsigned long n)
{
    char text[NOTE_BYTES], id[32];
    struct cairn_set set = {"text", text};
    note_text(text, n);
    snprintf(id, sizeof id, "n%lu", n + 1);
    bench_check(cairn_item_set(store, NULL, id, &set, 1, NULL, &error), "change",
                &error);
}

static void checkpoint(struct cairn_store *store, struct cairn_captured *made)
{
    struct cairn_capture capture = {.message = "bench"};
    bench_check(cairn_session_checkpoint(store, NULL, &capture, made, &error), "create",
                &error);
    if (!made->made)
        bench_fail("create", "no checkpoint was made");
}

/* ---- What is stored ---- */

static double stored(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    if (sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        bench_fail(sql, sqlite3_errmsg(db));
    double value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static const char content_sql[] = "SELECT sum(length(data)) FROM object";
static const char copies_sql[] = "SELECT sum(size) FROM object";
static const char records_sql[] =
    "SELECT sum(length(record) + length(digest)) FROM checkpoint";

/* ---- The floor ---- */

static void run_sql(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        bench_fail(sql, sqlite3_errmsg(db));
}

static sqlite3 *floor_open(const char *dir)
{
    char path[4200];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/floor.db", dir);
    if (sqlite3_open(path, &db) != SQLITE_OK)
        bench_fail(path, sqlite3_errmsg(db));
    run_sql(db, "PRAGMA page_size = 2048; PRAGMA journal_mode = WAL;"
                "PRAGMA synchronous = FULL; CREATE TABLE t(id INTEGER PRIMARY KEY, "
                "content BLOB);");
    return db;
}

static double floor_step(sqlite3 *db, int bytes)
{
    sqlite3_stmt *insert;
    int64_t began = bench_now();
    run_sql(db, "BEGIN IMMEDIATE");
    if (sqlite3_prepare_v2(db, "INSERT INTO t(content) VALUES(zeroblob(?1))", -1,
                           &insert, NULL) != SQLITE_OK)
        bench_fail("floor", sqlite3_errmsg(db));
    sqlite3_bind_int(insert, 1, bytes);
    if (sqlite3_step(insert) != SQLITE_DONE)
        bench_fail("floor", sqlite3_errmsg(db));
    sqlite3_finalize(insert);
    run_sql(db, "COMMIT");
    return (double)(bench_now() - began) / 1e6;
}

/* ---- Create and restore ---- */

static void measure_board(const char *dir, unsigned long items, unsigned long n)
{
    struct bench_samples create = {0}, restore = {0}, floor = {0};
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    struct cairn_captured made;
    struct cairn_restored report;
    sqlite3 *db = floor_open(dir);
    bench_check(cairn_session_start(store, "bench", true, NULL, &error), "start",
                &error);
    add_notes(store, items);
    checkpoint(store, &made);
    double before = stored(content_sql) + stored(records_sql);
    for (unsigned long i = 0; i < n; i++) {
        for (unsigned long k = 0; k < (items + 99) / 100; k++)
            change_note(store, (i * 37 + k * 101) % items);
        int64_t began = bench_now();
        checkpoint(store, &made);
        bench_add(&create, (double)(bench_now() - began) / 1e6);
        double bytes =
            (stored(content_sql) + stored(records_sql) - before) / (double)(i + 1);
        bench_add(&floor, floor_step(db, (int)bytes));
    }
    double share = 100 * stored(content_sql) / stored(copies_sql);
    for (unsigned long i = 0; i < 20 && i < n; i++) {
        char id[CAIRN_ID_MAX];
        snprintf(id, sizeof id, "%s", made.id);
        change_note(store, i);
        checkpoint(store, &made);
        int64_t began = bench_now();
        bench_check(cairn_session_restore(store, NULL, id, NULL, &report, &error),
                    "restore", &error);
        bench_add(&restore, (double)(bench_now() - began) / 1e6);
    }
    before = stored(content_sql) + stored(records_sql);
    change_note(store, 0);
    checkpoint(store, &made);
    double one = stored(content_sql) + stored(records_sql) - before;
    bench_figure("sessions.create", &create, "ms");
    bench_figure("sessions.floor", &floor, "ms");
    bench_figure("sessions.restore", &restore, "ms");
    bench_value("sessions.size", share, "% of full copies");
    bench_value("sessions.one_note", one, "bytes");
    sqlite3_close(db);
    cairn_store_close(store);
}

/* ---- Many ---- */

static int ignore_info(void *context, const struct cairn_checkpoint_info *info)
{
    (void)context;
    (void)info;
    return 0;
}

static struct cairn_store *open_again(const char *dir, struct bench_samples *samples)
{
    int64_t began = bench_now();
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_OFF);
    if (samples)
        bench_add(samples, (double)(bench_now() - began) / 1e6);
    return store;
}

static void ask_many(const char *dir)
{
    struct bench_samples opened = {0}, listed = {0}, found = {0}, told = {0};
    struct cairn_checkpoint_filter filter = {.page = {.limit = 10}};
    struct cairn_moment now = {.time = "now"};
    struct cairn_checkpoint_info info;
    struct cairn_session_info session;
    for (int i = 0; i < 10; i++) {
        struct cairn_store *store = open_again(dir, &opened);
        int64_t began = bench_now();
        bench_check(
            cairn_checkpoint_list(store, &filter, ignore_info, NULL, NULL, &error),
            "list", &error);
        int64_t at = bench_now();
        bench_add(&listed, (double)(at - began) / 1e6);
        bench_check(cairn_session_at(store, NULL, &now, &info, &error), "at", &error);
        began = bench_now();
        bench_add(&found, (double)(began - at) / 1e6);
        bench_check(cairn_session_get(store, NULL, &session, &error), "get", &error);
        bench_add(&told, (double)(bench_now() - began) / 1e6);
        cairn_store_close(store);
    }
    bench_figure("sessions.many.open", &opened, "ms");
    bench_figure("sessions.many.list", &listed, "ms");
    bench_figure("sessions.many.at", &found, "ms");
    bench_figure("sessions.many.show", &told, "ms");
}

/* Some from the middle of so many, each by a handle of its own. */
static void delete_some(const char *dir, unsigned long n, const char *name)
{
    struct bench_samples took = {0};
    for (unsigned long i = 0; i < 20 && n > 100; i++) {
        char id[32];
        struct cairn_store *store = open_again(dir, NULL);
        snprintf(id, sizeof id, "debug:%lu", n / 2 + 2 * i);
        int64_t began = bench_now();
        bench_check(cairn_checkpoint_delete(store, id, &error), "delete", &error);
        bench_add(&took, (double)(bench_now() - began) / 1e6);
        cairn_store_close(store);
    }
    bench_figure(name, &took, "ms");
}

static void measure_many(const char *dir, unsigned long n)
{
    struct bench_samples first = {0}, last = {0};
    struct cairn_store *store = open_again(dir, NULL);
    struct cairn_captured made;
    bench_check(cairn_session_start(store, "many", true, NULL, &error), "start",
                &error);
    add_notes(store, FEW);
    for (unsigned long i = 0; i < n; i++) {
        if (i == 1000) {
            cairn_store_close(store);
            delete_some(dir, i, "sessions.many.delete_at_1000");
            store = open_again(dir, NULL);
        }
        change_note(store, i % FEW);
        int64_t began = bench_now();
        checkpoint(store, &made);
        if (i < 1000 || i + 1000 >= n)
            bench_add(i < 1000 ? &first : &last, (double)(bench_now() - began) / 1e3);
    }
    cairn_store_close(store);
    bench_figure("sessions.many.first_1000", &first, "us");
    bench_figure("sessions.many.last_1000", &last, "us");
    delete_some(dir, n, "sessions.many.delete");
    ask_many(dir);
}

/* ---- Messages ---- */

struct transcript {
    unsigned long next, end;
    char line[700];
    size_t at, length;
};

static void next_line(struct transcript *t)
{
    char words[4 * NOTE_BYTES] = "";
    for (size_t n = 0; n < 3; n++)
        note_text(words + strlen(words), t->next);
    t->length = (size_t)snprintf(
        t->line, sizeof t->line,
        "{\"type\":\"user\",\"uuid\":\"%lu\",\"message\":{\"role\":\"user\","
        "\"content\":\"%s\"}}\n",
        t->next++, words);
    t->at = 0;
}

static int64_t read_lines(void *context, char *bytes, size_t n)
{
    struct transcript *t = context;
    size_t put = 0;
    while (put < n && (t->at < t->length || t->next < t->end)) {
        if (t->at == t->length)
            next_line(t);
        size_t part = t->length - t->at < n - put ? t->length - t->at : n - put;
        memcpy(bytes + put, t->line + t->at, part);
        t->at += part;
        put += part;
    }
    return (int64_t)put;
}

static void import_lines(struct cairn_store *store, const char *name, unsigned long n)
{
    struct transcript t = {.end = n};
    struct bench_samples took = {0};
    int64_t began = bench_now();
    bench_check(
        cairn_message_import(store, NULL, "bench", read_lines, NULL, &t, NULL, &error),
        "import", &error);
    bench_add(&took, (double)(bench_now() - began) / 1e6);
    bench_figure(name, &took, "ms");
}

static int pass_message(void *context, const struct cairn_message *message)
{
    *(uint64_t *)context += message->size;
    return 0;
}

static void add_messages(struct cairn_store *store, const char *add, const char *list)
{
    struct cairn_new_message message = {.text = "it is slow again", .bytes = 16};
    struct bench_samples adds = {0}, lists = {0};
    uint64_t sum = 0;
    for (int i = 0; i < 200; i++) {
        int64_t began = bench_now();
        bench_check(cairn_message_add(store, NULL, &message, NULL, &error), "add",
                    &error);
        bench_add(&adds, (double)(bench_now() - began) / 1e3);
        began = bench_now();
        bench_check(
            cairn_message_list(store, NULL, NULL, 10, pass_message, &sum, NULL, &error),
            "list", &error);
        bench_add(&lists, (double)(bench_now() - began) / 1e3);
    }
    bench_figure(add, &adds, "us");
    bench_figure(list, &lists, "us");
}

static void measure_messages(const char *dir)
{
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    bench_check(cairn_session_start(store, "messages", true, NULL, &error), "start",
                &error);
    import_lines(store, "sessions.messages.import_10k", 10000);
    import_lines(store, "sessions.messages.import_10k_again", 10000);
    add_messages(store, "sessions.messages.add_at_10k",
                 "sessions.messages.list_10_at_10k");
    import_lines(store, "sessions.messages.import_90k_more", 100000);
    add_messages(store, "sessions.messages.add_at_100k",
                 "sessions.messages.list_10_at_100k");
    cairn_store_close(store);
}

/* ---- A store to look at ---- */

/* A session in DIR/.cairn whose checkpoints have twenty files, of which each changes
 * one. */
static void make_store(const char *dir, unsigned long n)
{
    char path[4200], text[100];
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_OFF);
    struct cairn_capture capture = {.message = text};
    struct cairn_captured made;
    snprintf(path, sizeof path, "%s/files", dir);
    if (mkdir(path, 0777) != 0)
        bench_fail(path, strerror(errno));
    bench_check(cairn_session_start(store, "many", true, NULL, &error), "start",
                &error);
    bench_check(cairn_session_configure(store, NULL, "files", path, &error), "files",
                &error);
    for (unsigned long i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/files/f%lu.c", dir, i % 20);
        FILE *file = fopen(path, "w");
        if (!file)
            bench_fail(path, strerror(errno));
        for (unsigned line = 0; line < 60; line++)
            fprintf(file, "line %u of version %lu: %lx\n", line, i,
                    (i * 2654435761u + line) & 0xffffff);
        if (fclose(file) != 0)
            bench_fail(path, strerror(errno));
        snprintf(text, sizeof text, "step %lu: changed f%lu.c", i, i % 20);
        bench_check(cairn_session_checkpoint(store, NULL, &capture, &made, &error),
                    "create", &error);
    }
    cairn_store_close(store);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "make") == 0) {
        make_store(argv[2], bench_number(argv[3]));
        return 0;
    }
    unsigned long items = argc > 1 ? bench_number(argv[1]) : 1000;
    unsigned long n = argc > 2 ? bench_number(argv[2]) : 500;
    unsigned long many = argc > 3 ? bench_number(argv[3]) : 100000;
    char dir[4096], path[4200];
    snprintf(dir, sizeof dir, "%s", bench_make_dir());
    snprintf(db_path, sizeof db_path, "%s/.cairn/cairn.db", dir);
    bench_head("sessions: checkpoints of a board");
    measure_board(dir, items, n);
    snprintf(path, sizeof path, "%s/.cairn", dir);
    remove_tree(path);
    measure_many(dir, many);
    remove_tree(path);
    measure_messages(dir);
    remove_tree(dir);
    return 0;
}
