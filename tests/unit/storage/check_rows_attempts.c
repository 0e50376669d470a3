/* SPDX-License-Identifier: MIT */
/* The rows of attempts. */
#include "storage/rows_attempt.h"
#include "storage/store.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[256], path[512];
static struct cairn_error error;
static struct cairn_store *store;

static void open_store(void)
{
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    ck_assert_msg(cairn_store_open(&store, &options, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_rows_attempts.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.cairn", dir);
    open_store();
}

static void teardown(void)
{
    cairn_store_close(store);
    store = NULL;
    remove_tree(dir);
}

static void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

static const struct attempt_row full_attempt = {
    .run = 3,
    .gen = 2,
    .task = 4000000000u,
    .number = 7,
    .intent_ns = 1700000000000000000,
    .started_ns = 1700000000000400000,
    .ended_ns = 1600000000000000000, /* the clock was set back */
    .outcome = 2,
    .flags = ATTEMPT_TIMED_OUT,
    .exit_code = 0,
    .signal = 9,
    .cpu_us = 12,
    .peak_kib = 34,
    .out_bytes = 1ull << 40,
    .err_bytes = 56,
    .out_head = 78,
    .err_head = 90,
    .out = {"0123456789abcdef0123456789abcdef", 32},
    .err = {"1123456789abcdef0123456789abcdef", 32},
    .outputs = {"2123456789abcdef0123456789abcdef", 32},
    .text = {"text", 4},
    .start_turn = 300,
    .end_turn = 1ull << 40,
    .checkpoint = 4711,
};
/* Never started: ended with an error of the system. */
static const struct attempt_row bare_attempt = {.run = 3,
                                                .gen = 2,
                                                .task = 5,
                                                .number = 1,
                                                .intent_ns = 100,
                                                .ended_ns = 300,
                                                .outcome = 2,
                                                .exit_code = -1};

static int check_attempt(void *context, const struct attempt_row *row)
{
    const struct attempt_row *want = context;
    ck_assert_uint_eq(row->run, want->run);
    ck_assert_uint_eq(row->gen, want->gen);
    ck_assert_uint_eq(row->task, want->task);
    ck_assert_uint_eq(row->number, want->number);
    ck_assert_int_eq(row->intent_ns, want->intent_ns);
    ck_assert_int_eq(row->started_ns, want->started_ns);
    ck_assert_int_eq(row->ended_ns, want->ended_ns);
    ck_assert_uint_eq(row->outcome, want->outcome);
    ck_assert_uint_eq(row->flags, want->flags);
    ck_assert_int_eq(row->exit_code, want->exit_code);
    ck_assert_int_eq(row->signal, want->signal);
    ck_assert_int_eq(row->cpu_us, want->cpu_us);
    ck_assert_int_eq(row->peak_kib, want->peak_kib);
    ck_assert_uint_eq(row->out_bytes, want->out_bytes);
    ck_assert_uint_eq(row->err_bytes, want->err_bytes);
    ck_assert_uint_eq(row->out_head, want->out_head);
    ck_assert_uint_eq(row->err_head, want->err_head);
    ck_assert(str_equal(row->out, want->out));
    ck_assert(str_equal(row->err, want->err));
    ck_assert(str_equal(row->outputs, want->outputs));
    ck_assert(str_equal(row->text, want->text));
    ck_assert_uint_eq(row->start_turn, want->start_turn);
    ck_assert_uint_eq(row->end_turn, want->end_turn);
    ck_assert_uint_eq(row->checkpoint, want->checkpoint);
    return 0;
}

static int add_attempt(void *context, const struct attempt_row *row)
{
    buf_format(context, "%u.%u ", row->task, row->number);
    return 0;
}

START_TEST(attempts)
{
    struct buf text = BUF_INIT;
    struct attempt_row row = {.run = 3, .gen = 2, .exit_code = -1};
    good(store_begin(store, 0, &error));
    good(store_put_attempt(store, &full_attempt, &error));
    good(store_put_attempt(store, &bare_attempt, &error));
    for (uint32_t i = 0; i < 4; i++) {
        row.task = 10 - i / 2;
        row.number = 2 - i % 2;
        row.intent_ns = 50;
        good(store_put_intent(store, &row, &error));
    }
    row.gen = 1;
    good(store_put_intent(store, &row, &error));
    good(store_commit(store, &error));
    struct attempt_row copy = full_attempt;
    good(store_each_attempt(store, 3, 2, 4000000000u, check_attempt, &copy, &error));
    copy = bare_attempt;
    good(store_each_attempt(store, 3, 2, 5, check_attempt, &copy, &error));
    good(store_each_run_attempt(store, 3, 2, false, add_attempt, &text, &error));
    ck_assert_str_eq(text.data, "5.1 9.1 9.2 10.1 10.2 4000000000.7 ");
    buf_clear(&text);
    good(store_each_run_attempt(store, 3, 2, true, add_attempt, &text, &error));
    ck_assert_str_eq(text.data, "9.1 9.2 10.1 10.2 ");
    buf_clear(&text);
    good(store_begin(store, 0, &error));
    row = (struct attempt_row){.run = 3,
                               .gen = 2,
                               .task = 9,
                               .number = 1,
                               .intent_ns = 50,
                               .started_ns = 60,
                               .ended_ns = 60,
                               .outcome = 1};
    good(store_put_attempt(store, &row, &error));
    good(store_commit(store, &error));
    good(store_each_run_attempt(store, 3, 2, true, add_attempt, &text, &error));
    ck_assert_str_eq(text.data, "9.2 10.1 10.2 ");
    buf_clear(&text);
    good(store_each_attempt(store, 3, 2, 9, add_attempt, &text, &error));
    ck_assert_str_eq(text.data, "9.1 9.2 ");
    buf_release(&text);
}
END_TEST

/* An intent has its flags and turn, and nothing of an end. */
START_TEST(intents)
{
    struct attempt_row row = {.run = 3,
                              .gen = 1,
                              .task = 2,
                              .number = 1,
                              .intent_ns = 50,
                              .flags = ATTEMPT_UNDO,
                              .exit_code = -1,
                              .start_turn = 7};
    good(store_begin(store, 0, &error));
    good(store_put_intent(store, &row, &error));
    good(store_commit(store, &error));
    good(store_get_attempt(store, &row, check_attempt, &row, &error));
    row.number = 2;
    ck_assert_int_eq(store_get_attempt(store, &row, check_attempt, &row, &error),
                     CAIRN_ENOTFOUND);
}
END_TEST

START_TEST(new_attempts)
{
    struct buf text = BUF_INIT;
    struct attempt_row row = {.run = 3, .intent_ns = 50, .ended_ns = 60};
    /* task = start_turn, number = end_turn, 0: none */
    static const uint8_t turns[][3] = {{2, 1, 5}, {1, 4, 4}, {1, 3, 6}, {1, 9, 1},
                                       {1, 5, 0}, {1, 0, 5}, {2, 6, 0}};
    good(store_begin(store, 0, &error));
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        row.gen = turns[i][0];
        row.task = turns[i][1];
        row.number = turns[i][2];
        row.start_turn = turns[i][1];
        row.end_turn = turns[i][2];
        good(store_put_attempt(store, &row, &error));
    }
    row.run = 4;
    good(store_put_attempt(store, &row, &error));
    good(store_commit(store, &error));
    good(store_each_new_attempt(store, 3, 4, add_attempt, &text, &error));
    ck_assert_str_eq(text.data, "0.5 3.6 5.0 9.1 1.5 6.0 ");
    buf_clear(&text);
    good(store_each_new_attempt(store, 3, 8, add_attempt, &text, &error));
    ck_assert_str_eq(text.data, "9.1 ");
    buf_clear(&text);
    good(store_each_new_attempt(store, 3, 9, add_attempt, &text, &error));
    ck_assert_uint_eq(text.size, 0);
    buf_release(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows_attempts");
    TCase *tests = tcase_create("rows_attempts");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, attempts);
    tcase_add_test(tests, intents);
    tcase_add_test(tests, new_attempts);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
