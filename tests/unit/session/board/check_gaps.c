/* SPDX-License-Identifier: MIT */
/* Scores at a fixed clock, suggestions, closing by itself, and the order of gaps. */
#include "session/board/confidence.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <math.h>

#define DAY_NS 86400000000000
#define NOW_NS (20000 * DAY_NS)

static struct cairn_error failure;

static double score(struct gap gap, int64_t now_ns)
{
    double out = -1;
    ck_assert_int_eq(gap_score(&gap, now_ns, &out, NULL), 0);
    ck_assert(out >= 0 && out <= 1);
    return out;
}

static const struct gap plain = {.kind = GAP_INFORMATION,
                                 .criticality = GAP_HIGH,
                                 .status = GAP_OPEN,
                                 .created_ns = NOW_NS};

START_TEST(test_score)
{
    struct gap gap = plain;
    ck_assert_double_eq_tol(score(gap, NOW_NS), 0.65, 1e-12);
    gap.criticality = GAP_MEDIUM;
    ck_assert_double_eq_tol(score(gap, NOW_NS), 0.45, 1e-12);
    gap.criticality = GAP_LOW;
    ck_assert_double_eq_tol(score(gap, NOW_NS), 0.30, 1e-12);
    gap.depth = 4;
    ck_assert_double_eq_tol(score(gap, NOW_NS), 0.42, 1e-12);
    gap.depth = 10;
    ck_assert_double_eq_tol(score(gap, NOW_NS), 0.60, 1e-12);
    gap.depth = UINT32_MAX;
    ck_assert_double_eq_tol(score(gap, NOW_NS), 0.60, 1e-12);
    gap.depth = 0;
    gap.strength = 0.6;
    ck_assert_double_eq_tol(score(gap, NOW_NS), 0.21, 1e-12);
    gap.strength = -0.6;
    ck_assert_double_eq_tol(score(gap, NOW_NS), 0.21, 1e-12);
    gap.strength = 1;
    ck_assert_double_eq_tol(score(gap, NOW_NS), 0.15, 1e-12);
    ck_assert_double_eq_tol(score(gap, NOW_NS + 15 * DAY_NS), 0.175, 1e-12);
    ck_assert_double_eq_tol(score(gap, NOW_NS + 3 * DAY_NS / 2), 0.1525, 1e-12);
    ck_assert_double_eq_tol(score(gap, NOW_NS + 30 * DAY_NS), 0.2, 1e-12);
    ck_assert_double_eq_tol(score(gap, NOW_NS + 900 * DAY_NS), 0.2, 1e-12);
    ck_assert_double_eq_tol(score(gap, NOW_NS - DAY_NS), 0.15, 1e-12);
    gap.created_ns = INT64_MIN;
    ck_assert_double_eq_tol(score(gap, INT64_MAX), 0.2, 1e-12);
    gap = (struct gap){.kind = GAP_OTHER, .criticality = GAP_HIGH, .depth = 10};
    ck_assert_double_eq_tol(score(gap, NOW_NS), 1, 1e-12);
}
END_TEST

START_TEST(test_gap_refusals)
{
    double out = 7;
    const double wrong[] = {NAN, 1.01, -1.01, INFINITY};
    struct gap gap = plain;
    for (int i = 0; i < 4; i++) {
        gap.strength = wrong[i];
        ck_assert_int_eq(gap_score(&gap, NOW_NS, &out, &failure), CAIRN_EUSAGE);
    }
    gap = plain;
    gap.kind = (enum gap_kind)6;
    ck_assert_int_eq(gap_score(&gap, NOW_NS, &out, &failure), CAIRN_EUSAGE);
    ck_assert_ptr_null(gap_suggest(&gap).name);
    gap = plain;
    gap.criticality = (enum gap_criticality)0;
    ck_assert_int_eq(gap_score(&gap, NOW_NS, &out, &failure), CAIRN_EUSAGE);
    ck_assert(out == 7);
    struct gap_rank ranked[1];
    uint32_t n = 7;
    ck_assert_int_eq(gap_order(&gap, 1, NOW_NS, ranked, &n, &failure), CAIRN_EUSAGE);
    ck_assert_uint_eq(n, 7);
}
END_TEST

