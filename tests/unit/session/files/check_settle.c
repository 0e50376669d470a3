/* SPDX-License-Identifier: MIT */
/* When files that change are stored. */
#include "session/files/watch.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#define S 1000000000ll

START_TEST(test_after_a_rest)
{
    struct settle settle = {.settle_ns = 2 * S};
    ck_assert_int_eq(settle_wait(&settle, 100 * S), INT64_MAX);
    settle_note(&settle, 100 * S);
    ck_assert_int_eq(settle_wait(&settle, 100 * S), 2 * S);
    settle_note(&settle, 101 * S);
    ck_assert_int_eq(settle_wait(&settle, 102 * S), S);
    ck_assert_int_eq(settle_wait(&settle, 103 * S), 0);
    ck_assert_int_eq(settle_wait(&settle, 500 * S), 0);
    settle_begin(&settle);
    settle_end(&settle, SETTLE_MADE, 104 * S, 104 * S);
    ck_assert_int_eq(settle_wait(&settle, 104 * S), INT64_MAX);
    settle_note(&settle, 105 * S);
    settle.settle_ns = 0;
    ck_assert_int_eq(settle_wait(&settle, 500 * S), INT64_MAX);
}
END_TEST

START_TEST(test_what_changes_meanwhile_is_not_forgotten)
{
    struct settle settle = {.settle_ns = 2 * S};
    settle_note(&settle, 100 * S);
    settle_begin(&settle);
    settle_note(&settle, 103 * S);
    settle_end(&settle, SETTLE_UNCHANGED, 104 * S, 104 * S);
    ck_assert_int_eq(settle_wait(&settle, 104 * S), S);
}
END_TEST

START_TEST(test_at_the_latest)
{
    struct settle settle = {.settle_ns = 2 * S};
    int64_t now = 100 * S;
    for (; settle_wait(&settle, now) != 0 && now < 1000 * S; now += S)
        settle_note(&settle, now);
    ck_assert_int_eq(now, (100 + 2 * SETTLE_LATEST_TIMES) * S);
}
END_TEST

/* However they come, no minute has more, and none is due that has not changed. */
START_TEST(test_the_rate)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        struct settle settle = {.settle_ns = (1 + help_below(&random, 3)) * S};
        int64_t made[1000], now = 50 * S;
        unsigned n = 0;
        for (int i = 0; i < 1000; i++) {
            now += (int64_t)help_below(&random, 2000) * (S / 1000);
            if (settle_wait(&settle, now) == 0) {
                ck_assert(settle.changed);
                settle_begin(&settle);
                settle_end(&settle, SETTLE_MADE, now, now);
                made[n++] = now;
            } else if (help_below(&random, 3)) {
                settle_note(&settle, now);
            }
        }
        for (unsigned i = 0; i + SETTLE_A_MINUTE < n; i++)
            ck_assert_int_ge(made[i + SETTLE_A_MINUTE] - made[i], 60 * S);
        ck_assert_uint_gt(n, 0);
    }
}
END_TEST

START_TEST(test_failures)
{
    struct settle settle = {.settle_ns = S};
    int64_t now = 100 * S, last = 0;
    settle_note(&settle, now);
    for (int i = 0; i < 100; i++) {
        now += settle_wait(&settle, now);
        ck_assert_int_eq(settle_wait(&settle, now), 0);
        settle_begin(&settle);
        settle_end(&settle, SETTLE_FAILED, now, now);
        int64_t wait = settle_wait(&settle, now);
        ck_assert_int_ge(wait, last);
        ck_assert_int_ge(wait, S);
        ck_assert_int_le(wait, 300 * S);
        last = wait;
    }
    ck_assert_int_eq(last, 300 * S);
    now += last;
    settle_begin(&settle);
    settle_end(&settle, SETTLE_MADE, now, now);
    settle_note(&settle, now);
    ck_assert_int_eq(settle_wait(&settle, now), S);
}
END_TEST

/* A checkpoint that takes long is followed by a long pause. */
START_TEST(test_a_part_of_the_time)
{
    struct settle settle = {.settle_ns = S};
    settle_note(&settle, 100 * S);
    settle_begin(&settle);
    settle_end(&settle, SETTLE_UNCHANGED, 101 * S, 103 * S);
    settle_note(&settle, 103 * S);
    ck_assert_int_eq(settle_wait(&settle, 103 * S), 2 * SETTLE_PAUSE_TIMES * S);
    settle_begin(&settle);
    settle_end(&settle, SETTLE_MADE, 200 * S, 300 * S);
    settle_note(&settle, 300 * S);
    ck_assert_int_eq(settle_wait(&settle, 300 * S), 60 * S);
}
END_TEST

