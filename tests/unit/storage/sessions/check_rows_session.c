/* SPDX-License-Identifier: MIT */
/* Rows of sessions, branches, items and logs: written, read in a new handle, found. */
#include "storage/rows_checkpoint.h"
#include "storage/rows_meta.h"
#include "storage/sessions/rows_session.h"
#include "tests/support/store.h"
#include "tests/support/suite.h"

static struct cairn_store *open_fast(void)
{
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    struct cairn_store *store = NULL;
    good(cairn_store_open(&store, &options, &error));
    return store;
}

static struct cairn_store *open_again(struct cairn_store *store)
{
    cairn_store_close(store);
    return open_reader();
}

static void expect_text(struct buf *text, const char *want)
{
    ck_assert_str_eq(text->size ? text->data : "", want);
    buf_clear(text);
}

/* ---- Sessions ---- */

static uint64_t put_session(struct cairn_store *store, const char *name)
{
    struct session_row row = {.name = clean_stored(str_of(name)),
                              .started_ns = 5,
                              .started_boot_ns = 6,
                              .boot = STR("boot"),
                              .branch = 7,
                              .numbers = STR("1\0002"),
                              .settings = STR("")};
    good(store_begin(store, -1, &error));
    good(store_put_session(store, &row, &error));
    good(store_commit(store, &error));
    return row.session;
}

static int check_session(void *context, const struct session_row *row)
{
    ck_assert_uint_eq(row->session, 1);
    ck_assert(str_equal(clean_str(row->name), STR("first")));
    ck_assert_int_eq(row->started_ns, 5);
    ck_assert_int_eq(row->started_boot_ns, 6);
    ck_assert(str_equal(row->boot, STR("boot")));
    ck_assert_int_eq(row->ended_ns, 0);
    ck_assert_uint_eq(row->branch, 7);
    ck_assert(str_equal(row->numbers, STR("1\0002")));
    ck_assert(str_equal(row->settings, STR("")));
    ++*(int *)context;
    return 1;
}

static int add_session(void *context, const struct session_row *row)
{
    buf_format(context, "%d %.*s; ", (int)row->session, (int)row->name.len,
               row->name.ptr);
    return 0;
}

static int refuse_session(void *context, const struct session_row *row)
{
    (void)context, (void)row;
    return CAIRN_ENOMEM;
}