START_TEST(test_gap_names)
{
    enum gap_kind kind;
    enum gap_criticality criticality;
    for (int i = 1; i <= 5; i++) {
        const char *name = gap_kind_name((enum gap_kind)i);
        ck_assert_int_eq(gap_kind_parse(str_of(name), &kind, NULL), 0);
        ck_assert_int_eq(kind, i);
    }
    for (int i = 1; i <= 3; i++) {
        const char *name = gap_criticality_name((enum gap_criticality)i);
        ck_assert_int_eq(gap_criticality_parse(str_of(name), &criticality, NULL), 0);
        ck_assert_int_eq(criticality, i);
    }
    ck_assert_ptr_null(gap_kind_name((enum gap_kind)0));
    ck_assert_ptr_null(gap_kind_name((enum gap_kind)6));
    ck_assert_ptr_null(gap_criticality_name((enum gap_criticality)4));
    ck_assert_int_eq(gap_kind_parse(STR("x"), &kind, &failure), CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(failure.text, "contradiction, dependency or other"));
    ck_assert_int_eq(gap_criticality_parse(STR("High"), &criticality, &failure),
                     CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(failure.text, "take high, medium or low"));
}
END_TEST

START_TEST(test_closes_when_certain)
{
    struct gap gap = plain;
    gap.confidence = 0.91;
    ck_assert(!gap_closes(&gap));
    gap.has_hypothesis = true;
    ck_assert(gap_closes(&gap));
    gap.confidence = 0.9;
    ck_assert(!gap_closes(&gap));
    gap.confidence = 0.95;
    gap.status = GAP_FILLED;
    ck_assert(!gap_closes(&gap));
    gap.status = GAP_CLOSED;
    ck_assert(!gap_closes(&gap));
}
END_TEST

START_TEST(test_suggestions)
{
    static const char *const names[] = {"check", "research", "investigate", "resolve",
                                        "decide"};
    struct gap gap = plain;
    for (int i = 1; i <= 5; i++) {
        gap.kind = (enum gap_kind)i;
        struct gap_suggestion made = gap_suggest(&gap);
        ck_assert_str_eq(made.name, names[i - 1]);
        ck_assert_uint_gt(strlen(made.rationale), 20);
    }
    gap.kind = GAP_INFORMATION;
    gap.has_hypothesis = true;
    ck_assert_int_eq(gap_suggest(&gap).action, GAP_DO_GATHER);
    gap.strength = 0.1;
    ck_assert_int_eq(gap_suggest(&gap).action, GAP_DO_RESEARCH);
}
END_TEST

START_TEST(test_order)
{
    uint64_t seed = 31;
    for (int round = 0; round < 1000; round++) {
        enum { MOST = 12 };
        struct gap gaps[MOST];
        struct gap_rank ranked[MOST];
        bool seen[MOST] = {false};
        uint32_t n = help_below(&seed, MOST + 1), found, open = 0;
        for (uint32_t i = 0; i < n; i++) {
            gaps[i] = plain;
            gaps[i].criticality = (enum gap_criticality)(1 + help_below(&seed, 3));
            gaps[i].status = (enum gap_status)(1 + help_below(&seed, 3));
            gaps[i].created_ns -= help_below(&seed, 3) * 40 * DAY_NS;
            open += gaps[i].status == GAP_OPEN;
        }
        ck_assert_int_eq(gap_order(gaps, n, NOW_NS, ranked, &found, NULL), 0);
        ck_assert_uint_eq(found, open);
        for (uint32_t i = 0; i < found; i++) {
            const struct gap *gap = &gaps[ranked[i].gap];
            ck_assert(gap->status == GAP_OPEN && !seen[ranked[i].gap]);
            seen[ranked[i].gap] = true;
            ck_assert(ranked[i].score == score(*gap, NOW_NS));
            if (i == 0)
                continue;
            const struct gap *before = &gaps[ranked[i - 1].gap];
            ck_assert(ranked[i - 1].score >= ranked[i].score);
            if (ranked[i - 1].score == ranked[i].score)
                ck_assert(before->created_ns < gap->created_ns ||
                          (before->created_ns == gap->created_ns &&
                           ranked[i - 1].gap < ranked[i].gap));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gaps");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_score);
    tcase_add_test(c, test_gap_refusals);
    tcase_add_test(c, test_gap_names);
    tcase_add_test(c, test_closes_when_certain);
    tcase_add_test(c, test_suggestions);
    tcase_add_test(c, test_order);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