/* A file grows every `period_s` seconds, `steps` times: how often it is stored, and how
 * long after its last step. */
static int grow(struct settle *settle, int64_t period_s, int steps, int64_t *after_s)
{
    int64_t now = 1000 * S, last = 0;
    int n = 0, step = 0;
    for (; step < steps || settle->changed; now += S) {
        if (step < steps && (now / S) % period_s == 0) {
            settle_note(settle, now);
            settle_note(settle, now + S / 100); /* the same write */
            last = now;
            step++;
        }
        if (settle_wait(settle, now + S / 2) > 0)
            continue;
        settle_begin(settle);
        settle_end(settle, SETTLE_MADE, now, now);
        n++;
        ck_assert(settle_note_steady(settle, true, now) == (n == SETTLE_STEADY));
    }
    *after_s = (now - last) / S;
    return n;
}

/* A log is stored less and less often; what a person typed soon after the last key. */
START_TEST(test_a_file_that_grows)
{
    static const struct {
        int64_t period_s;
        int steps, most;
        int64_t after_s;
    } files[] = {
        {3, 3, 3, 4},           {3, 200, 12, 33},       {3, 28800, 24 * 12 + 12, 33},
        {10, 360, 12 + 12, 44}, {40, 90, 12 + 12, 165}, {40, 2160, 24 * 12 + 12, 165},
        {600, 20, 20, 34},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct settle settle = {.settle_ns = 2 * S};
        int64_t after_s = 0;
        int n = grow(&settle, files[i].period_s, files[i].steps, &after_s);
        ck_assert_msg(n <= files[i].most && after_s <= files[i].after_s,
                      "every %d s: %d checkpoints, the last after %d s",
                      (int)files[i].period_s, n, (int)after_s);
    }
}
END_TEST

/* Another edit is stored as if nothing had grown before. */
START_TEST(test_another_edit_beside_a_file_that_grows)
{
    struct settle settle = {.settle_ns = 2 * S};
    int64_t after_s = 0, now = 1340 * S;
    grow(&settle, 3, 100, &after_s);
    settle_note(&settle, now);
    ck_assert_int_ge(settle_wait(&settle, now), 30 * S);
    settle_end_steady(&settle);
    ck_assert_int_eq(settle_wait(&settle, now), 2 * S);
}
END_TEST

/* What a hook of each checkpoint writes makes no endless row of checkpoints, and is
 * stored nevertheless; an edit is stored as ever, with or without it. */
START_TEST(test_what_hooks_change)
{
    struct settle settle = {.settle_ns = 2 * S};
    int64_t now = 1000 * S, day = 86400 * S;
    int n = 0;
    settle_note(&settle, now);
    for (; now < 1000 * S + day; n++) {
        now += settle_wait(&settle, now);
        settle_begin(&settle);
        settle_end(&settle, SETTLE_MADE, now, now);
        settle_note_echo(&settle, now);
    }
    ck_assert_int_ge(n, 8);
    ck_assert_int_le(n, 13);
    settle_note(&settle, now);
    ck_assert_int_eq(settle_wait(&settle, now), 2 * S);
    settle_note_echo(&settle, now + S);
    ck_assert_int_eq(settle_wait(&settle, now), 2 * S);
    settle_begin(&settle);
    settle_end(&settle, SETTLE_MADE, now, now);
    settle_note_echo(&settle, now);
    ck_assert_int_eq(settle_wait(&settle, now), 60 * S);
}
END_TEST

START_TEST(test_long_times)
{
    struct settle settle = {.settle_ns = 366ll * 86400 * S};
    settle_note(&settle, 1000 * 86400 * S);
    ck_assert_int_eq(settle_wait(&settle, 1000 * 86400 * S), settle.settle_ns);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settle");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_after_a_rest);
    tcase_add_test(c, test_what_changes_meanwhile_is_not_forgotten);
    tcase_add_test(c, test_at_the_latest);
    tcase_add_test(c, test_the_rate);
    tcase_add_test(c, test_failures);
    tcase_add_test(c, test_a_part_of_the_time);
    tcase_add_test(c, test_a_file_that_grows);
    tcase_add_test(c, test_another_edit_beside_a_file_that_grows);
    tcase_add_test(c, test_what_hooks_change);
    tcase_add_test(c, test_long_times);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
