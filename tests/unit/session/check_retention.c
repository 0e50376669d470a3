/* SPDX-License-Identifier: MIT */
/* What stays of a stream: each rule, and random lists against the rules read one by
 * one.
 */
#include "session/keep.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <string.h>

#define MINUTE_NS 60000000000ll
#define HOUR_NS (60 * MINUTE_NS)
#define DAY_NS (24 * HOUR_NS)
#define NOW_NS (20000 * DAY_NS)
enum { MOST = 500 };

static struct cairn_error failure;
static struct kept list[MOST];
static uint32_t why[MOST];
static struct retention_report report;

static void decide(size_t n, struct keep_rules rules)
{
    ck_assert_int_eq(retention_decide(list, n, &rules, NOW_NS, why, &report, &failure),
                     0);
    ck_assert_uint_eq(report.total, n);
    ck_assert_uint_eq(report.kept + report.deleted, n);
}

/* n checkpoints, `step` apart, the last of them now. */
static void fill(size_t n, int64_t step_ns)
{
    memset(list, 0, sizeof list);
    for (size_t i = 0; i < n; i++) {
        list[i].seq = i + 1;
        list[i].utc_ns = NOW_NS - (int64_t)(n - 1 - i) * step_ns;
    }
}

START_TEST(test_last)
{
    fill(20, MINUTE_NS);
    decide(20, (struct keep_rules){.last = 5});
    ck_assert(report.kept == 5 && report.deleted == 15);
    for (size_t i = 0; i < 20; i++)
        ck_assert_uint_eq(why[i], i >= 15 ? KEEP_LAST : 0);
    decide(20, (struct keep_rules){.last = 20});
    ck_assert_uint_eq(report.deleted, 0);
    decide(20, (struct keep_rules){.last = UINT32_MAX});
    ck_assert_uint_eq(report.deleted, 0);
    decide(0, (struct keep_rules){.last = 1});
    ck_assert_uint_eq(report.total, 0);
}
END_TEST

/* T-94: 20 checkpoints, every 4th tagged: 3, 5, and their union. */
START_TEST(test_tagged)
{
    fill(20, MINUTE_NS);
    for (size_t i = 3; i < 20; i += 4)
        list[i].flags = KEEP_TAGGED;
    decide(20, (struct keep_rules){.last = 3});
    ck_assert_uint_eq(report.kept, 3);
    decide(20, (struct keep_rules){.tagged = true});
    ck_assert_uint_eq(report.kept, 5);
    decide(20, (struct keep_rules){.last = 3, .tagged = true});
    ck_assert_uint_eq(report.kept, 7);
    ck_assert_uint_eq(why[19], KEEP_LAST | KEEP_TAGGED);
}
END_TEST

/* T-90: three days, ten minutes apart. */
START_TEST(test_three_days)
{
    fill(433, 10 * MINUTE_NS);
    list[100].flags = KEEP_MANUAL;
    list[101].flags = KEEP_SIGNIFICANT;
    decide(433, (struct keep_rules){.within_ns = HOUR_NS, .hourly = true});
    size_t expected = 0;
    for (size_t i = 0; i < 433; i++) {
        bool young = i >= 426, newest = i == 432 || i % 6 == 5;
        uint32_t reasons = (young ? KEEP_YOUNG : 0u) | (newest ? KEEP_HOURLY : 0u) |
                           (i == 100 ? KEEP_MANUAL : 0u) |
                           (i == 101 ? KEEP_SIGNIFICANT : 0u);
        ck_assert_uint_eq(why[i], reasons);
        expected += reasons != 0;
    }
    ck_assert_uint_eq(report.kept, expected);
    ck_assert_uint_eq(expected, 7 + 71 + 1); /* 101 is an hour's newest, too */
}
END_TEST

START_TEST(test_days)
{
    struct keep_rules rules = {0};
    ck_assert_int_eq(keep_days(7, &rules.within_ns, NULL), 0);
    fill(3, 7 * DAY_NS);
    list[0].utc_ns = NOW_NS - 7 * DAY_NS - 1;
    list[1].utc_ns = NOW_NS - 7 * DAY_NS;
    list[2].utc_ns = NOW_NS + DAY_NS; /* the clock was set back */
    decide(3, rules);
    ck_assert(!why[0] && why[1] == KEEP_YOUNG && why[2] == KEEP_YOUNG);
    list[0].utc_ns = INT64_MIN;
    decide(3, rules);
    ck_assert_uint_eq(why[0], 0);
    ck_assert_int_eq(keep_days(36500, &rules.within_ns, NULL), 0);
    ck_assert_int_eq(rules.within_ns / DAY_NS, 36500);
    ck_assert_int_eq(keep_days(0, &rules.within_ns, &failure), CAIRN_EUSAGE);
    ck_assert_int_eq(keep_days(36501, &rules.within_ns, &failure), CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text,
                     "cannot keep 36501 days; give a number from 1 to 36500");
    rules = keep_rules_default();
    ck_assert(rules.last == 100 && rules.within_ns == 7 * DAY_NS && rules.hourly &&
              !rules.tagged);
}
END_TEST

