/* SPDX-License-Identifier: MIT */
/* Times of a task's attempts, added up in one look at the rows of each generation. */
#include "runs/run_tasks.h"

#include "cairn/outcome.h"

#include "tests/support/suite.h"

#include <string.h>

/* f: failed in 1 s, c: completed in 1 s, o: open, u: at its undo, k: killed, without an
 * end. They begin 10 s after each other. */
static struct attempt_times times_of(const char *rows, int64_t from_s)
{
    struct attempt_times times = {0};
    for (size_t i = 0; rows[i]; i++) {
        int64_t start_ns = (from_s + 10 * (int64_t)i) * 1000000000;
        bool ended = strchr("fcu", rows[i]) != NULL;
        struct attempt_row row = {.number = (uint32_t)i + 1,
                                  .started_ns = start_ns,
                                  .ended_ns = ended ? start_ns + 1000000000 : 0,
                                  .outcome =
                                      rows[i] == 'f' ? CAIRN_FAILED : CAIRN_COMPLETED,
                                  .flags = rows[i] == 'u' ? ATTEMPT_UNDO : 0};
        attempt_times_add(&times, &row);
    }
    return times;
}

static const struct {
    const char *before, *now; /* an earlier generation, and the newest */
    uint32_t ended, latest;
    int64_t first_s; /* when the first of the latest began; those of `now` at 1000 */
} cases[] = {
    {"", "", 0, 0, 0},         {"", "c", 1, 1, 1000},
    {"", "ffc", 3, 3, 1000},   {"", "fcfc", 4, 2, 1020}, /* asked to run again */
    {"", "fcufc", 4, 2, 1030},                           /* undone */
    {"", "fcu", 2, 0, 0},      {"", "ffo", 2, 2, 1000},  /* the third runs */
    {"", "fco", 2, 0, 0},     /* nothing to do with those before */
    {"", "fkc", 2, 2, 1000},  /* what was killed has no time */
    {"ff", "c", 3, 3, 1},     /* resumed */
    {"fc", "fc", 4, 2, 1000}, /* changed since it completed */
    {"fcf", "c", 4, 2, 21},    {"ff", "cfc", 5, 2, 1010},
    {"ff", "", 2, 2, 1},       {"fcu", "fc", 4, 2, 1000},
};

START_TEST(test_cases)
{
    struct attempt_times before = times_of(cases[_i].before, 1);
    struct attempt_times now = times_of(cases[_i].now, 1000);
    attempt_times_prepend(&now, &before);
    ck_assert_uint_eq(now.ended, cases[_i].ended);
    ck_assert_int_eq(now.all_ns, (int64_t)cases[_i].ended * 1000000000);
    ck_assert_uint_eq(now.latest, cases[_i].latest);
    ck_assert_int_eq(now.latest_ns, (int64_t)cases[_i].latest * 1000000000);
    if (now.latest)
        ck_assert_int_eq(now.latest_started_ns, cases[_i].first_s * 1000000000);
}
END_TEST

/* Of three generations the middle one decides what the first has to do with the last.
 */
START_TEST(test_three_generations)
{
    struct attempt_times times = times_of("c", 1000), none = times_of("", 500);
    struct attempt_times middle = times_of("c", 100), first = times_of("ff", 1);
    attempt_times_prepend(&times, &none);
    attempt_times_prepend(&times, &middle);
    attempt_times_prepend(&times, &first);
    ck_assert_uint_eq(times.ended, 4);
    ck_assert_uint_eq(times.latest, 1);
    ck_assert_int_eq(times.latest_started_ns, 1000ll * 1000000000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attempt_times");
    TCase *tests = tcase_create("attempt_times");
    tcase_add_loop_test(tests, test_cases, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(tests, test_three_generations);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