START_TEST(sessions)
{
    struct cairn_store *store = open_fast();
    struct buf text = BUF_INIT;
    uint64_t found = 0;
    int n = 0;
    ck_assert_uint_eq(put_session(store, "first"), 1);
    ck_assert_uint_eq(put_session(store, "second"), 2);
    store = open_again(store);
    good(store_get_session(store, 1, check_session, &n, &error));
    ck_assert_int_eq(n, 1);
    good(store_get_session(store, 2, add_session, &text, &error));
    expect_text(&text, "2 second; ");
    good(store_find_session(store, STR("second"), &found, &error));
    ck_assert_uint_eq(found, 2);
    ck_assert_int_eq(store_find_session(store, STR("Second"), &found, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "Second"));
    ck_assert_int_eq(store_get_session(store, 3, check_session, &n, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(store_get_session(store, UINT64_MAX, check_session, &n, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(store_get_session(store, 1, refuse_session, NULL, &error),
                     CAIRN_ENOMEM);
    cairn_store_close(store);
    buf_release(&text);
}
END_TEST

START_TEST(sessions_are_replaced)
{
    struct cairn_store *store = open_fast();
    struct buf text = BUF_INIT;
    put_session(store, "first");
    put_session(store, "second");
    struct session_row row = {.session = 2, .name = CLEAN("first"), .ended_ns = 9};
    good(store_begin(store, -1, &error));
    ck_assert_int_eq(store_put_session(store, &row, &error), CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "first"));
    row.session = 0;
    ck_assert_int_eq(store_put_session(store, &row, &error), CAIRN_EUSAGE);
    ck_assert_uint_eq(row.session, 0);
    row.session = 3;
    row.name = CLEAN("third");
    ck_assert_int_eq(store_put_session(store, &row, &error), CAIRN_ENOTFOUND);
    row.session = 2;
    good(store_put_session(store, &row, &error));
    good(store_commit(store, &error));
    good(store_each_session(store, &(struct cairn_page){.oldest_first = true},
                            add_session, &text, NULL, &error));
    expect_text(&text, "1 first; 2 third; ");
    good(store_begin(store, -1, &error));
    row.name = CLEAN("second");
    good(store_put_session(store, &row, &error));
    row.name = CLEAN("again");
    good(store_put_session(store, &row, &error));
    store_abort(store);
    good(store_get_session(store, 2, add_session, &text, &error));
    expect_text(&text, "2 third; ");
    cairn_store_close(store);
    buf_release(&text);
}
END_TEST

START_TEST(pages_of_sessions)
{
    static const struct {
        struct cairn_page page;
        const char *want;
    } cases[] = {
        {{0}, "4 d; 3 c; 2 b; 1 a; "},
        {{.oldest_first = true}, "1 a; 2 b; 3 c; 4 d; "},
        {{.limit = 2}, "4 d; 3 c; "},
        {{.limit = 2, .offset = 1, .oldest_first = true}, "2 b; 3 c; "},
        {{.limit = 1, .offset = 1, .all = true}, "3 c; 2 b; 1 a; "},
        {{.limit = 3, .offset = 9}, ""},
    };
    static const char *const names[] = {"a", "b", "c", "d"};
    struct cairn_store *store = open_fast();
    struct buf text = BUF_INIT;
    uint64_t total = 9;
    good(store_each_session(store, &cases[0].page, add_session, &text, &total, &error));
    ck_assert_uint_eq(total, 0);
    for (size_t i = 0; i < 4; i++)
        put_session(store, names[i]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        good(store_each_session(store, &cases[i].page, add_session, &text, &total,
                                &error));
        ck_assert_uint_eq(total, 4);
        expect_text(&text, cases[i].want);
    }
    cairn_store_close(store);
    buf_release(&text);
}
END_TEST

START_TEST(current_session)
{
    struct cairn_store *store = open_fast();
    uint64_t session = 9;
    good(store_current_session(store, &session, &error));
    ck_assert_uint_eq(session, 0);
    good(store_begin(store, -1, &error));
    good(store_set_current_session(store, 0, &error));
    good(store_set_current_session(store, 12, &error));
    good(store_commit(store, &error));
    store = open_again(store);
    good(store_current_session(store, &session, &error));
    ck_assert_uint_eq(session, 12);
    cairn_store_close(store);
    store = open_fast();
    good(store_begin(store, -1, &error));
    good(store_set_setting(store, "session", "12x", &error));
    ck_assert_int_eq(store_current_session(store, &session, &error), CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "setting session"));
    ck_assert_uint_eq(session, 0);
    good(store_set_current_session(store, INT64_MAX, &error));
    good(store_current_session(store, &session, &error));
    ck_assert_uint_eq(session, INT64_MAX);
    good(store_set_current_session(store, 0, &error));
    good(store_commit(store, &error));
    good(store_current_session(store, &session, &error));
    ck_assert_uint_eq(session, 0);
    cairn_store_close(store);
}
END_TEST

/* ---- Branches ---- */

static struct branch_row branch_of(uint64_t session, const char *name)
{
    return (struct branch_row){.session = session,
                               .name = clean_stored(str_of(name)),
                               .status = 3,
                               .from_seq = 44,
                               .started_ns = 55,
                               .reason = CLEAN("it led nowhere")};
}

static uint64_t put_branch(struct cairn_store *store, uint64_t session,
                           const char *name)
{
    struct branch_row row = branch_of(session, name);
    good(store_begin(store, -1, &error));
    good(store_put_branch(store, &row, &error));
    good(store_commit(store, &error));
    return row.branch;
}

static int add_branch(void *context, const struct branch_row *row)
{
    buf_format(context, "%d %d %.*s; ", (int)row->branch, (int)row->session,
               (int)row->name.len, row->name.ptr);
    return 0;
}

static int check_branch(void *context, const struct branch_row *row)
{
    struct branch_row want = branch_of(2, "main");
    ck_assert_uint_eq(row->branch, 2);
    ck_assert_uint_eq(row->session, 2);
    ck_assert(str_equal(clean_str(row->name), clean_str(want.name)));
    ck_assert_uint_eq(row->status, 3);
    ck_assert_uint_eq(row->from_seq, 44);
    ck_assert_int_eq(row->started_ns, 55);
    ck_assert(str_equal(clean_str(row->reason), clean_str(want.reason)));
    ++*(int *)context;
    return 0;
}

START_TEST(branches)
{
    struct cairn_store *store = open_fast();
    struct buf text = BUF_INIT;
    int n = 0;
    ck_assert_uint_eq(put_branch(store, 1, "main"), 1);
    ck_assert_uint_eq(put_branch(store, 2, "main"), 2);
    ck_assert_uint_eq(put_branch(store, 1, "other"), 3);
    struct branch_row row = branch_of(1, "main");
    good(store_begin(store, -1, &error));
    ck_assert_int_eq(store_put_branch(store, &row, &error), CAIRN_EUSAGE);
    row.branch = 3;
    ck_assert_int_eq(store_put_branch(store, &row, &error), CAIRN_EUSAGE);
    row = branch_of(1, "third");
    row.branch = 4;
    ck_assert_int_eq(store_put_branch(store, &row, &error), CAIRN_ENOTFOUND);
    row.branch = 3;
    row.status = 0;
    good(store_put_branch(store, &row, &error));
    good(store_commit(store, &error));
    store = open_again(store);
    good(store_get_branch(store, 2, check_branch, &n, &error));
    ck_assert_int_eq(n, 1);
    good(store_each_branch(store, 0, add_branch, &text, &error));
    expect_text(&text, "1 1 main; 2 2 main; 3 1 third; ");
    good(store_each_branch(store, 1, add_branch, &text, &error));
    expect_text(&text, "1 1 main; 3 1 third; ");
    good(store_each_branch(store, 9, add_branch, &text, &error));
    expect_text(&text, "");
    ck_assert_int_eq(store_get_branch(store, 4, check_branch, &n, &error),
                     CAIRN_ENOTFOUND);
    cairn_store_close(store);
    buf_release(&text);
}
END_TEST

/* ---- Items ---- */

static void put_item(struct cairn_store *store, uint64_t session, uint8_t kind,
                     uint32_t n, struct str body)
{
    struct item_row row = {.session = session, .kind = kind, .n = n, .body = body};
    good(store_put_item(store, &row, &error));
}

static int add_item(void *context, const struct item_row *row)
{
    buf_format(context, "%d.%d.%lu %.*s; ", (int)row->session, (int)row->kind,
               (unsigned long)row->n, (int)row->body.len, row->body.ptr);
    return 0;
}

START_TEST(items)
{
    struct cairn_store *store = open_fast();
    struct buf text = BUF_INIT;
    good(store_each_item(store, 1, add_item, &text, &error));
    expect_text(&text, "");
    good(store_begin(store, -1, &error));
    put_item(store, 2, 1, 1, STR("of another"));
    put_item(store, 1, 255, UINT32_MAX, STR("last"));
    put_item(store, 1, 2, 300, STR(""));
    put_item(store, 1, 2, 5, STR("five"));
    put_item(store, 1, 1, 7, STR("gone"));
    put_item(store, 1, 1, 9, STR("nine"));
    good(store_each_item(store, 1, add_item, &text, &error)); /* what is not yet */
    expect_text(&text, "1.1.7 gone; 1.1.9 nine; 1.2.5 five; 1.2.300 ; "
                       "1.255.4294967295 last; ");
    put_item(store, 1, 2, 5, STR("fifth"));
    good(store_drop_item(store, 1, 1, 7, &error));
    good(store_drop_item(store, 1, 1, 7, &error));
    good(store_drop_item(store, 3, 1, 1, &error));
    good(store_commit(store, &error));
    store = open_again(store);
    good(store_each_item(store, 1, add_item, &text, &error));
    expect_text(&text, "1.1.9 nine; 1.2.5 fifth; 1.2.300 ; 1.255.4294967295 last; ");
    good(store_each_item(store, 2, add_item, &text, &error));
    expect_text(&text, "2.1.1 of another; ");
    good(store_each_item(store, 3, add_item, &text, &error));
    expect_text(&text, "");
    cairn_store_close(store);
    buf_release(&text);
}
END_TEST

/* ---- Logs ---- */

static void put_log(struct cairn_store *store, uint64_t session, uint64_t turn,
                    uint32_t n)
{
    struct session_log_row row = {.session = session,
                                  .turn = turn,
                                  .n = n,
                                  .time_ns = -3,
                                  .verb = 4,
                                  .kind = 5,
                                  .number = 6,
                                  .before = n == 1 ? STR("a") : (struct str){NULL, 0},
                                  .after = n == 1 ? (struct str){NULL, 0} : STR("b")};
    good(store_put_session_log(store, &row, &error));
}

static int add_log(void *context, const struct session_log_row *row)
{
    ck_assert_int_eq(row->time_ns, -3);
    ck_assert_uint_eq(row->verb, 4);
    ck_assert_uint_eq(row->kind, 5);
    ck_assert_uint_eq(row->number, 6);
    ck_assert_int_eq(row->before.ptr != NULL, row->n == 1);
    ck_assert_int_eq(row->after.ptr != NULL, row->n != 1);
    ck_assert_uint_eq(row->before.len, row->n == 1);
    ck_assert_uint_eq(row->after.len, row->n != 1);
    buf_format(context, "%d:%d.%d; ", (int)row->session, (int)row->turn, (int)row->n);
    return 0;
}

static int stop_at_log(void *context, const struct session_log_row *row)
{
    add_log(context, row);
    return 1;
}

static void expect_log(struct cairn_store *store, uint64_t after, bool newest_first,
                       const char *want)
{
    struct buf text = BUF_INIT;
    good(store_each_session_log(store, 1, after, newest_first, add_log, &text, &error));
    expect_text(&text, want);
    buf_release(&text);
}

START_TEST(logs)
{
    struct cairn_store *store = open_fast();
    struct buf text = BUF_INIT;
    uint64_t turn = 9;
    good(store_last_session_turn(store, 1, &turn, &error));
    ck_assert_uint_eq(turn, 0);
    good(store_begin(store, -1, &error));
    put_log(store, 2, 4, 1);
    put_log(store, 2, 70, 1);
    good(store_last_session_turn(store, 1, &turn, &error));
    ck_assert_uint_eq(turn, 0);
    put_log(store, 1, 1, 1);
    put_log(store, 1, 3, 1);
    put_log(store, 1, 3, 2);
    put_log(store, 1, 300, 0);
    put_log(store, 1, 300, 2);
    good(store_commit(store, &error));
    store = open_again(store);
    good(store_last_session_turn(store, 1, &turn, &error));
    ck_assert_uint_eq(turn, 300);
    good(store_last_session_turn(store, 2, &turn, &error));
    ck_assert_uint_eq(turn, 70);
    expect_log(store, 0, false, "1:1.1; 1:3.1; 1:3.2; 1:300.0; 1:300.2; ");
    expect_log(store, 1, false, "1:3.1; 1:3.2; 1:300.0; 1:300.2; ");
    expect_log(store, 2, false, "1:3.1; 1:3.2; 1:300.0; 1:300.2; ");
    expect_log(store, 300, false, "");
    expect_log(store, UINT64_MAX, false, "");
    expect_log(store, UINT64_MAX, true, "1:300.0; 1:300.2; 1:3.1; 1:3.2; 1:1.1; ");
    expect_log(store, 299, true, "1:3.1; 1:3.2; 1:1.1; ");
    expect_log(store, 3, true, "1:3.1; 1:3.2; 1:1.1; ");
    expect_log(store, 1, true, "1:1.1; ");
    expect_log(store, 0, true, "");
    good(store_each_session_log(store, 1, 1, false, stop_at_log, &text, &error));
    expect_text(&text, "1:3.1; ");
    good(store_each_session_log(store, 2, 9, true, stop_at_log, &text, &error));
    expect_text(&text, "2:4.1; ");
    cairn_store_close(store);
    buf_release(&text);
}
END_TEST

/* ---- Numbers ---- */

/* Each place that names a number keeps it from being given out again. */
START_TEST(numbers_are_never_used_again)
{
    struct cairn_store *store = open_fast();
    uint64_t seq;
    ck_assert_uint_eq(put_session(store, "a"), 1);
    good(store_begin(store, -1, &error));
    put_item(store, 10, 1, 1, STR(""));
    good(store_commit(store, &error));
    ck_assert_uint_eq(put_session(store, "b"), 11);
    good(store_begin(store, -1, &error));
    put_log(store, 20, 1, 1);
    good(store_commit(store, &error));
    ck_assert_uint_eq(put_session(store, "c"), 21);
    ck_assert_uint_eq(put_branch(store, 30, "main"), 8); /* sessions name branch 7 */
    ck_assert_uint_eq(put_session(store, "d"), 31);

    struct session_row row = {.name = CLEAN("e"), .branch = 50};
    struct tombstone_row gone = {.namespace_id = NAMESPACE_DEBUG,
                                 .stream = 70,
                                 .first = 900,
                                 .last = 900,
                                 .count = 1};
    good(store_begin(store, -1, &error));
    good(store_put_session(store, &row, &error));
    good(store_commit(store, &error));
    ck_assert_uint_eq(put_branch(store, 1, "main"), 51);
    good(store_begin(store, -1, &error));
    good(put(store, 100, &seq)); /* of a run, whose stream is none of ours */
    struct checkpoint_row record = {.seq = seq + 1,
                                    .namespace_id = NAMESPACE_DEBUG,
                                    .kind = 1,
                                    .stream = 60,
                                    .record = STR("record"),
                                    .digest = STR("0123456789abcdef0123456789abcdef")};
    good(store_put_checkpoint(store, &record, &error));
    good(store_commit(store, &error));
    ck_assert_uint_eq(put_branch(store, 1, "b"), 61);
    good(store_begin(store, -1, &error));
    good(store_put_tombstone(store, &gone, &error));
    good(store_commit(store, &error));
    ck_assert_uint_eq(put_branch(store, 1, "c"), 71);
    cairn_store_close(store);
}
END_TEST

START_TEST(no_number_is_left)
{
    struct cairn_store *store = open_fast();
    struct session_row row = {.name = CLEAN("a")};
    good(store_begin(store, -1, &error));
    put_item(store, INT64_MAX, 1, 1, STR(""));
    ck_assert_int_eq(store_put_session(store, &row, &error), CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "session 9223372036854775807"));
    store_abort(store);
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows_session");
    TCase *tests = tcase_create("rows_session");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, sessions);
    tcase_add_test(tests, sessions_are_replaced);
    tcase_add_test(tests, pages_of_sessions);
    tcase_add_test(tests, current_session);
    tcase_add_test(tests, branches);
    tcase_add_test(tests, items);
    tcase_add_test(tests, logs);
    tcase_add_test(tests, numbers_are_never_used_again);
    tcase_add_test(tests, no_number_is_left);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
