/* SPDX-License-Identifier: MIT */
/* Names, messages and tags of all triggers, and whether they make a checkpoint. */
#include "session/settings.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#define S 1000000000ll

static struct cairn_error failure;

static const struct {
    enum trigger trigger, kind;
    const char *name, *message;
    bool automatic, significant;
} all[] = {
    {1, 1, "manual", NULL, false, false},
    {2, 2, "scheduled", "Scheduled", false, false},
    {3, 3, "hypothesis-status", "Auto: hypothesis status", true, false},
    {4, 3, "hypothesis-confirmed", "Auto: hypothesis confirmed", true, true},
    {5, 3, "hypothesis-rejected", "Auto: hypothesis rejected", true, true},
    {6, 6, "contradiction", "Auto: contradiction", true, true},
    {7, 7, "verification", "Auto: verification", true, false},
    {8, 8, "branch-switch", "Auto: branch switch", true, false},
    {9, 8, "branch-merged", "Auto: branch merged", true, true},
    {10, 10, "gap-filled", "Auto: gap filled", true, false},
    {11, 11, "code-modified", "Auto: code modified", true, false},
    {12, 12, "significant-time", "Auto: significant time", true, false},
    {13, 13, "compaction-warning", "Auto: compaction warning", true, false},
    {14, 14, "task-failed", "Auto: task failed", true, false},
    {15, 15, "tool-call", "Auto: tool call", true, false},
    {16, 16, "before-restore", "Auto: before restore", true, false},
    {17, 17, "prompt", "Auto: prompt", true, false},
    {18, 18, "before-tool", "Auto: before tool", true, false},
    {19, 19, "after-tool", "Auto: after tool", true, false},
    {20, 20, "turn-ended", "Auto: turn ended", true, false},
    {21, 21, "files-settled", "Auto: files settled", true, false},
    {22, 22, "context-threshold", "Auto: context threshold", true, false},
    {23, 23, "thread", NULL, false, false},
};
enum { N = sizeof all / sizeof all[0] };

START_TEST(test_all_triggers)
{
    int named = 0;
    for (int i = 1; i < TRIGGERS_END; i++)
        named += trigger_name((enum trigger)i) != NULL;
    ck_assert_int_eq(N, named);
    ck_assert_int_eq(all[N - 1].trigger, TRIGGERS_END - 1);
    for (int i = 0; i < N; i++) {
        enum trigger trigger = all[i].trigger, found = 0;
        ck_assert_str_eq(trigger_name(trigger), all[i].name);
        ck_assert_pstr_eq(trigger_message(trigger), all[i].message);
        ck_assert_int_eq(trigger_parse(str_of(all[i].name), &found, NULL), 0);
        ck_assert_int_eq(found, trigger);
        ck_assert_int_eq(trigger_is_automatic(trigger), all[i].automatic);
        ck_assert_int_eq(trigger_is_significant(trigger), all[i].significant);
        ck_assert_int_eq(trigger_kind(trigger), all[i].kind);
        ck_assert_int_eq(trigger_counts_messages(trigger),
                         all[i].trigger < 18 || all[i].trigger > 20);
    }
    ck_assert_ptr_null(trigger_name((enum trigger)0));
    ck_assert_ptr_null(trigger_name((enum trigger)TRIGGERS_END));
    ck_assert_ptr_null(trigger_message((enum trigger) - 1));
    ck_assert(!trigger_is_significant((enum trigger)77));
}
END_TEST

/* "auto" is exactly on the automatic ones, and a case has the tag of its kind, too. */
START_TEST(test_tags)
{
    for (int i = 0; i < N; i++) {
        const char *tags[TRIGGER_TAGS];
        unsigned n = trigger_tags(all[i].trigger, tags);
        if (all[i].automatic) {
            ck_assert_uint_eq(n, all[i].kind == all[i].trigger ? 2 : 3);
            ck_assert_str_eq(tags[0], "auto");
            ck_assert_str_eq(tags[1], trigger_name(all[i].kind));
            ck_assert_str_eq(tags[n - 1], all[i].name);
        } else if (all[i].trigger == TRIGGER_SCHEDULED) {
            ck_assert_uint_eq(n, 1);
            ck_assert_str_eq(tags[0], "scheduled");
        } else {
            ck_assert_uint_eq(n, 0);
        }
    }
    const char *tags[TRIGGER_TAGS];
    ck_assert_uint_eq(trigger_tags((enum trigger)0, tags), 0);
}
END_TEST

START_TEST(test_unknown_trigger)
{
    enum trigger found = 0;
    ck_assert_int_eq(trigger_parse(STR("gap-fill"), &found, &failure), CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text,
                     "there is no trigger 'gap-fill'; did you mean 'gap-filled'?");
    ck_assert_int_eq(trigger_parse(STR("?"), &found, &failure), CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, "there is no trigger '?'");
    ck_assert_int_eq(found, 0);
}
END_TEST

