/* SPDX-License-Identifier: MIT */
/* Positions as text: back and forth, and what is none. */
#include "feed/feed_int.h"

#include "tests/support/suite.h"

#include <stdlib.h>

static const char store[] = "9f3ac1d20b7e4455";

START_TEST(test_there_and_back)
{
    struct told_list runs = {0}, read = {0};
    struct buf text = BUF_INIT;
    struct feed_place place = {42, 0};
    int rc = 0;
    for (uint64_t run = 9; run < 10; run -= 2)
        told_get(&runs, run, 10 * run)->due = run != 5;
    ck_assert_uint_eq(runs.n, 5);
    ck_assert_uint_eq(told_get(&runs, 7, 1)->turn, 70);
    ck_assert_uint_eq(runs.n, 5);
    position_write(&text, store, &place, &runs);
    place.turn = 0;
    ck_assert_str_eq(text.data, "9f3ac1d2-42-1.10-3.30-7.70-9.90");
    ck_assert(position_read(text.data, store, &place, &read, &rc));
    ck_assert_uint_eq(place.turn, 42);
    ck_assert_uint_eq(place.session, 0);
    ck_assert_uint_eq(read.n, 4);
    ck_assert_uint_eq(read.at[2].number, 7);
    ck_assert_uint_eq(read.at[2].turn, 70);
    ck_assert(read.at[2].due);
    free(runs.at);
    free(read.at);
    buf_release(&text);
}
END_TEST

START_TEST(test_of_a_session)
{
    struct told_list runs = {0};
    struct buf text = BUF_INIT;
    struct feed_place place = {42, 7};
    int rc = 0;
    position_write(&text, store, &place, &runs);
    ck_assert_str_eq(text.data, "9f3ac1d2-42-s7");
    place = (struct feed_place){0, 0};
    ck_assert(position_read(text.data, store, &place, &runs, &rc));
    ck_assert_uint_eq(place.turn, 42);
    ck_assert_uint_eq(place.session, 7);
    buf_release(&text);
}
END_TEST

START_TEST(test_none)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "9f3ac1d2",
                                      "9f3ac1d2-",
                                      "9f3ac1d3-1",
                                      "9f3ac1d2-1-",
                                      "9f3ac1d2-1-2",
                                      "9f3ac1d2-1-2.",
                                      "9f3ac1d2-1-.2",
                                      "9f3ac1d2-1-0.2",
                                      "9f3ac1d2-1--2.3",
                                      "9f3ac1d2-99999999999999999999",
                                      "9f3ac1d2-1-s",
                                      "9f3ac1d2-1-s0",
                                      "9f3ac1d2-1-s-2.3",
                                      "9f3ac1d2-1-2.3-s1",
                                      "9f3ac1d20-1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct told_list runs = {0};
        struct feed_place place;
        int rc = 0;
        ck_assert_msg(!position_read(bad[i], store, &place, &runs, &rc), "%s", bad[i]);
        ck_assert_int_eq(rc, 0);
        free(runs.at);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("positions");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, test_there_and_back);
    tcase_add_test(tests, test_of_a_session);
    tcase_add_test(tests, test_none);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
