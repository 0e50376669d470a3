/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* The store of an older release: read as it is, migrated by the first writer, also
 * while older processes work with it. */
#include "storage/health.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_meta.h"
#include "storage/rows_run.h"
#include "storage/schema.h"
#include "storage/store.h"
#include "tests/support/old_store.h"
#include "tests/support/store.h"

#include <sqlite3.h>

/* ---- Looking ---- */

static int check_run(void *context, const struct run_row *row)
{
    buf_format(context, "%llu %.*s %d%s ", (unsigned long long)row->run,
               (int)row->workflow_name.len, row->workflow_name.ptr, row->state,
               row->sum_ok ? "" : " damaged");
    return 0;
}

static int add_attempt(void *context, const struct attempt_row *row)
{
    buf_format(context, "%u.%u:%u%s ", row->task, row->number, row->outcome,
               row->ended_ns ? "" : " open");
    ck_assert_uint_eq(row->start_turn, 0);
    ck_assert_uint_eq(row->end_turn, 0);
    ck_assert_uint_eq(row->checkpoint, 0);
    return 0;
}

static int count_event(void *context, const struct event_row *row)
{
    ck_assert_uint_eq(row->kind, EVENT_NOTICE);
    ++*(int *)context;
    return 0;
}

static int count_claim(void *context, const struct claim_row *row)
{
    ck_assert(row->sum_ok);
    ++*(int *)context;
    return 0;
}

static int count_attempt(void *context, const struct attempt_row *row)
{
    (void)row;
    ++*(int *)context;
    return 0;
}

static void expect_text(struct buf *text, const char *want)
{
    ck_assert_str_eq(text->data, want);
    buf_clear(text);
}

/* What the old release has put there, however it is read. */
static void look(struct cairn_store *store)
{
    struct buf text = BUF_INIT;
    struct run_filter all = {.ascending = true};
    int n = 0;
    ck_assert_str_eq(store_lineage(store), "189968d2aeb49bf8ea1a0dd3f8b1a549");
    good(store_each_run(store, &all, check_run, &text, &error));
    expect_text(&text, "1 golden 2 2 good 1 3 cut 0 ");
    good(store_each_run_attempt(store, 1, 1, false, add_attempt, &text, &error));
    expect_text(&text, "0.1:1 1.1:1 2.1:2 2.2:2 3.1:1 5.1:1 ");
    good(store_each_run_attempt(store, 3, 1, false, add_attempt, &text, &error));
    expect_text(&text, "0.1:1 1.1:0 open ");
    good(store_each_run_attempt(store, 3, 1, true, add_attempt, &text, &error));
    expect_text(&text, "1.1:0 open ");
    good(store_each_attempt(store, 1, 1, 2, add_attempt, &text, &error));
    expect_text(&text, "2.1:2 2.2:2 ");
    struct attempt_row key = {.run = 1, .gen = 1, .task = 2, .number = 2};
    good(store_get_attempt(store, &key, add_attempt, &text, &error));
    expect_text(&text, "2.2:2 ");
    good(store_each_new_attempt(store, 1, 0, count_attempt, &n, &error));
    ck_assert_int_eq(n, 0);
    ck_assert_uint_eq(count(store), 13);
    buf_release(&text);
}

static int events(struct cairn_store *store)
{
    int n = 0;
    good(store_each_event(store, 1, 0, count_event, &n, &error));
    return n;
}

static int claims(struct cairn_store *store)
{
    int n = 0;
    good(store_each_claim(store, 1, 1, count_claim, &n, &error));
    return n;
}

static uint64_t put_some(struct cairn_store *store)
{
    struct event_row event = {
        .run = 1, .kind = EVENT_NOTICE, .task = UINT32_MAX, .data = STR("x")};
    struct claim_row claim = {.run = 1,
                              .gen = 1,
                              .task = 4,
                              .token = STR("t"),
                              .holder = STR("h"),
                              .boot = STR("b")};
    good(store_begin(store, -1, &error));
    good(store_next_turn(store, 1, &event.turn, &error));
    good(store_put_event(store, &event, &error));
    good(store_put_claim(store, &claim, &error));
    good(store_commit(store, &error));
    return event.turn;
}