START_TEST(test_of_hypothesis)
{
    ck_assert_int_eq(trigger_of_hypothesis(HYPOTHESIS_TESTING),
                     TRIGGER_HYPOTHESIS_STATUS);
    ck_assert_int_eq(trigger_of_hypothesis(HYPOTHESIS_CONFIRMED),
                     TRIGGER_HYPOTHESIS_CONFIRMED);
    ck_assert_int_eq(trigger_of_hypothesis(HYPOTHESIS_REJECTED),
                     TRIGGER_HYPOTHESIS_REJECTED);
}
END_TEST

/* ---- Whether ---- */

static struct moment at(int64_t utc_s, int64_t boot_s, const char *boot)
{
    return (struct moment){utc_s * S, boot_s * S, str_of(boot)};
}

static int64_t since(struct moment earlier, struct moment later)
{
    return moment_since(&earlier, &later);
}

START_TEST(test_time_since)
{
    ck_assert_int_eq(since(at(1000, 50, "a"), at(5000, 60, "a")), 10 * S);
    ck_assert_int_eq(since(at(1000, 50, "a"), at(0, 60, "a")), 10 * S);
    ck_assert_int_eq(since(at(1000, 50, "a"), at(1007, 60, "b")), 7 * S);
    ck_assert_int_eq(since(at(1000, 50, "a"), at(900, 60, "b")), 0);
    ck_assert_int_eq(since(at(1000, 50, ""), at(1007, 60, "")), 7 * S);
    ck_assert_int_eq(since(at(1000, 50, "a"), at(1007, 40, "a")), 7 * S);
    ck_assert_int_eq(since(at(1000, 50, "a"), at(1000, 50, "a")), 0);
    struct moment first = {INT64_MIN, 0, {NULL, 0}}, last = {INT64_MAX, 0, {NULL, 0}};
    ck_assert_int_eq(since(first, last), INT64_MAX);
    ck_assert_int_eq(since(last, first), 0);
}
END_TEST

static enum trigger_answer decide(enum trigger trigger, int64_t since_ns,
                                  bool unchanged, struct trigger_settings settings)
{
    struct trigger_case raised = {trigger, at(5, 5, "a"), at(5, 5, "a"), unchanged,
                                  true};
    raised.now.boot_ns += since_ns;
    return trigger_decide(&settings, &raised);
}

START_TEST(test_only_time_is_throttled)
{
    struct trigger_settings settings = trigger_settings_default();
    settings.off = 0;
    settings.schedule_ns = 600 * S;
    for (int i = 0; i < N; i++) {
        bool time = all[i].trigger == TRIGGER_SIGNIFICANT_TIME;
        ck_assert_int_eq(decide(all[i].trigger, 0, false, settings),
                         time ? TRIGGER_TOO_SOON : TRIGGER_MAKES);
        ck_assert_int_eq(decide(all[i].trigger, 300 * S - 1, false, settings),
                         time ? TRIGGER_TOO_SOON : TRIGGER_MAKES);
        ck_assert_int_eq(decide(all[i].trigger, 300 * S, false, settings),
                         TRIGGER_MAKES);
        ck_assert_int_eq(decide(all[i].trigger, 300 * S, true, settings),
                         all[i].trigger == TRIGGER_MANUAL ? TRIGGER_MAKES
                                                          : TRIGGER_UNCHANGED);
    }
    settings.interval_ns = 10 * S;
    ck_assert_int_eq(decide(TRIGGER_SIGNIFICANT_TIME, 9 * S, false, settings),
                     TRIGGER_TOO_SOON);
    ck_assert_int_eq(decide(TRIGGER_SIGNIFICANT_TIME, 10 * S, false, settings),
                     TRIGGER_MAKES);
}
END_TEST

START_TEST(test_settings_are_read)
{
    struct trigger_settings settings = trigger_settings_default();
    for (int i = 0; i < N; i++) {
        bool off =
            all[i].trigger == TRIGGER_TOOL_CALL || all[i].trigger == TRIGGER_SCHEDULED;
        ck_assert_int_eq(decide(all[i].trigger, 300 * S, false, settings),
                         off ? TRIGGER_OFF : TRIGGER_MAKES);
    }
    for (int kind = 3; kind < TRIGGERS_END; kind++) {
        settings = (struct trigger_settings){1u << kind, 300 * S, S};
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(decide(all[i].trigger, 300 * S, false, settings),
                             (int)all[i].kind == kind ? TRIGGER_OFF : TRIGGER_MAKES);
    }
    settings.off = UINT32_MAX;
    settings.schedule_ns = 0;
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(decide(all[i].trigger, 300 * S, false, settings),
                         all[i].trigger == TRIGGER_MANUAL ? TRIGGER_MAKES
                                                          : TRIGGER_OFF);
    ck_assert_str_eq(trigger_answer_name(TRIGGER_MAKES), "made");
    ck_assert_str_eq(trigger_answer_name(TRIGGER_OFF), "off");
    ck_assert_str_eq(trigger_answer_name(TRIGGER_TOO_SOON), "too soon");
    ck_assert_str_eq(trigger_answer_name(TRIGGER_UNCHANGED), "unchanged");
    ck_assert_str_eq(trigger_answer_name(TRIGGER_NOT_CROSSED), "no new threshold");
    ck_assert_ptr_null(trigger_answer_name((enum trigger_answer)5));
}
END_TEST

