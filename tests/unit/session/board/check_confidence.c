/* SPDX-License-Identifier: MIT */
/* Bayes' rule, kinds of evidence, and confidence from a list of it. */
#include "session/board/confidence.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <math.h>

static struct cairn_error failure;

static double update(double prior, double if_true, double if_false)
{
    double out = -1;
    ck_assert_int_eq(confidence_update(prior, (struct likelihoods){if_true, if_false},
                                       &out, &failure),
                     0);
    return out;
}

static void refuse_update(double prior, double if_true, double if_false,
                          const char *part)
{
    double out = 7;
    failure = (struct cairn_error){0};
    ck_assert_int_eq(confidence_update(prior, (struct likelihoods){if_true, if_false},
                                       &out, &failure),
                     CAIRN_EUSAGE);
    ck_assert_msg(strstr(failure.text, part) != NULL, "no `%s` in: %s", part,
                  failure.text);
    ck_assert(out == 7);
}

START_TEST(test_bayes)
{
    ck_assert(update(0.5, 0.9, 0.1) == 0.9);
    ck_assert_double_eq_tol(update(0.9, 0.1, 0.9), 0.5, 1e-12);
    ck_assert_double_eq_tol(update(0.01, 0.99, 0.05), 0.0099 / 0.0594, 1e-12);
    ck_assert(update(0, 0.9, 0.1) == 0);
    ck_assert(update(1, 0.9, 0.1) == 1);
    ck_assert(update(0.3, 0.5, 0.5) == 0.3);
    ck_assert(update(0.5, 1, 0) == 1);
    ck_assert(update(0.5, 0, 1) == 0);
}
END_TEST

START_TEST(test_divisor_has_a_floor)
{
    ck_assert(update(0.5, 0, 0) == 0);
    ck_assert(update(1, 0, 1) == 0);
    ck_assert_double_eq_tol(update(1e-12, 1, 0), 1e-2, 1e-12);
    ck_assert_double_eq_tol(update(1e-9, 1, 0), 1, 1e-12);
    ck_assert_double_eq_tol(update(1e-8, 0.5, 1e-8), 1.0 / 3, 1e-6);
}
END_TEST

START_TEST(test_refuses_what_is_no_probability)
{
    refuse_update(NAN, 0.5, 0.5, "prior is not a number");
    refuse_update(-0.001, 0.5, 0.5, "prior is -0.001; give a number from 0 to 1");
    refuse_update(0.5, 1.001, 0.5, "P(E|H) is 1.001");
    refuse_update(0.5, NAN, 0.5, "P(E|H) is not a number");
    refuse_update(0.5, 0.5, -INFINITY, "P(E|not H) is -inf");
    refuse_update(0.5, 0.5, NAN, "P(E|not H) is not a number");
    ck_assert_int_eq(confidence_check("x", 0, NULL), 0);
    ck_assert_int_eq(confidence_check("x", 1, NULL), 0);
    ck_assert_int_eq(confidence_check("x", nextafter(1, 2), NULL), CAIRN_EUSAGE);
    ck_assert_int_eq(confidence_check("x", nextafter(0, -1), NULL), CAIRN_EUSAGE);
}
END_TEST

START_TEST(test_kinds)
{
    static const struct {
        enum evidence_kind kind;
        const char *name;
        double cap;
    } kinds[] = {
        {EVIDENCE_OBSERVATION, "observation", 0.5},
        {EVIDENCE_EXPERIMENT, "experiment", 1.0},
        {EVIDENCE_REFERENCE, "reference", 0.3},
        {EVIDENCE_DEDUCTION, "deduction", 0.7},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        enum evidence_kind found;
        struct evidence evidence;
        struct likelihoods out;
        ck_assert_str_eq(evidence_kind_name(kinds[i].kind), kinds[i].name);
        ck_assert_int_eq(evidence_kind_parse(str_of(kinds[i].name), &found, NULL), 0);
        ck_assert_int_eq(found, kinds[i].kind);
        ck_assert(evidence_cap(found) == kinds[i].cap);

        ck_assert_int_eq(evidence_init(&evidence, found, 5, NULL), 0);
        ck_assert(evidence.strength == kinds[i].cap);
        ck_assert_int_eq(evidence_likelihoods(&evidence, &out, NULL), 0);
        ck_assert(out.if_true == 0.9 && out.if_false == 0.1);

        ck_assert_int_eq(evidence_init(&evidence, found, -5, NULL), 0);
        ck_assert(evidence.strength == -kinds[i].cap);
        ck_assert_int_eq(evidence_likelihoods(&evidence, &out, NULL), 0);
        ck_assert(out.if_true == 0.1 && out.if_false == 0.9);

        ck_assert_int_eq(evidence_init(&evidence, found, kinds[i].cap / 2, NULL), 0);
        ck_assert(evidence.strength == kinds[i].cap / 2);
        ck_assert_int_eq(evidence_likelihoods(&evidence, &out, NULL), 0);
        ck_assert_double_eq_tol(out.if_true, 0.7, 1e-12);
        ck_assert_double_eq_tol(out.if_false, 0.3, 1e-12);
    }
    ck_assert_ptr_null(evidence_kind_name((enum evidence_kind)0));
    ck_assert_ptr_null(evidence_kind_name((enum evidence_kind)5));
    ck_assert_ptr_null(evidence_kind_name((enum evidence_kind) - 1));
}
END_TEST

