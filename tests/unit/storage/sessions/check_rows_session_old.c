/* SPDX-License-Identifier: MIT */
/* Rows of sessions that are damaged, and stores of older versions, which have none. */
#include "storage/health.h"
#include "storage/schema.h"
#include "storage/sessions/rows_session.h"
#include "tests/support/old_store.h"
#include "tests/support/sessions/rows.h"
#include "tests/support/store.h"
#include "tests/support/suite.h"

#include <sqlite3.h>

static const struct cairn_page all = {.all = true, .oldest_first = true};

/* ---- Damage ---- */

/* Changes the database behind the store's back. */
static void meddle(const char *sql)
{
    sqlite3 *handle = NULL;
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &handle), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s",
                  sql, sqlite3_errmsg(handle));
    ck_assert_int_gt(sqlite3_total_changes(handle), 0);
    ck_assert_int_eq(sqlite3_close(handle), SQLITE_OK);
}

enum table { SESSION, BRANCH, ITEM, LOG };
static const struct {
    enum table table;
    const char *sql;
    const char *name; /* of the row */
} damage[] = {
    {SESSION, "UPDATE session SET started_ns = 4 WHERE session = 2",
     "the row of session 2"},
    {SESSION, "UPDATE session SET session = 9 WHERE session = 1",
     "the row of session 9"},
    {BRANCH, "UPDATE branch SET reason = 'x' WHERE branch = 3",
     "branch 3 of session 2"},
    {BRANCH, "UPDATE branch SET session = 4 WHERE branch = 2", "branch 2 of session 4"},
    {ITEM, "UPDATE item SET n = 82 WHERE n = 81 AND session = 1",
     "the item of session 1, kind 2, number 82"},
    {ITEM, "UPDATE item SET session = 2, kind = 0 WHERE session = 1 AND n = 1",
     "the item of session 2, kind 0, number 1"},
    {ITEM, "UPDATE item SET sum = x'' WHERE session = 1 AND n = 16",
     "the item of session 1, kind 1, number 16"},
    {LOG, "UPDATE session_log SET after = x'' WHERE session = 1 AND n = 2",
     "the log of session 1, turn 3, number 2"},
    {LOG, "UPDATE session_log SET verb = 300 WHERE session = 1 AND n = 3",
     "the log of session 1, turn 4, number 3"},
};
enum { DAMAGE = sizeof damage / sizeof damage[0] };

static int list_table(struct cairn_store *store, enum table table, struct buf *lines)
{
    switch (table) {
    case SESSION:
        return store_each_session(store, &all, session_line, lines, NULL, &error);
    case BRANCH:
        return store_each_branch(store, 0, branch_line, lines, &error);
    case ITEM:
        return store_each_item(store, 1, item_line, lines, &error);
    default:
        return store_each_session_log(store, 1, 0, false, session_log_line, lines,
                                      &error);
    }
}

static int count_lines(const struct buf *lines)
{
    int n = 0;
    for (size_t i = 0; i < lines->size; i++)
        n += lines->data[i] == '\n';
    return n;
}

static int note_bad_row(void *context, const struct bad_row *row)
{
    ck_assert(!row->hmac);
    buf_format(context, "%s;", row->what);
    return 0;
}

/* The others are handed out all the same, and the check of the store names the same
 * row. */
START_TEST(damaged_row)
{
    struct cairn_store *store = open_store();
    struct buf before = BUF_INIT, after = BUF_INIT;
    char want[100];
    good(store_begin(store, -1, &error));
    for (uint64_t session = 1; session <= 3; session++)
        session_rows_put(store, session);
    good(store_commit(store, &error));
    good(list_table(store, damage[_i].table, &before));
    good(store_verify_rows(store, note_bad_row, &after, &error));
    ck_assert_uint_eq(after.size, 0);
    meddle(damage[_i].sql);
    ck_assert_int_eq(list_table(store, damage[_i].table, &after), CAIRN_EDAMAGED);
    snprintf(want, sizeof want, "%s is damaged", damage[_i].name);
    ck_assert_msg(strncmp(error.text, want, strlen(want)) == 0, "%s", error.text);
    ck_assert_int_eq(count_lines(&after), count_lines(&before) - 1);
    buf_clear(&after);
    good(store_verify_rows(store, note_bad_row, &after, &error));
    snprintf(want, sizeof want, "%s;", damage[_i].name);
    ck_assert_str_eq(after.data, want);
    cairn_store_close(store);
    buf_release(&before);
    buf_release(&after);
}
END_TEST