START_TEST(test_hours_by_seq)
{
    fill(4, 0);
    list[0].utc_ns = 5 * HOUR_NS + 3;
    list[1].utc_ns = 6 * HOUR_NS;
    list[2].utc_ns = 5 * HOUR_NS; /* the clock ran back: newer by seq */
    list[3].utc_ns = -1;
    decide(4, (struct keep_rules){.hourly = true});
    ck_assert(!why[0] && why[1] && why[2] && why[3]);
    list[2].utc_ns = 0; /* another hour than -1 */
    decide(4, (struct keep_rules){.hourly = true});
    ck_assert(why[0] && why[1] && why[2] && why[3]);
}
END_TEST

START_TEST(test_always)
{
    static const uint32_t flags[] = {KEEP_MANUAL, KEEP_SIGNIFICANT, KEEP_LABELLED,
                                     KEEP_NEWEST_VALID, KEEP_FORK_POINT};
    fill(8, MINUTE_NS);
    for (int i = 0; i < 5; i++)
        list[i].flags = flags[i];
    list[5].flags = KEEP_TAGGED;                        /* not asked for */
    list[6].flags = KEEP_HOURLY | KEEP_BASE | 1u << 20; /* no flags of a checkpoint */
    decide(8, (struct keep_rules){.last = 1});
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(why[i], flags[i]);
    ck_assert(!why[5] && !why[6] && why[7] == KEEP_LAST);
    ck_assert_int_eq(retention_decide(list, 8, &(struct keep_rules){0}, NOW_NS, why,
                                      &report, &failure),
                     CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(failure.text, "no rule says what to keep"));
}
END_TEST

START_TEST(test_bases)
{
    fill(8, MINUTE_NS);
    list[7].base = 5; /* 8 -> 5 -> 2 -> outside; 7 -> 6 */
    list[4].base = 2;
    list[1].base = 999;
    list[6].base = 6;
    decide(8, (struct keep_rules){.last = 1});
    ck_assert_uint_eq(report.kept, 3);
    ck_assert(why[7] == KEEP_LAST && why[4] == KEEP_BASE && why[1] == KEEP_BASE);
}
END_TEST

/* ---- Random lists ---- */

static size_t fill_at_random(uint64_t *seed)
{
    size_t n = help_below(seed, 40);
    uint64_t seq = help_below(seed, 1000);
    int64_t utc_ns = NOW_NS - 4 * DAY_NS;
    for (size_t i = 0; i < n; i++) {
        seq += 1 + help_below(seed, 3);
        utc_ns += help_below(seed, 12) ? help_below(seed, 360) * MINUTE_NS
                                       : -(int64_t)help_below(seed, 600) * MINUTE_NS;
        list[i] = (struct kept){.seq = seq, .utc_ns = utc_ns};
        if (help_below(seed, 6) == 0)
            list[i].flags = 1u << help_below(seed, 6);
        if (i && help_below(seed, 3))
            list[i].base = list[help_below(seed, (uint32_t)i)].seq;
    }
    return n;
}

static struct keep_rules rules_at_random(uint64_t *seed)
{
    struct keep_rules rules = {0};
    do {
        if (help_below(seed, 2))
            rules.last = 1 + help_below(seed, 12);
        if (help_below(seed, 2))
            rules.within_ns = (1 + help_below(seed, 60)) * HOUR_NS;
        rules.hourly = help_below(seed, 3) == 0;
        rules.tagged = help_below(seed, 3) == 0;
    } while (!rules.last && !rules.within_ns && !rules.hourly && !rules.tagged);
    return rules;
}

static bool stays_by_a_rule(size_t n, size_t i, struct keep_rules rules)
{
    bool newest = true;
    size_t newer = n - 1 - i;
    for (size_t j = i + 1; j < n; j++)
        if (list[i].utc_ns / HOUR_NS == list[j].utc_ns / HOUR_NS)
            newest = false;
    return newer < rules.last ||
           (rules.within_ns && NOW_NS - list[i].utc_ns <= rules.within_ns) ||
           (rules.hourly && newest) || (rules.tagged && list[i].flags == KEEP_TAGGED) ||
           (list[i].flags && list[i].flags != KEEP_TAGGED);
}

/* Marks also what the others need, until nothing is added. */
static size_t model_keep(size_t n, struct keep_rules rules, bool stays[])
{
    size_t kept = 0;
    bool again = true;
    for (size_t i = 0; i < n; i++)
        stays[i] = stays_by_a_rule(n, i, rules);
    while (again) {
        again = false;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (stays[i] && !stays[j] && list[i].base == list[j].seq)
                    stays[j] = again = true;
    }
    for (size_t i = 0; i < n; i++)
        kept += stays[i];
    return kept;
}

