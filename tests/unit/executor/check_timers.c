/* SPDX-License-Identifier: MIT */
/* The heap of timers against a sorted list. */
#include "executor/state/loop.h"

#include "tests/support/graph.h"

static struct timers timers;

static void add(int64_t when_ns, uint64_t stamp)
{
    struct timer timer = {when_ns, TIMER_RETRY, 3, stamp};
    ck_assert_int_eq(timers_add(&timers, timer, NULL), 0);
}

START_TEST(test_empty)
{
    struct timer out = {.stamp = 9};
    ck_assert(!timers_take_due(&timers, INT64_MAX, &out));
    ck_assert_uint_eq(out.stamp, 9);
    ck_assert_int_eq(timers_first_ns(&timers), INT64_MAX);
    timers_release(&timers);
}
END_TEST

START_TEST(test_due)
{
    struct timer out;
    add(200, 2);
    add(100, 1);
    ck_assert(!timers_take_due(&timers, 99, &out));
    ck_assert(timers_take_due(&timers, 100, &out));
    ck_assert_uint_eq(out.stamp, 1);
    ck_assert_uint_eq(out.kind, TIMER_RETRY);
    ck_assert_uint_eq(out.index, 3);
    ck_assert(!timers_take_due(&timers, 199, &out));
    add(-5, 3); /* already past when added */
    ck_assert(timers_take_due(&timers, 0, &out));
    ck_assert_uint_eq(out.stamp, 3);
    ck_assert(timers_take_due(&timers, INT64_MAX, &out));
    ck_assert(!timers_take_due(&timers, INT64_MAX, &out));
    timers_release(&timers);
    ck_assert_uint_eq(timers.n, 0);
}
END_TEST

START_TEST(test_first)
{
    add(1000000001, 1);
    ck_assert_int_eq(timers_first_ns(&timers), 1000000001);
    add(INT64_MAX, 2);
    ck_assert_int_eq(timers_first_ns(&timers), 1000000001);
    add(5000000, 3);
    ck_assert_int_eq(timers_first_ns(&timers), 5000000);
    timers_release(&timers);
}
END_TEST

START_TEST(test_random)
{
    enum { N = 300, ROUNDS = 20 };
    static int64_t when[N];
    static bool there[N];
    uint64_t seed = 20260103;
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t added = 0, left = 0;
        int64_t last = INT64_MIN;
        while (added < N || left) {
            struct timer out;
            if (added < N && (!left || help_below(&seed, 3))) {
                when[added] = help_below(&seed, 500); /* many equal ones */
                there[added] = true;
                add(when[added], added);
                added++;
                left++;
                last = INT64_MIN;
                continue;
            }
            ck_assert_uint_eq(timers.n, left);
            ck_assert(timers_take_due(&timers, 500, &out));
            ck_assert(there[out.stamp] && when[out.stamp] == out.when_ns);
            ck_assert_int_ge(out.when_ns, last);
            uint32_t sooner = 0;
            for (uint32_t i = 0; i < added; i++)
                sooner += there[i] && when[i] < out.when_ns;
            ck_assert_uint_eq(sooner, 0);
            last = out.when_ns;
            there[out.stamp] = false;
            left--;
        }
    }
    timers_release(&timers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timers");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_empty);
    tcase_add_test(c, test_due);
    tcase_add_test(c, test_first);
    tcase_add_test(c, test_random);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
