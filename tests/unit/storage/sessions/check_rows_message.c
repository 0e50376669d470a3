/* SPDX-License-Identifier: MIT */
/* Rows of messages: written and read back, their chains, what is missing or changed,
 * and stores of older versions, which have none. */
#include "storage/sessions/rows_message.h"

#include "storage/health.h"
#include "storage/rows_lost.h"
#include "storage/schema.h"
#include "storage/sqlite/statement.h"
#include "storage/store.h"
#include "tests/support/old_store.h"
#include "tests/support/store.h"
#include "tests/support/suite.h"

#include <sqlite3.h>

enum { ROWS = 12, SESSION = 3 };

static void meddle(const char *sql)
{
    sqlite3 *handle = NULL;
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &handle), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s",
                  sql, sqlite3_errmsg(handle));
    ck_assert_int_gt(sqlite3_total_changes(handle), 0);
    ck_assert_int_eq(sqlite3_close(handle), SQLITE_OK);
}

static void put_many(struct cairn_store *store, uint64_t session, uint64_t many,
                     int size)
{
    struct digest before, columns;
    char body[500], origin[MESSAGE_ORIGIN_BYTES + 1];
    good(store_begin(store, -1, &error));
    for (uint64_t n = 1; n <= many; n++) {
        snprintf(body, sizeof body, "message %d of %d%*s", (int)n, (int)session, size,
                 "");
        snprintf(origin, sizeof origin, "origin %9d", (int)n);
        struct message_row row = {.session = session,
                                  .n = n,
                                  .parent = n - 1,
                                  .position = n,
                                  .time_ns = -5,
                                  .role = MESSAGE_TOOL,
                                  .form = MESSAGE_LINE,
                                  .tokens_in = 2,
                                  .tokens_out = 3,
                                  .total_in = 2 * n,
                                  .total_out = 3 * n,
                                  .prompt = n / 2,
                                  .reply = n,
                                  .size = strlen(body),
                                  .model = CLEAN("m"),
                                  .file = CLEAN("/f"),
                                  .origin = {origin, MESSAGE_ORIGIN_BYTES},
                                  .body = str_of(body)};
        store_message_columns(store, &row, &columns);
        store_message_chain(store, &columns, n > 1 ? &before : NULL, &row.chain);
        before = row.chain;
        good(store_put_message(store, &row, &error));
    }
    good(store_commit(store, &error));
}

static void put_rows(struct cairn_store *store, uint64_t session)
{
    put_many(store, session, ROWS, 0);
}

static int add_line(void *context, const struct message_row *row)
{
    buf_format(context,
               "%d %d %d %d %lld %d %d %d %d %d %d %d %d %d %.*s %.*s %.*s %.*s\n",
               (int)row->session, (int)row->n, (int)row->parent, (int)row->position,
               (long long)row->time_ns, row->role, row->form, (int)row->tokens_in,
               (int)row->tokens_out, (int)row->total_in, (int)row->total_out,
               (int)row->prompt, (int)row->reply, (int)row->size, (int)row->model.len,
               row->model.ptr, (int)row->file.len, row->file.ptr, (int)row->origin.len,
               row->origin.ptr, (int)row->body.len, row->body.ptr);
    return 0;
}

static int take_chain(void *context, const struct message_row *row)
{
    *(struct digest *)context = row->chain;
    return 0;
}

START_TEST(there_and_back)
{
    struct cairn_store *store = open_store();
    struct buf lines = BUF_INIT;
    struct digest chain, other;
    uint64_t n = 9;
    put_rows(store, SESSION);
    put_rows(store, SESSION + 1);
    good(store_get_message(store, SESSION, 5, add_line, &lines, &error));
    buf_byte(&lines, 0);
    ck_assert_str_eq(lines.data,
                     "3 5 4 5 -5 4 2 2 3 10 15 2 5 14 m /f origin         5 "
                     "message 5 of 3\n");
    /* The chain says nothing of the session: with other bodies it is another. */
    good(store_get_message(store, SESSION, 5, take_chain, &chain, &error));
    good(store_get_message(store, SESSION + 1, 5, take_chain, &other, &error));
    ck_assert(!digest_equal(&chain, &other));
    good(store_last_message(store, SESSION, &n, &error));
    ck_assert_uint_eq(n, ROWS);
    good(store_last_message(store, 9, &n, &error));
    ck_assert_uint_eq(n, 0);
    good(store_find_message(store, SESSION, STR("origin         7"), &n, &error));
    ck_assert_uint_eq(n, 7);
    good(store_find_message(store, SESSION, STR("origin        77"), &n, &error));
    ck_assert_uint_eq(n, 0);
    buf_clear(&lines);
    good(store_each_message(store, SESSION, ROWS - 2, 1, add_line, &lines, &error));
    ck_assert_int_eq(strncmp(lines.data, "3 11 ", 5), 0);
    ck_assert(memchr(lines.data, '\n', lines.size) == lines.data + lines.size - 1);
    cairn_store_close(store);
    buf_release(&lines);
}
END_TEST

static int note_bad_row(void *context, const struct bad_row *row)
{
    buf_format(context, "%s;", row->what);
    return 0;
}