START_TEST(test_like_the_rules_and_once_only)
{
    uint64_t seed = 7;
    size_t deleted = 0;
    for (int round = 0; round < 10000; round++) {
        bool stays[MOST];
        size_t n = fill_at_random(&seed), left = 0;
        struct keep_rules rules = rules_at_random(&seed);
        size_t kept = model_keep(n, rules, stays);
        decide(n, rules);
        ck_assert_uint_eq(report.kept, kept);
        bool same = true; /* libcheck is slow */
        for (size_t i = 0; i < n; i++)
            same = same && (why[i] != 0) == stays[i];
        ck_assert(same);
        deleted += report.deleted;

        /* The prune itself; every base is still there, and a second one does nothing.
         */
        for (size_t i = 0; i < n; i++)
            if (why[i])
                list[left++] = list[i];
        for (size_t i = 0; i < left; i++) {
            bool found = !list[i].base;
            for (size_t j = 0; j < i; j++)
                found = found || list[j].seq == list[i].base;
            same = same && found;
        }
        ck_assert(same);
        decide(left, rules);
        ck_assert_uint_eq(report.deleted, 0);
    }
    ck_assert(deleted > 10000);
}
END_TEST

/* One after the other comes, and after each it is asked what may go: at the end that is
 * left which one prune of all leaves. `settled`: index of the next to ask about. */
static size_t let_go(size_t n, size_t *settled, const struct keep_rules *rules,
                     int64_t now_ns)
{
    size_t window = rules->last ? rules->last : 1, at = *settled, left = at;
    bool waits = false;
    for (; at < n; at++) {
        enum retention_answer answer = RETENTION_FOR_NOW;
        if (!waits && at + window < n)
            answer = retention_of_one(&list[at], list[at + 1].utc_ns, rules, now_ns);
        waits = answer == RETENTION_FOR_NOW;
        if (waits)
            break;
        if (answer == RETENTION_FOR_GOOD)
            list[left++] = list[at];
    }
    *settled = left;
    while (at < n)
        list[left++] = list[at++];
    return left;
}

START_TEST(test_one_by_one)
{
    uint64_t seed = 11;
    size_t deleted = 0, waited = 0;
    for (int round = 0; round < 3000; round++) {
        struct keep_rules rules = rules_at_random(&seed);
        struct kept all[MOST];
        size_t n = 0, settled = 0, made = 20 + help_below(&seed, MOST - 20);
        int64_t now_ns = NOW_NS;
        for (size_t i = 0; i < made; i++) {
            now_ns += (int64_t)help_below(&seed, 40) * MINUTE_NS;
            all[i] = (struct kept){.seq = i + 1, .utc_ns = now_ns};
            if (help_below(&seed, 8) == 0)
                all[i].flags = help_below(&seed, 2) ? KEEP_TAGGED : KEEP_MANUAL;
            list[n++] = all[i];
            n = let_go(n, &settled, &rules, now_ns);
        }
        struct kept left[MOST];
        memcpy(left, list, n * sizeof *left);
        memcpy(list, all, made * sizeof *list);
        list[made - 1].flags |= KEEP_NEWEST_VALID;
        uint32_t reasons[MOST];
        struct retention_report once;
        struct cairn_error error;
        ck_assert_int_eq(
            retention_decide(list, made, &rules, now_ns, reasons, &once, &error), 0);
        size_t at = 0;
        bool same = once.kept == n;
        for (size_t i = 0; i < made && same; i++)
            if (reasons[i])
                same = left[at++].seq == list[i].seq;
        ck_assert_msg(same, "round %d", round);
        deleted += once.deleted;
        waited += settled < n;
    }
    ck_assert(deleted > 3000 && waited > 1000);
}
END_TEST

/* Where the clock was set back what is of the future stays, and nothing waits for it.
 */
START_TEST(test_one_of_the_future)
{
    struct keep_rules rules = {.within_ns = 10 * MINUTE_NS};
    struct kept one = {.seq = 1, .utc_ns = NOW_NS + 1};
    ck_assert_int_eq(retention_of_one(&one, NOW_NS, &rules, NOW_NS),
                     RETENTION_FOR_GOOD);
    one.utc_ns = NOW_NS;
    ck_assert_int_eq(retention_of_one(&one, NOW_NS, &rules, NOW_NS), RETENTION_FOR_NOW);
    one.utc_ns = NOW_NS - 10 * MINUTE_NS;
    ck_assert_int_eq(retention_of_one(&one, NOW_NS, &rules, NOW_NS), RETENTION_FOR_NOW);
    one.utc_ns--;
    ck_assert_int_eq(retention_of_one(&one, NOW_NS, &rules, NOW_NS), RETENTION_LETS_GO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("retention");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_last);
    tcase_add_test(c, test_tagged);
    tcase_add_test(c, test_three_days);
    tcase_add_test(c, test_days);
    tcase_add_test(c, test_hours_by_seq);
    tcase_add_test(c, test_always);
    tcase_add_test(c, test_bases);
    tcase_add_test(c, test_like_the_rules_and_once_only);
    tcase_add_test(c, test_one_by_one);
    tcase_add_test(c, test_one_of_the_future);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
