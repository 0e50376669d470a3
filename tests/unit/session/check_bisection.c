/* SPDX-License-Identifier: MIT */
/* The search for the first bad one of a line: how many are tried, and what is found
 * where some cannot be. */
#include "session/bisect_int.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <string.h>

enum { MOST = 1200 };

struct search {
    struct bisection state;
    bool skipped[MOST + 1], tried[MOST + 1];
    unsigned probes;
};

/* `last` is given as bad, number 0 as good, and `first` is the first bad one. */
static void find(struct search *s, size_t last, size_t first, const bool *refuses)
{
    size_t at;
    *s = (struct search){.state = {.bad = last}};
    s->state.skipped = s->skipped;
    while (bisection_next(&s->state, &at)) {
        ck_assert(at > s->state.good && at < s->state.bad);
        ck_assert(!s->tried[at]);
        s->tried[at] = true;
        s->probes++;
        if (refuses && refuses[at])
            s->skipped[at] = true;
        else if (at < first)
            s->state.good = at;
        else
            s->state.bad = at;
    }
}

static unsigned ceil_log2(size_t n)
{
    unsigned bits = 0;
    while (((size_t)1 << bits) < n)
        bits++;
    return bits;
}

START_TEST(test_each_place_in_lines_of_each_length)
{
    struct search s;
    for (size_t last = 1; last <= 130; last++)
        for (size_t first = 1; first <= last; first++) {
            find(&s, last, first, NULL);
            ck_assert_uint_eq(s.state.bad, first);
            ck_assert_uint_eq(s.state.good, first - 1);
            ck_assert_uint_le(s.probes, ceil_log2(last));
        }
}
END_TEST

START_TEST(test_a_thousand_take_ten)
{
    struct search s;
    unsigned most = 0;
    for (size_t first = 1; first <= 1000; first++) {
        find(&s, 1000, first, NULL);
        ck_assert_uint_eq(s.state.bad, first);
        most = s.probes > most ? s.probes : most;
    }
    ck_assert_uint_eq(most, 10);
}
END_TEST

/* All that is left between the last good and the first bad one was tried, in vain. */
START_TEST(test_skipped_ones)
{
    struct search s;
    unsigned exact = 0, ranges = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        bool refuses[MOST + 1] = {false};
        uint64_t random = seed;
        size_t last = 1 + help_below(&random, 60),
               first = 1 + help_below(&random, (uint32_t)last);
        for (size_t i = 1; i < last; i++)
            refuses[i] = help_below(&random, 4) == 0;
        find(&s, last, first, refuses);
        ck_assert(s.state.good < first && s.state.bad >= first);
        for (size_t i = s.state.good + 1; i < s.state.bad; i++)
            ck_assert(s.tried[i] && refuses[i]);
        ck_assert(!refuses[s.state.good] && !refuses[s.state.bad]);
        exact += s.state.bad - s.state.good == 1;
        ranges += s.state.bad - s.state.good > 1;
    }
    ck_assert(exact > 1000 && ranges > 500);
}
END_TEST

START_TEST(test_all_refuse)
{
    struct search s;
    bool refuses[MOST + 1];
    memset(refuses, true, sizeof refuses);
    find(&s, 9, 4, refuses);
    ck_assert_uint_eq(s.probes, 8);
    ck_assert_uint_eq(s.state.good, 0);
    ck_assert_uint_eq(s.state.bad, 9);
}
END_TEST

START_TEST(test_the_nearest_is_tried)
{
    bool skipped[11] = {false};
    struct bisection state = {.bad = 10, .skipped = skipped};
    static const size_t order[] = {5, 4, 6, 3, 7, 2, 8, 1, 9};
    size_t at;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        ck_assert(bisection_next(&state, &at));
        ck_assert_uint_eq(at, order[i]);
        skipped[at] = true;
    }
    ck_assert(!bisection_next(&state, &at));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bisection");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_each_place_in_lines_of_each_length);
    tcase_add_test(c, test_a_thousand_take_ten);
    tcase_add_test(c, test_skipped_ones);
    tcase_add_test(c, test_all_refuse);
    tcase_add_test(c, test_the_nearest_is_tried);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