static const struct {
    const char *sql;
    bool moved; /* another key has it */
} damage[] = {
    {"UPDATE message SET body = x'41' WHERE session = 3 AND n = 5", false},
    {"UPDATE message SET parent = 3 WHERE session = 3 AND n = 5", false},
    {"UPDATE message SET tokens_in = 3 WHERE session = 3 AND n = 5", false},
    {"UPDATE message SET role = 300 WHERE session = 3 AND n = 5", false},
    {"UPDATE message SET time_ns = 4 WHERE session = 3 AND n = 5", false},
    {"UPDATE message SET chain = zeroblob(32) WHERE session = 3 AND n = 5", false},
    {"UPDATE message SET sum = x'' WHERE session = 3 AND n = 5", false},
    {"UPDATE message SET n = 99 WHERE session = 3 AND n = 5", true},
    {"UPDATE message SET session = 9 WHERE session = 3 AND n = 5", true},
    {"DELETE FROM message WHERE session = 3 AND n = 5", true},
};
enum { DAMAGE = sizeof damage / sizeof damage[0] };

START_TEST(damaged)
{
    struct cairn_store *store = open_store();
    struct buf lines = BUF_INIT, bad = BUF_INIT;
    put_rows(store, SESSION);
    good(store_verify_rows(store, note_bad_row, &bad, &error));
    ck_assert_uint_eq(bad.size, 0);
    meddle(damage[_i].sql);
    ck_assert_int_eq(store_get_message(store, SESSION, 5, add_line, &lines, &error),
                     CAIRN_EDAMAGED);
    ck_assert_msg(strstr(error.text, "message 5 of session 3 is"), "%s", error.text);
    ck_assert_uint_eq(lines.size, 0);
    ck_assert_int_eq(store_each_message(store, SESSION, 0, 0, add_line, &lines, &error),
                     CAIRN_EDAMAGED);
    good(store_get_message(store, SESSION, 6, add_line, &lines, &error));
    good(store_verify_rows(store, note_bad_row, &bad, &error));
    ck_assert_int_eq(bad.size == 0, strncmp(damage[_i].sql, "DELETE", 6) == 0);
    cairn_store_close(store);
    buf_release(&lines);
    buf_release(&bad);
}
END_TEST

START_TEST(older_store)
{
    struct cairn_store *writer;
    struct buf lines = BUF_INIT, after = BUF_INIT;
    uint64_t n;
    put_store_of_version(path, _i);
    struct cairn_store *reader = open_reader();
    ck_assert_int_eq(reader->stands_in, _i);
    good(store_each_message(reader, 1, 0, 0, add_line, &lines, &error));
    good(store_last_message(reader, 1, &n, &error));
    ck_assert(_i < 7 ? n == 0 : n > 1); /* before, there were none */
    good(store_find_message(reader, 1, STR("origin         7"), &n, &error));
    ck_assert_uint_eq(n, 0);
    writer = open_store();
    put_rows(writer, SESSION);
    good(store_begin_read(reader, &error)); /* here it notices */
    ck_assert_int_eq(reader->stands_in, 0);
    good(store_each_message(reader, 1, 0, 0, add_line, &after, &error));
    ck_assert(str_equal(buf_view(&lines), buf_view(&after)));
    good(store_each_message(reader, SESSION, 0, 0, add_line, &lines, &error));
    ck_assert_uint_gt(lines.size, after.size);
    store_end_read(reader);
    cairn_store_close(reader);
    cairn_store_close(writer);
    buf_release(&lines);
    buf_release(&after);
}
END_TEST

/* They are next to each other, not each on a page of its own. */
START_TEST(room_of_messages)
{
    enum { MANY = 2000, SIZE = 450 };
    struct cairn_store *store = open_store();
    int64_t before, pages;
    good(db_get_int(store->db, SQL_PAGE_COUNT, NO_VALUES, &before, &error));
    put_many(store, SESSION, MANY, SIZE);
    good(db_get_int(store->db, SQL_PAGE_COUNT, NO_VALUES, &pages, &error));
    ck_assert_int_lt((pages - before) * 2048, MANY * 2 * SIZE);
    cairn_store_close(store);
}
END_TEST

START_TEST(numbers_of_a_session)
{
    uint64_t last, head;
    ck_assert(message_numbers(STR("\x02\x07\x05rest"), &last, &head));
    ck_assert_uint_eq(last, 7);
    ck_assert_uint_eq(head, 5);
    ck_assert(!message_numbers(STR("\x01\x07\x05"), &last, &head));
    ck_assert_uint_eq(last, 0);
    ck_assert(!message_numbers(STR("\x02\x05\x07"), &last, &head));
    ck_assert(!message_numbers(STR("\x02\x05"), &last, &head));
    ck_assert(!message_numbers(STR(""), &last, &head));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows_message");
    TCase *tests = tcase_create("rows_message");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, there_and_back);
    tcase_add_loop_test(tests, damaged, 0, DAMAGE);
    tcase_add_loop_test(tests, older_store, 1, SCHEMA_VERSION);
    tcase_add_test(tests, room_of_messages);
    tcase_add_test(tests, numbers_of_a_session);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