START_TEST(test_refuses_evidence)
{
    struct evidence evidence = {EVIDENCE_DEDUCTION, 0.25};
    enum evidence_kind kind = EVIDENCE_REFERENCE;
    const double wrong[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(
            evidence_init(&evidence, EVIDENCE_EXPERIMENT, wrong[i], &failure),
            CAIRN_EUSAGE);
        ck_assert_ptr_nonnull(strstr(failure.text, "strength is not a number"));
    }
    ck_assert_int_eq(evidence_init(&evidence, (enum evidence_kind)9, 1, &failure),
                     CAIRN_EUSAGE);
    ck_assert(evidence.kind == EVIDENCE_DEDUCTION && evidence.strength == 0.25);
    ck_assert_int_eq(evidence_kind_parse(STR("rumour"), &kind, &failure), CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text,
                     "there is no evidence of kind 'rumour'; take observation, "
                     "experiment, reference or deduction");
    ck_assert_int_eq(evidence_kind_parse(STR(""), &kind, NULL), CAIRN_EUSAGE);
    ck_assert_int_eq(kind, EVIDENCE_REFERENCE);

    double out = 7;
    struct evidence list[] = {{EVIDENCE_EXPERIMENT, 1}, {EVIDENCE_EXPERIMENT, NAN}};
    ck_assert_int_eq(confidence_of(0.5, list, 2, &out, &failure), CAIRN_EUSAGE);
    ck_assert_int_eq(confidence_of(NAN, list, 0, &out, &failure), CAIRN_EUSAGE);
    ck_assert(out == 7);
}
END_TEST

START_TEST(test_one_experiment_is_not_certain)
{
    double out;
    struct evidence list[] = {{EVIDENCE_EXPERIMENT, 1},
                              {EVIDENCE_EXPERIMENT, -1},
                              {EVIDENCE_EXPERIMENT, 1},
                              {EVIDENCE_REFERENCE, 0.1}};
    ck_assert_int_eq(confidence_of(0.5, list, 1, &out, NULL), 0);
    ck_assert(out == 0.9);
    ck_assert(!confidence_above(out, CONFIDENCE_CERTAIN));
    ck_assert_int_eq(confidence_of(0.5, list, 3, &out, NULL), 0);
    ck_assert_double_eq_tol(out, 0.9, 1e-12);
    ck_assert(!confidence_above(out, CONFIDENCE_CERTAIN));
    ck_assert_int_eq(confidence_of(0.5, list, 4, &out, NULL), 0);
    ck_assert(confidence_above(out, CONFIDENCE_CERTAIN));
    ck_assert(confidence_above(0.91, CONFIDENCE_CERTAIN));
    ck_assert(!confidence_above(0.9, CONFIDENCE_CERTAIN));
    ck_assert(!confidence_above(NAN, CONFIDENCE_CERTAIN));
}
END_TEST

/* The model adds the logarithms of the odds. */
static double add_odds(double prior, const struct evidence *list, size_t n)
{
    double odds = log(prior / (1 - prior));
    for (size_t i = 0; i < n; i++) {
        double share = list[i].strength / evidence_cap(list[i].kind);
        odds += log((0.5 + 0.4 * share) / (0.5 - 0.4 * share));
    }
    return 1 / (1 + exp(-odds));
}

START_TEST(test_like_adding_odds)
{
    uint64_t seed = 15;
    for (int round = 0; round < 10000; round++) {
        struct evidence list[12];
        size_t n = help_below(&seed, 12);
        double prior = (1 + help_below(&seed, 99)) / 100.0, with, without, again;
        for (size_t i = 0; i < n; i++)
            ck_assert_int_eq(
                evidence_init(&list[i], (enum evidence_kind)(1 + help_below(&seed, 4)),
                              (help_below(&seed, 2001) - 1000.0) / 1000, NULL),
                0);
        ck_assert_int_eq(confidence_of(prior, list, n, &with, NULL), 0);
        ck_assert(with >= 0 && with <= 1);
        ck_assert_double_eq_tol(with, add_odds(prior, list, n), 1e-9);
        if (n == 0)
            continue;
        /* One is taken away and put back: as if nothing had been. */
        size_t at = help_below(&seed, (uint32_t)n);
        struct evidence gone = list[at];
        memmove(&list[at], &list[at + 1], (n - 1 - at) * sizeof *list);
        ck_assert_int_eq(confidence_of(prior, list, n - 1, &without, NULL), 0);
        ck_assert_double_eq_tol(without, add_odds(prior, list, n - 1), 1e-9);
        if (gone.strength > 0.01)
            ck_assert(without < with);
        if (gone.strength < -0.01)
            ck_assert(without > with);
        memmove(&list[at + 1], &list[at], (n - 1 - at) * sizeof *list);
        list[at] = gone;
        ck_assert_int_eq(confidence_of(prior, list, n, &again, NULL), 0);
        ck_assert(again == with);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("confidence");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_bayes);
    tcase_add_test(c, test_divisor_has_a_floor);
    tcase_add_test(c, test_refuses_what_is_no_probability);
    tcase_add_test(c, test_kinds);
    tcase_add_test(c, test_refuses_evidence);
    tcase_add_test(c, test_one_experiment_is_not_certain);
    tcase_add_test(c, test_like_adding_odds);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
