/* SPDX-License-Identifier: MIT */
/* Every move between two states of a hypothesis, and the names of all states. */
#include "session/board/confidence.h"

#include "tests/support/suite.h"

static struct cairn_error failure;

START_TEST(test_every_move)
{
    static const bool allowed[5][5] = {
        [HYPOTHESIS_PROPOSED] =
            {[HYPOTHESIS_TESTING] = true, [HYPOTHESIS_REJECTED] = true},
        [HYPOTHESIS_TESTING] =
            {[HYPOTHESIS_CONFIRMED] = true, [HYPOTHESIS_REJECTED] = true},
    };
    for (int from = 0; from <= 5; from++)
        for (int to = 0; to <= 5; to++) {
            bool may = from < 5 && to < 5 && allowed[from][to];
            ck_assert_int_eq(hypothesis_move((enum hypothesis_status)from,
                                             (enum hypothesis_status)to, &failure),
                             may ? 0 : CAIRN_EUSAGE);
        }
}
END_TEST

static void expect_refusal(enum hypothesis_status from, enum hypothesis_status to,
                           const char *text)
{
    ck_assert_int_eq(hypothesis_move(from, to, &failure), CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, text);
}

START_TEST(test_a_refusal_says_what_is_allowed)
{
    expect_refusal(HYPOTHESIS_PROPOSED, HYPOTHESIS_CONFIRMED,
                   "a hypothesis that is proposed cannot become confirmed; it can "
                   "become testing or rejected");
    expect_refusal(HYPOTHESIS_TESTING, HYPOTHESIS_PROPOSED,
                   "a hypothesis that is testing cannot become proposed; it can become "
                   "confirmed or rejected");
    expect_refusal(HYPOTHESIS_TESTING, HYPOTHESIS_TESTING,
                   "the hypothesis is testing already; it can become confirmed or "
                   "rejected");
    expect_refusal(HYPOTHESIS_CONFIRMED, HYPOTHESIS_REJECTED,
                   "a hypothesis that is confirmed cannot become rejected; that is "
                   "final; add a new hypothesis");
    expect_refusal(HYPOTHESIS_REJECTED, (enum hypothesis_status)9,
                   "9 is not a status of a hypothesis");
}
END_TEST

/* Each number up to `last` has its name, others have none. */
#define CHECK_NAMES(type, last, ...)                                   \
    do {                                                               \
        static const char *const names[] = {__VA_ARGS__};              \
        for (int i = 1; i <= (last); i++)                              \
            ck_assert_str_eq(type##_name((enum type)i), names[i - 1]); \
        ck_assert_ptr_null(type##_name((enum type)0));                 \
        ck_assert_ptr_null(type##_name((enum type)((last) + 1)));      \
    } while (0)

START_TEST(test_names)
{
    CHECK_NAMES(hypothesis_status, 4, "proposed", "testing", "confirmed", "rejected");
    CHECK_NAMES(gap_status, 3, "open", "filled", "closed");
    CHECK_NAMES(check_status, 6, "pending", "running", "passed", "failed", "timeout",
                "error");
    CHECK_NAMES(branch_status, 4, "active", "merged", "abandoned", "archived");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("status");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_every_move);
    tcase_add_test(c, test_a_refusal_says_what_is_allowed);
    tcase_add_test(c, test_names);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
