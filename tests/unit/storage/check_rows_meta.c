/* SPDX-License-Identifier: MIT */
/* The key for secrets, in a row of `meta`. */
#include "storage/rows_meta.h"
#include "storage/store.h"
#include "tests/support/store.h"
#include "tests/support/suite.h"

#include <sqlite3.h>

static struct cairn_store *open_fast(void)
{
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    struct cairn_store *store = NULL;
    good(cairn_store_open(&store, &options, &error));
    return store;
}

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

static void expect_error(const char *part)
{
    ck_assert_msg(strstr(error.text, part) != NULL, "%s", error.text);
}

START_TEST(secret_key)
{
    struct cairn_store *store = open_fast();
    uint8_t key[32] = {0}, again[32] = {0}, zero[32] = {0};
    ck_assert_int_eq(store_secret_key(store, false, key, &error), CAIRN_ENOTFOUND);
    good(store_begin(store, 0, &error));
    good(store_secret_key(store, true, key, &error));
    ck_assert_mem_ne(key, zero, 32);
    good(store_secret_key(store, true, again, &error));
    ck_assert_mem_eq(key, again, 32);
    good(store_commit(store, &error));
    cairn_store_close(store);
    store = open_reader();
    memset(again, 0, 32);
    good(store_secret_key(store, false, again, &error));
    ck_assert_mem_eq(key, again, 32);
    cairn_store_close(store);
}
END_TEST

START_TEST(damaged_secret_key)
{
    static const char *const damage[] = {
        ("UPDATE meta SET value = '0' || substr(value, 2) WHERE key = 'secret_key' "
         "AND value NOT LIKE '0%'"),
        "UPDATE meta SET value = 'x' || substr(value, 2) WHERE key = 'secret_key'",
        "UPDATE meta SET value = substr(value, 2) WHERE key = 'secret_key'",
        "UPDATE meta SET value = '' WHERE key = 'secret_key'"};
    struct cairn_store *store = open_fast();
    uint8_t key[32] = {0}, other[32] = {0};
    do { /* one that the first of them changes */
        good(store_begin(store, 0, &error));
        good(store_secret_key(store, true, key, &error));
        if (key[0] < 16)
            store_abort(store);
    } while (key[0] < 16);
    good(store_commit(store, &error));
    meddle(damage[_i]);
    ck_assert_int_eq(store_secret_key(store, false, other, &error), CAIRN_EDAMAGED);
    expect_error("secret_key");
    good(store_begin(store, 0, &error));
    good(store_secret_key(store, true, other, &error));
    ck_assert_mem_ne(key, other, 32);
    good(store_commit(store, &error));
    good(store_secret_key(store, false, key, &error));
    ck_assert_mem_eq(key, other, 32);
    cairn_store_close(store);
}
END_TEST

int main(int argc, char **argv)
{
    int status;
    if (played(argc, argv, &status))
        return status;
    Suite *suite = suite_create("rows_meta");
    TCase *tests = tcase_create("rows_meta");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, secret_key);
    tcase_add_loop_test(tests, damaged_secret_key, 0, 4);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
