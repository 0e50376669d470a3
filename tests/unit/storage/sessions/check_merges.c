/* SPDX-License-Identifier: MIT */
/* What was merged into what: from the log, from the setting, from both, from neither.
 */
#include "storage/rows_meta.h"
#include "storage/sessions/merges.h"
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

static void log_row(struct cairn_store *store, uint64_t turn, uint8_t verb,
                    uint64_t number, struct str after)
{
    struct session_log_row row = {.session = 1,
                                  .turn = turn,
                                  .n = 1,
                                  .verb = verb,
                                  .number = number,
                                  .before = STR(""),
                                  .after = after};
    good(store_put_session_log(store, &row, &error));
}

static void log_merge(struct cairn_store *store, uint64_t turn, uint64_t branch)
{
    struct session_merge merge = {branch, 10 * branch, 1, 10 * branch + 1};
    struct buf after = BUF_INIT;
    session_merge_encode(&merge, &after);
    log_row(store, turn, SESSION_LOG_MERGED, branch, buf_view(&after));
    buf_release(&after);
}

/* The branches that were merged, and the turn up to which the setting has them. */
static void expect(struct cairn_store *store, const char *want)
{
    struct session_merges merges;
    struct buf text = BUF_INIT;
    good(store_load_merges(store, 1, &merges, &error));
    for (size_t i = 0; i < merges.n; i++) {
        const struct session_merge *m = &merges.at[i];
        buf_format(&text, "%d ", (int)m->branch);
        ck_assert_uint_eq(m->head, 10 * m->branch);
        ck_assert_uint_eq(m->into, 1);
        ck_assert_uint_eq(m->made, 10 * m->branch + 1);
    }
    buf_format(&text, "up to %d", (int)merges.turn);
    buf_byte(&text, 0);
    ck_assert_str_eq(text.data, want);
    buf_release(&text);
    session_merges_release(&merges);
}

START_TEST(from_both)
{
    struct cairn_store *store = open_fast();
    good(store_begin(store, -1, &error));
    expect(store, "up to 0");
    log_row(store, 1, SESSION_LOG_PUT, 2, STR("x"));
    log_merge(store, 2, 2);
    log_row(store, 3, SESSION_LOG_MERGED, 9, STR("no numbers"));
    expect(store, "2 up to 0");
    good(store_note_merges(store, 1, 3, &error));
    expect(store, "2 up to 3");
    log_merge(store, 4, 3);
    expect(store, "2 3 up to 3");
    good(store_note_merges(store, 1, 4, &error));
    good(store_note_merges(store, 1, 4, &error));
    expect(store, "2 3 up to 4");
    good(store_commit(store, &error));
    cairn_store_close(store);
    store = open_reader();
    expect(store, "2 3 up to 4");
    cairn_store_close(store);
}
END_TEST

START_TEST(what_is_no_such_setting)
{
    static const char *const texts[] = {
        "", " ", "x", "2 x", "2 2 20 1", "2 2 20 1 21 3", "2  2 20 1 21", "-1"};
    struct cairn_store *store = open_fast();
    good(store_begin(store, -1, &error));
    log_merge(store, 1, 2);
    log_merge(store, 2, 3);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        good(store_set_setting(store, "merges.1", texts[i], &error));
        expect(store, "2 3 up to 0");
    }
    good(store_set_setting(store, "merges.1", "1 0 0 0 0 2 20 1 21", &error));
    expect(store, "2 3 up to 1");
    store_abort(store);
    cairn_store_close(store);
}
END_TEST

START_TEST(long_ones)
{
    enum { MANY = 3000 };
    struct cairn_store *store = open_fast();
    struct session_merges merges;
    good(store_begin(store, -1, &error));
    for (uint64_t i = 1; i <= MANY; i++)
        log_merge(store, i, i);
    good(store_note_merges(store, 1, MANY, &error));
    good(store_load_merges(store, 1, &merges, &error));
    ck_assert_uint_eq(merges.n, MANY);
    ck_assert_uint_eq(merges.turn, MANY);
    ck_assert_uint_eq(merges.at[MANY - 1].head, 10 * MANY);
    session_merges_release(&merges);
    store_abort(store);
    cairn_store_close(store);
}
END_TEST

/* Whoever asks often reads at most a few hundred turns. */
START_TEST(tended)
{
    struct cairn_store *store = open_fast();
    good(store_begin(store, -1, &error));
    log_merge(store, 1, 2);
    good(store_tend_merges(store, 1, 400, &error));
    expect(store, "2 up to 0");
    good(store_tend_merges(store, 1, 600, &error));
    expect(store, "2 up to 600");
    good(store_tend_merges(store, 1, 1100, &error));
    expect(store, "2 up to 600");
    good(store_tend_merges(store, 1, 1101, &error));
    expect(store, "2 up to 1101");
    store_abort(store);
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merges");
    TCase *tests = tcase_create("merges");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, from_both);
    tcase_add_test(tests, what_is_no_such_setting);
    tcase_add_test(tests, long_ones);
    tcase_add_test(tests, tended);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