/* ---- Older stores ---- */

enum { SESSIONS_SINCE = 6 };

static void expect_none(struct cairn_store *store)
{
    struct buf lines = BUF_INIT;
    uint64_t n = 9;
    good(store_each_session(store, &all, session_line, &lines, &n, &error));
    ck_assert_uint_eq(n, 0);
    good(store_each_branch(store, 0, branch_line, &lines, &error));
    good(store_each_item(store, 1, item_line, &lines, &error));
    good(store_each_session_log(store, 1, 0, false, session_log_line, &lines, &error));
    good(store_each_session_log(store, 1, 9, true, session_log_line, &lines, &error));
    good(store_last_session_turn(store, 1, &n, &error));
    ck_assert_uint_eq(n, 0);
    good(store_current_session(store, &n, &error));
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(store_get_session(store, 1, session_line, &lines, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(store_get_branch(store, 1, branch_line, &lines, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(store_find_session(store, STR("a"), &n, &error), CAIRN_ENOTFOUND);
    ck_assert_uint_eq(lines.size, 0);
    buf_release(&lines);
}

START_TEST(older_store)
{
    struct buf lines = BUF_INIT, again = BUF_INIT;
    put_store_of_version(path, _i);
    struct cairn_store *reader = open_reader();
    ck_assert_int_eq(reader->stands_in, _i);
    expect_none(reader);
    struct cairn_store *writer = open_store();
    expect_none(writer);
    good(store_begin(writer, -1, &error));
    session_rows_put(writer, 1);
    good(store_set_current_session(writer, 1, &error));
    good(store_commit(writer, &error));
    good(store_begin_read(reader, &error)); /* here it notices */
    ck_assert_int_eq(reader->stands_in, 0);
    for (int table = SESSION; table <= LOG; table++) {
        good(list_table(writer, (enum table)table, &lines));
        good(list_table(reader, (enum table)table, &again));
    }
    ck_assert_int_eq(count_lines(&lines),
                     1 + SESSION_BRANCHES + SESSION_ITEMS + SESSION_LOGS);
    ck_assert_str_eq(lines.data, again.data);
    store_end_read(reader);
    good(store_verify_rows(writer, note_bad_row, &lines, &error));
    ck_assert_uint_eq(lines.size, again.size);
    cairn_store_close(reader);
    cairn_store_close(writer);
    buf_release(&lines);
    buf_release(&again);
}
END_TEST

/* A reader of a store with checksums whom nobody has migrated yet finds damage, too. */
START_TEST(damage_in_an_older_store)
{
    struct buf bad = BUF_INIT;
    put_store_of_version(path, _i);
    meddle("UPDATE meta SET value = 'x' WHERE key = 'gc'");
    struct cairn_store *reader = open_reader();
    ck_assert_int_eq(reader->stands_in, _i);
    good(store_verify_rows(reader, note_bad_row, &bad, &error));
    ck_assert_str_eq(bad.data, "a setting of the store;");
    cairn_store_close(reader);
    buf_release(&bad);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows_session_old");
    TCase *tests = tcase_create("rows_session_old");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, damaged_row, 0, DAMAGE);
    tcase_add_loop_test(tests, older_store, 1, SESSIONS_SINCE);
    tcase_add_loop_test(tests, damage_in_an_older_store, 3, SCHEMA_VERSION);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