/* ---- Tests ---- */

START_TEST(read_as_it_is)
{
    struct buf before = BUF_INIT, after = BUF_INIT;
    uint8_t verb = 0, key[32];
    bool has = false, taken = true;
    put_old_store(path);
    good(os_read_file(in_store("cairn.db"), 100000, &before, &error));
    struct cairn_store *store = open_reader();
    look(store);
    ck_assert_int_eq(events(store), 0);
    ck_assert_int_eq(claims(store), 0);
    good(store_has_command(store, 3, &has, &verb, &error));
    ck_assert(has);
    ck_assert_uint_eq(verb, COMMAND_CANCEL);
    good(store_command_taken(store, 1, &taken, &error));
    ck_assert(!taken);
    ck_assert_int_eq(store_secret_key(store, false, key, &error), CAIRN_ENOTFOUND);
    good(store_begin_read(store, &error));
    look(store);
    store_end_read(store);
    cairn_store_close(store);
    good(os_read_file(in_store("cairn.db"), 100000, &after, &error));
    ck_assert(str_equal(buf_view(&before), buf_view(&after)));
    buf_release(&before);
    buf_release(&after);
}
END_TEST

START_TEST(migrated_by_a_writer)
{
    struct command_row command = {.verb = 9};
    struct buf data = BUF_INIT;
    put_old_store(path);
    struct cairn_store *store = open_store();
    look(store);
    ck_assert_uint_eq(put_some(store), 1);
    ck_assert_uint_eq(put_some(store), 2);
    good(store_next_command(store, 3, 0, &command, &data, &error));
    ck_assert_uint_eq(command.verb, COMMAND_CANCEL);
    ck_assert_uint_eq(command.id, 1);
    ck_assert_uint_eq(command.task, UINT32_MAX);
    ck_assert_uint_eq(command.data.len, 0);
    good(store_begin(store, -1, &error));
    good(store_mark_commands(store, 3, 1, &error));
    good(store_commit(store, &error));
    good(store_next_command(store, 3, 0, &command, &data, &error));
    ck_assert_uint_eq(command.verb, 0);
    cairn_store_close(store);
    store = open_reader();
    ck_assert(!store->stands_in);
    look(store);
    ck_assert_int_eq(events(store), 2);
    ck_assert_int_eq(claims(store), 1);
    cairn_store_close(store);
    buf_release(&data);
}
END_TEST

/* A reader that was there before sees what the writer adds. */
START_TEST(migrated_under_a_reader)
{
    put_old_store(path);
    struct cairn_store *reader = open_reader();
    look(reader);
    ck_assert_int_eq(events(reader), 0);
    good(store_begin_read(reader, &error));
    ck_assert_int_eq(events(reader), 0);
    struct cairn_store *writer = open_store();
    put_some(writer);
    ck_assert_int_eq(events(reader), 0); /* its moment stands still */
    ck_assert_int_eq(claims(reader), 0);
    store_end_read(reader);
    look(reader);
    good(store_begin_read(reader, &error));
    ck_assert_int_eq(events(reader), 1);
    ck_assert_int_eq(claims(reader), 1);
    store_end_read(reader);
    put_some(writer);
    ck_assert_int_eq(events(reader), 2);
    look(reader);
    cairn_store_close(writer);
    cairn_store_close(reader);
}
END_TEST