START_TEST(test_threshold)
{
    struct trigger_settings settings = trigger_settings_default();
    struct trigger_case raised = {TRIGGER_CONTEXT_THRESHOLD, at(5, 5, "a"),
                                  at(5, 5, "a"), false, false};
    ck_assert_int_eq(trigger_decide(&settings, &raised), TRIGGER_NOT_CROSSED);
    raised.crossed = true;
    ck_assert_int_eq(trigger_decide(&settings, &raised), TRIGGER_MAKES);
    settings.off = 1u << TRIGGER_CONTEXT_THRESHOLD;
    ck_assert_int_eq(trigger_decide(&settings, &raised), TRIGGER_OFF);
    raised.crossed = false;
    ck_assert_int_eq(trigger_decide(&settings, &raised), TRIGGER_OFF);
}
END_TEST

START_TEST(test_schedule)
{
    struct trigger_settings settings = trigger_settings_default();
    struct moment last = at(100, 100, "a"), now = at(0, 100, "a");
    int64_t wait_ns;
    ck_assert(!schedule_due(&settings, &last, &now, &wait_ns));
    ck_assert_int_eq(wait_ns, INT64_MAX);
    settings.schedule_ns = 600 * S;
    ck_assert(!schedule_due(&settings, &last, &now, &wait_ns));
    ck_assert_int_eq(wait_ns, 600 * S);
    now.boot_ns += 600 * S - 1;
    ck_assert(!schedule_due(&settings, &last, &now, &wait_ns));
    ck_assert_int_eq(wait_ns, 1);
    now.boot_ns += 1;
    ck_assert(schedule_due(&settings, &last, &now, &wait_ns));
    ck_assert_int_eq(wait_ns, 0);
    now.boot_ns += 10000 * S;
    ck_assert(schedule_due(&settings, &last, &now, &wait_ns));
    ck_assert_int_eq(wait_ns, 0);
}
END_TEST

/* A session of random triggers while the clock is set at random and the machine sleeps
 * and boots: a checkpoint of significant time comes exactly when it should. */
START_TEST(test_clocks_that_jump)
{
    static const char *const boots[] = {"b0", "b1", "b2", "b3"};
    uint64_t seed = 9;
    struct trigger_settings settings = trigger_settings_default();
    int made = 0, soon = 0;
    for (int round = 0; round < 200; round++) {
        int boot = 0, last_boot = 0;
        int64_t real = 0, last_real = 0, booted = 0, set = 1000000, last_utc = set;
        struct moment last = at(set, 0, boots[0]);
        for (int step = 0; step < 50; step++) {
            real += help_below(&seed, 200);
            if (help_below(&seed, 10) == 0)
                set = 1000 + help_below(&seed, 2000000);
            if (boot < 3 && help_below(&seed, 40) == 0) {
                boot++;
                booted = real;
            }
            struct trigger_case raised = {
                help_below(&seed, 4) ? TRIGGER_SIGNIFICANT_TIME : TRIGGER_GAP_FILLED,
                last, at(set + real, real - booted, boots[boot]),
                help_below(&seed, 8) == 0, false};
            int64_t passed =
                boot == last_boot ? real - last_real : set + real - last_utc;
            enum trigger_answer expected =
                raised.trigger == TRIGGER_SIGNIFICANT_TIME && passed < 300
                    ? TRIGGER_TOO_SOON
                : raised.unchanged ? TRIGGER_UNCHANGED
                                   : TRIGGER_MAKES;
            ck_assert_int_eq(trigger_decide(&settings, &raised), expected);
            soon += expected == TRIGGER_TOO_SOON;
            if (expected != TRIGGER_MAKES)
                continue;
            made++;
            last = raised.now;
            last_real = real;
            last_utc = set + real;
            last_boot = boot;
        }
    }
    ck_assert(made > 1000 && soon > 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("triggers");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_all_triggers);
    tcase_add_test(c, test_tags);
    tcase_add_test(c, test_unknown_trigger);
    tcase_add_test(c, test_of_hypothesis);
    tcase_add_test(c, test_time_since);
    tcase_add_test(c, test_only_time_is_throttled);
    tcase_add_test(c, test_settings_are_read);
    tcase_add_test(c, test_threshold);
    tcase_add_test(c, test_schedule);
    tcase_add_test(c, test_clocks_that_jump);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