static sqlite3_stmt *prepare(sqlite3 *handle, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    ck_assert_int_eq(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
    return statement;
}

static void step(sqlite3_stmt *statement, int want)
{
    ck_assert_int_eq(sqlite3_step(statement), want);
    ck_assert_int_eq(sqlite3_finalize(statement), SQLITE_OK);
}

/* An older process continues with the statements it has prepared. */
START_TEST(older_process_goes_on)
{
    sqlite3 *handle = NULL;
    struct buf data = BUF_INIT, text = BUF_INIT;
    struct command_row command = {0};
    put_old_store(path);
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &handle), SQLITE_OK);
    sqlite3_stmt *intent = prepare(handle, "INSERT INTO attempt(run, gen, task, n, "
                                           "intent_ns) VALUES(3, 1, 1, 2, 5)");
    sqlite3_stmt *attempt =
        prepare(handle, "INSERT OR REPLACE INTO attempt(run, gen, task, n, intent_ns, "
                        "duration_ns, outcome) VALUES(3, 1, 1, 2, 5, 6, 1)");
    sqlite3_stmt *give = prepare(handle, "INSERT INTO command(run, verb, time_ns, "
                                         "taken) VALUES(3, 1, 5, 0)");
    sqlite3_stmt *take =
        prepare(handle, "UPDATE command SET taken = 1 WHERE run = 3 AND id = 1");
    struct cairn_store *store = open_store();
    step(intent, SQLITE_DONE);
    step(attempt, SQLITE_DONE);
    step(give, SQLITE_DONE);
    step(take, SQLITE_DONE);
    good(store_each_run_attempt(store, 3, 1, false, add_attempt, &text, &error));
    expect_text(&text, "0.1:1 1.1:0 open 1.2:1 ");
    good(store_next_command(store, 3, 0, &command, &data, &error));
    ck_assert_uint_eq(command.id, 2);
    ck_assert_uint_eq(command.verb, COMMAND_CANCEL);
    cairn_store_close(store);
    ck_assert_int_eq(sqlite3_close(handle), SQLITE_OK);
    buf_release(&data);
    buf_release(&text);
}
END_TEST

/* No room to migrate: nothing has changed, and it works the next time. */
START_TEST(migration_fails)
{
    struct cairn_store *store = NULL;
    struct rlimit limit, low;
    put_old_store(path);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    low = limit;
    low.rlim_cur = 2000;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
    int rc = try_open(&store, false);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(rc, CAIRN_EIO);
    store = open_reader();
    ck_assert(store->stands_in);
    look(store);
    cairn_store_close(store);
    store = open_store();
    look(store);
    cairn_store_close(store);
}
END_TEST

/* ---- Bases of objects, since version 5 ---- */

static int note_damage(void *context, const char *hex, const char *why)
{
    (void)context;
    ck_abort_msg("%s: %s", hex, why);
    return 0;
}

static uint64_t objects(struct cairn_store *store)
{
    uint64_t checked = 0;
    good(store_verify_objects(store, &checked, note_damage, NULL, &error));
    return checked;
}

static int64_t version_of(struct cairn_store *store)
{
    struct db_header header;
    good(db_header(store->db, &header, &error));
    return header.user_version;
}

static struct str content_of(char letter)
{
    static char content[2000];
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (char)(i * i >> 5);
    memset(content + 100, letter, 20);
    return (struct str){content, sizeof content};
}

static int read_content(struct cairn_store *store, const struct digest *digest,
                        char letter)
{
    struct buf out = BUF_INIT;
    int rc = store_get_object(store, digest, &out, &error);
    ck_assert(rc || str_equal(buf_view(&out), content_of(letter)));
    buf_release(&out);
    return rc;
}

/* One that is read as it is, then migrated by a writer who puts a delta. */
START_TEST(bases_come_with_a_writer)
{
    struct digest a, b;
    put_store_of_version(path, _i);
    struct cairn_store *reader = open_reader();
    ck_assert_int_eq(reader->stands_in, _i);
    uint64_t before = objects(reader);
    ck_assert_uint_gt(before, 5);
    struct cairn_store *writer = open_store();
    ck_assert_int_eq(version_of(writer), SCHEMA_VERSION);
    ck_assert_uint_eq(objects(writer), before);
    good(store_begin(writer, -1, &error));
    good(store_put_object(writer, content_of('a'), &a, &error));
    good(store_put_object_after(writer, content_of('b'), &a, &b, &error));
    good(store_commit(writer, &error));
    good(store_begin_read(reader, &error)); /* it notices here */
    ck_assert_int_eq(reader->stands_in, 0);
    ck_assert_int_eq(read_content(reader, &b, 'b'), 0);
    ck_assert_uint_eq(objects(reader), before + 2);
    store_end_read(reader);
    cairn_store_close(writer);
    cairn_store_close(reader);
    writer = open_store();
    ck_assert_int_eq(read_content(writer, &b, 'b'), 0);
    char line[100] = "";
    good(store_check_schema(writer, note_line, line, &error));
    ck_assert_str_eq(line, "");
    cairn_store_close(writer);
}
END_TEST

/* A reader of an old store, which an older cairn then migrates to its own version: what
 * that lacks is still stood in for. */
START_TEST(migrated_by_an_older_cairn)
{
    sqlite3 *handle = NULL;
    put_store_of_version(path, 3);
    struct cairn_store *reader = open_reader();
    uint64_t before = objects(reader);
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &handle), SQLITE_OK);
    step(prepare(handle, "PRAGMA user_version = 4"), SQLITE_DONE); /* all of it */
    good(store_begin_read(reader, &error));
    ck_assert_int_eq(reader->stands_in, 4);
    ck_assert_uint_eq(objects(reader), before);
    store_end_read(reader);
    struct cairn_store *writer = open_store();
    good(store_begin_read(reader, &error));
    ck_assert_int_eq(reader->stands_in, 0);
    ck_assert_uint_eq(objects(reader), before);
    store_end_read(reader);
    cairn_store_close(writer);
    cairn_store_close(reader);
    ck_assert_int_eq(sqlite3_close(handle), SQLITE_OK);
}
END_TEST

/* An older process that has the store open puts and mends as it always has. */
START_TEST(older_process_puts_objects)
{
    static const char frame[] = "plain, as it was put";
    sqlite3 *handle = NULL;
    struct digest a, b, c;
    put_store_of_version(path, 4);
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &handle), SQLITE_OK);
    sqlite3_stmt *put = prepare(handle, "INSERT INTO object(digest, size, codec, data) "
                                        "VALUES(?1, ?2, 0, ?3)");
    sqlite3_stmt *mend = prepare(handle, "UPDATE object SET size = ?2, codec = 0, "
                                         "data = ?3 WHERE digest = ?1");
    struct cairn_store *store = open_store();
    uint64_t before = objects(store);
    good(store_begin(store, -1, &error));
    good(store_put_object(store, content_of('a'), &a, &error));
    good(store_put_object_after(store, content_of('b'), &a, &b, &error));
    good(store_put_object_after(store, content_of('c'), &b, &c, &error));
    good(store_commit(store, &error));
    struct digest plain;
    good(sha256_of(frame, sizeof frame, &plain, &error));
    sqlite3_bind_blob(put, 1, plain.bytes, DIGEST_SIZE, SQLITE_STATIC);
    sqlite3_bind_int(put, 2, sizeof frame);
    sqlite3_bind_blob(put, 3, frame, sizeof frame, SQLITE_STATIC);
    step(put, SQLITE_DONE);
    struct str content = content_of('b'); /* to it the delta is of an unknown codec */
    sqlite3_bind_blob(mend, 1, b.bytes, DIGEST_SIZE, SQLITE_STATIC);
    sqlite3_bind_int(mend, 2, (int)content.len);
    sqlite3_bind_blob(mend, 3, content.ptr, (int)content.len, SQLITE_TRANSIENT);
    step(mend, SQLITE_DONE);
    ck_assert_uint_eq(objects(store), before + 4);
    ck_assert_int_eq(read_content(store, &b, 'b'), 0);
    ck_assert_int_eq(read_content(store, &c, 'c'), 0);
    cairn_store_close(store);
    ck_assert_int_eq(sqlite3_close(handle), SQLITE_OK);
}
END_TEST

int main(int argc, char **argv)
{
    int status;
    if (played(argc, argv, &status))
        return status;
    Suite *suite = suite_create("store_old");
    TCase *tests = tcase_create("store_old");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, read_as_it_is);
    tcase_add_test(tests, migrated_by_a_writer);
    tcase_add_test(tests, migrated_under_a_reader);
    tcase_add_test(tests, older_process_goes_on);
    tcase_add_test(tests, migration_fails);
    tcase_add_loop_test(tests, bases_come_with_a_writer, 1, SCHEMA_VERSION);
    tcase_add_test(tests, migrated_by_an_older_cairn);
    tcase_add_test(tests, older_process_puts_objects);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
