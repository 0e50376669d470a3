/* SPDX-License-Identifier: MIT */
/* What runs and why: `when`, handled failures, `once`, what was told, conditions,
 * external tasks and `finally`. */
#include "tests/support/decide.h"

/* ---- when ---- */

START_TEST(test_when_of_settled_needs)
{
    begin("a\nf : a\nff : f\nal : f\nfal : f\n", NULL);
    give("f=failed al=always fal=failed");
    set("f", CAIRN_EXCLUDED);
    set("ff", CAIRN_SKIPPED);
    set("fal", CAIRN_EXCLUDED);
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_EXCLUDED, FATE_BAD);
    expect("ff", CAIRN_REASON_NEED_SKIPPED, FATE_BAD);
    expect_cause("ff", "f");
    expect("al", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("fal", CAIRN_REASON_EXCLUDED, FATE_BAD);
    expect_counts(0, 0);
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        ck_assert(!decisions.reset[t]); /* they stand as they are */
    set("al", CAIRN_PENDING);
    judge(CAIRN_RERUN);
    expect("al", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    set("a", CAIRN_PENDING);
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_UPSTREAM, FATE_MAY);
    expect("ff", CAIRN_REASON_SKIPPED, FATE_MAY);
    expect("al", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("fal", CAIRN_REASON_UPSTREAM, FATE_MAY);
    end();
}
END_TEST

/* It never ran, and what it needs is skipped for good. */
START_TEST(test_new_user_of_what_is_excluded)
{
    begin("a\nf : a\n", "a\nf : a\nnew : f\nnew2 : new\n");
    give("f=failed");
    set("f", CAIRN_EXCLUDED);
    judge(CAIRN_RERUN);
    expect("new", CAIRN_REASON_NEED_SKIPPED, FATE_BAD | FATE_TURNED);
    expect_cause("new", "f");
    expect("new2", CAIRN_REASON_NEED_SKIPPED, FATE_BAD | FATE_TURNED);
    expect_counts(0, 0);
    expect_edits(0, 2, 0);
    end();
}
END_TEST

START_TEST(test_handled)
{
    begin("bad\nmend : bad\nuser : bad\nlate : bad\n", NULL);
    give("mend=failed late=always");
    set("bad", CAIRN_FAILED);
    set("user", CAIRN_SKIPPED);
    judge(CAIRN_RERUN);
    expect("bad", CAIRN_REASON_HANDLED, FATE_FAILED);
    ck_assert(!decisions.reset[0]);
    expect("mend", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("user", CAIRN_REASON_NEED_SKIPPED, FATE_BAD);
    expect_cause("user", "bad");
    expect("late", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect_counts(0, 0);
    evidence[1] = OUTPUT_MISSING; /* it takes care again */
    judge(CAIRN_RERUN);
    expect("bad", CAIRN_REASON_HANDLED, FATE_FAILED);
    expect("mend", CAIRN_REASON_OUTPUT, FATE_WILL);
    evidence[1] = EVIDENCE_GOOD;
    definition.defs[0].run = STR("mended"); /* an edited one may complete now */
    judge(CAIRN_RERUN);
    expect("bad", CAIRN_REASON_FAILED, FATE_WILL);
    expect("mend", CAIRN_REASON_UPSTREAM, FATE_MAY);
    expect_cause("mend", "bad");
    end();
}
END_TEST

START_TEST(test_not_handled)
{
    static const uint8_t outcomes[] = {CAIRN_FAILED,    CAIRN_EXCLUDED, CAIRN_PENDING,
                                       CAIRN_CANCELLED, CAIRN_UNDONE,   CAIRN_SKIPPED};
    begin("bad\nmend : bad\nother : bad\n", NULL);
    give("mend=failed other=always"); /* always does not take care of it */
    set("bad", CAIRN_FAILED);
    for (size_t i = 0; i < sizeof outcomes; i++) {
        states.outcome[1] = outcomes[i];
        judge(CAIRN_RERUN);
        expect("bad", CAIRN_REASON_FAILED, FATE_WILL);
        ck_assert_int_eq(decisions.fate[1],
                         FATE_MAY | (outcomes[i] == CAIRN_FAILED ? FATE_RISK : 0));
    }
    end();
}
END_TEST

START_TEST(test_handled_as_a_group)
{
    begin("g x=1,2,3\nmend : g\none : g[x=1]\n", NULL);
    give("mend=failed one=failed");
    set("g[x=2]", CAIRN_FAILED);
    set("one", CAIRN_EXCLUDED);
    judge(CAIRN_RERUN);
    expect("g[x=2]", CAIRN_REASON_HANDLED, FATE_FAILED);
    expect("one", CAIRN_REASON_EXCLUDED, FATE_BAD);
    expect_counts(0, 0);
    ck_assert_int_eq(decisions.fate[graph.barrier[0]], FATE_COMPLETED | FATE_FAILED);
    set("mend", CAIRN_PENDING);
    judge(CAIRN_RERUN);
    expect("g[x=2]", CAIRN_REASON_FAILED, FATE_WILL);
    expect("mend", CAIRN_REASON_NEVER_RAN, FATE_MAY);
    end();
}
END_TEST

/* ---- once ---- */

START_TEST(test_unknown)
{
    static const int bits[] = {MARK_INTERRUPTED, MARK_DAMAGED, MARK_UNDOING};
    begin("a\nb : a\nal : a\nf : a\nc : b\n", NULL);
    give("a=once al=always f=failed");
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        set("a", bits[i] == MARK_UNDOING ? CAIRN_COMPLETED : CAIRN_PENDING);
        marks[0] = (uint8_t)bits[i];
        judge(CAIRN_RERUN);
        expect("a", CAIRN_REASON_UNKNOWN, FATE_OPEN);
    }
    marks[0] = 0;
    set("a", CAIRN_UNKNOWN);
    judge(CAIRN_RERUN);
    expect("a", CAIRN_REASON_UNKNOWN, FATE_OPEN);
    expect("b", CAIRN_REASON_UPSTREAM, FATE_MAY);
    expect_cause("b", "a");
    expect("al", CAIRN_REASON_UPSTREAM, FATE_MAY);
    expect("f", CAIRN_REASON_UPSTREAM, FATE_MAY);
    expect("c", CAIRN_REASON_UPSTREAM, FATE_MAY);
    expect_cause("c", "b");
    expect_counts(0, 4);
    set("a", CAIRN_PENDING);
    marks[0] = MARK_RESET; /* it cannot have run */
    judge(CAIRN_RERUN);
    expect("a", CAIRN_REASON_INTERRUPTED, FATE_WILL);
    marks[0] = MARK_OUTLIVED;
    judge(CAIRN_RERUN);
    expect("a", CAIRN_REASON_ADOPTED, FATE_WILL);
    end();
}
END_TEST

/* What somebody has told stays so until the run has dealt with it. */
START_TEST(test_told)
{
    begin("a\nb : a\nmend : b\n", NULL);
    give("mend=failed");
    set("b", CAIRN_FAILED);
    set("mend", CAIRN_PENDING);
    mark("b", MARK_REPORTED);
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_FAILED, FATE_FAILED);
    ck_assert(!decisions.reset[1]);
    expect("mend", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    set("a", CAIRN_PENDING); /* it runs again before */
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_FAILED, FATE_WILL);
    set("a", CAIRN_COMPLETED);
    definition.defs[1].run = STR("mended");
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_FAILED, FATE_WILL);
    end();
}
END_TEST

/* Under a keeper, for something that is not true any more. */
START_TEST(test_kept_attempts)
{
    begin("a\nb : a\no : a\nplain\n", NULL);
    give("o=once");
    for (const char *id = "bo"; *id; id++) {
        set((const char[]){*id, 0}, CAIRN_PENDING);
        mark((const char[]){*id, 0}, MARK_OUTLIVED);
    }
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_ADOPTED, FATE_WILL);
    expect("o", CAIRN_REASON_ADOPTED, FATE_WILL);
    set("a", CAIRN_PENDING);
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect("o", CAIRN_REASON_UNKNOWN, FATE_OPEN);
    set("a", CAIRN_COMPLETED);
    definition.defs[1].run = definition.defs[2].run = STR("edited");
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_CHANGED, FATE_WILL);
    expect("o", CAIRN_REASON_ADOPTED, FATE_WILL);
    judge(CAIRN_KEEP);
    expect("b", CAIRN_REASON_ADOPTED, FATE_WILL);
    end();
}
END_TEST

/* ---- if ---- */

static enum condition answer; /* of every condition */
static uint32_t asked;

static enum condition answer_it(void *context, uint32_t task, const uint16_t *fate)
{
    (void)context;
    for (uint32_t e = graph.need_start[task]; e < graph.need_start[task + 1]; e++)
        ck_assert(fate[graph.needs[e]] != 0); /* what it needs is decided */
    asked++;
    return answer;
}

START_TEST(test_conditions)
{
    condition = answer_it;
    asked = 0;
    begin("a\nb : a\nc : b\nd\n", NULL);
    give("b=if d=if");
    set("b", CAIRN_PENDING);
    set("c", CAIRN_PENDING);
    answer = CONDITION_YES;
    judge(CAIRN_RERUN);
    ck_assert_uint_eq(asked, 1); /* d has completed: nobody asks */
    expect("b", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("c", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    answer = CONDITION_NO;
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_EXCLUDED, FATE_BAD | FATE_TURNED);
    expect("c", CAIRN_REASON_NEED_SKIPPED, FATE_BAD | FATE_TURNED);
    expect_counts(0, 0);
    answer = CONDITION_OPEN;
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_NEVER_RAN, FATE_MAY);
    expect_cause("b", "-");
    expect("c", CAIRN_REASON_NEVER_RAN, FATE_MAY);
    expect_cause("c", "b");
    expect_counts(0, 2);
    set("b", CAIRN_EXCLUDED); /* it stands as long as the answer does */
    set("c", CAIRN_SKIPPED);
    answer = CONDITION_NO;
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_EXCLUDED, FATE_BAD);
    expect("c", CAIRN_REASON_NEED_SKIPPED, FATE_BAD);
    ck_assert(!decisions.reset[1] && !decisions.reset[2]);
    answer = CONDITION_YES;
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_EXCLUDED, FATE_WILL);
    expect("c", CAIRN_REASON_SKIPPED, FATE_WILL);
    end();
}
END_TEST

/* A condition is not asked when `when` has said no. */
START_TEST(test_condition_and_when)
{
    condition = answer_it;
    asked = 0;
    begin("a\nf : a\n", NULL);
    give("f=failed f=if");
    set("f", CAIRN_PENDING);
    answer = CONDITION_YES;
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_EXCLUDED, FATE_BAD | FATE_TURNED);
    ck_assert_uint_eq(asked, 0);
    end();
}
END_TEST

START_TEST(test_external)
{
    begin("a\nb : a\n", NULL);
    give("a=external");
    judge(CAIRN_RERUN);
    expect_counts(0, 0);
    set("a", CAIRN_PENDING);
    judge(CAIRN_RERUN);
    expect("a", CAIRN_REASON_NEVER_RAN, FATE_MAY);
    expect("b", CAIRN_REASON_UPSTREAM, FATE_MAY);
    expect_cause("b", "a");
    end();
}
END_TEST

/* ---- finally ---- */

/* What waits for a decision, or for somebody outside, makes all behind it wait. */
START_TEST(test_waiting)
{
    condition = answer_it;
    asked = 0;
    answer = CONDITION_NO;
    begin("u\nok\nb : u\nc : b\nd : ok u\ne : d\nx\ny : x\nf\n", NULL);
    give("u=once b=always c=always d=if e=always x=external y=always f=finally");
    for (const char *id = "bcdexyf"; *id; id++)
        set((const char[]){*id, 0}, CAIRN_PENDING);
    set("u", CAIRN_UNKNOWN);
    judge(CAIRN_RERUN);
    for (const char *id = "bcexyf"; *id; id++)
        expect((const char[]){*id, 0}, CAIRN_REASON_NEVER_RAN, FATE_MAY);
    expect("d", CAIRN_REASON_EXCLUDED, FATE_BAD | FATE_TURNED); /* after u */
    expect_cause("c", "b");
    expect_counts(0, 6);
    set("u", CAIRN_COMPLETED);
    set("x", CAIRN_COMPLETED);
    judge(CAIRN_RERUN);
    for (const char *id = "bceyf"; *id; id++)
        expect((const char[]){*id, 0}, CAIRN_REASON_NEVER_RAN, FATE_WILL);
    end();
}
END_TEST

/* One of `finally` whose condition was not met is not asked again for nothing. */
START_TEST(test_finally_that_was_excluded)
{
    condition = answer_it;
    asked = 0;
    answer = CONDITION_OPEN;
    begin("a\nf\ng : f\n", NULL);
    give("f=finally f=if g=finally");
    set("f", CAIRN_EXCLUDED);
    set("g", CAIRN_SKIPPED);
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_EXCLUDED, FATE_BAD);
    expect("g", CAIRN_REASON_NEED_SKIPPED, FATE_BAD);
    ck_assert(!decisions.reset[1] && !decisions.reset[2]);
    set("a", CAIRN_PENDING);
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_EXCLUDED, FATE_MAY);
    expect("g", CAIRN_REASON_SKIPPED, FATE_MAY);
    end();
}
END_TEST

START_TEST(test_finally)
{
    begin("a\nb : a\nf\ng : f\n", NULL);
    give("f=finally g=finally");
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("g", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect_counts(0, 0);
    set("b", CAIRN_PENDING);
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("f", "b");
    expect("g", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_counts(3, 0);
    set("a", CAIRN_FAILED);
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("f", "a");
    set("a", CAIRN_COMPLETED);
    set("b", CAIRN_COMPLETED);
    set("f", CAIRN_FAILED);
    set("g", CAIRN_SKIPPED);
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_FAILED, FATE_WILL);
    expect("g", CAIRN_REASON_SKIPPED, FATE_MAY);
    expect("b", CAIRN_REASON_DONE, FATE_COMPLETED);
    end();
}
END_TEST

/* If it is not sure that anything runs, it is not sure for `finally` either. */
START_TEST(test_finally_after_what_may)
{
    condition = answer_it;
    asked = 0;
    begin("a\nb : a\nf\n", NULL);
    give("b=if f=finally");
    set("b", CAIRN_PENDING);
    answer = CONDITION_OPEN;
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_NEVER_RAN, FATE_MAY);
    expect("f", CAIRN_REASON_UPSTREAM, FATE_MAY);
    expect_cause("f", "b");
    answer = CONDITION_NO; /* b waited when f ran, and is skipped for certain now */
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("f", "b");
    set("b", CAIRN_EXCLUDED); /* f has seen that */
    judge(CAIRN_RERUN);
    expect("f", CAIRN_REASON_DONE, FATE_COMPLETED);
    end();
}
END_TEST

/* ---- A failure that is to be expected, where it stops the run ---- */

static void stop_on_failure(void)
{
    definition.on_failure = old_definition.on_failure = ON_FAILURE_STOP;
}

START_TEST(test_stop)
{
    begin("before\nbad : before\nafter : bad\nother\nf\n", NULL);
    give("f=finally");
    set("before", CAIRN_PENDING);
    set("bad", CAIRN_FAILED);
    set("after", CAIRN_SKIPPED);
    set("other", CAIRN_PENDING);
    set("f", CAIRN_PENDING);
    judge(CAIRN_RERUN);
    expect("other", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect_counts(4, 1);
    stop_on_failure();
    judge(CAIRN_RERUN);
    expect("before", CAIRN_REASON_NEVER_RAN, FATE_WILL); /* bad cannot fail before */
    expect("bad", CAIRN_REASON_FAILED, FATE_WILL);
    expect("after", CAIRN_REASON_SKIPPED, FATE_MAY);
    expect("other", CAIRN_REASON_NEVER_RAN, FATE_MAY);
    expect_cause("other", "bad");
    expect("f", CAIRN_REASON_NEVER_RAN, FATE_WILL); /* whatever happens */
    expect_counts(3, 2);
    definition.defs[1].run = STR("mended"); /* nothing is to be expected now */
    judge(CAIRN_RERUN);
    expect_counts(5, 0);
    end();
}
END_TEST

static void expect_stopped(uint16_t first, uint16_t bad, uint16_t worse, uint16_t last)
{
    judge(CAIRN_RERUN);
    expect("both", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("first", CAIRN_REASON_NEVER_RAN, first);
    expect("bad", CAIRN_REASON_FAILED, bad);
    expect("worse", CAIRN_REASON_FAILED, worse);
    expect("last", CAIRN_REASON_NEVER_RAN, last);
}

/* The first of them that can start may stop the others, and nothing stops it. */
START_TEST(test_stop_by_one_of_two)
{
    begin("both\nfirst : both\nbad : both\nworse : both\nlast : both\n", NULL);
    stop_on_failure();
    set("both", CAIRN_PENDING);
    set("first", CAIRN_PENDING);
    set("bad", CAIRN_FAILED);
    set("worse", CAIRN_FAILED);
    set("last", CAIRN_PENDING);
    expect_stopped(FATE_WILL, FATE_WILL, FATE_MAY, FATE_MAY);
    expect_cause("worse", "bad");
    expect_cause("last", "bad");
    definition.defs[4].priority = old_definition.defs[4].priority = 1;
    definition.defs[3].priority = old_definition.defs[3].priority = 1;
    expect_stopped(FATE_MAY, FATE_MAY, FATE_WILL,
                   FATE_MAY); /* in the order of the file */
    expect_cause("bad", "worse");
    definition.defs[4].priority = old_definition.defs[4].priority = 2;
    expect_stopped(FATE_MAY, FATE_MAY, FATE_WILL, FATE_WILL);
    definition.defs[4].memory = old_definition.defs[4].memory = 1; /* it may wait */
    expect_stopped(FATE_MAY, FATE_MAY, FATE_WILL, FATE_MAY);
    end();
}
END_TEST

/* It is before them in the file, but waits for what the other one does not need. */
START_TEST(test_stop_before_others_can_start)
{
    begin("both\nfirst : both\nbad\nworse : both\nlast : both\n", NULL);
    stop_on_failure();
    set("both", CAIRN_PENDING);
    set("first", CAIRN_PENDING);
    set("bad", CAIRN_FAILED);
    set("worse", CAIRN_FAILED);
    set("last", CAIRN_PENDING);
    expect_stopped(FATE_MAY, FATE_WILL, FATE_MAY, FATE_MAY);
    expect_cause("first", "bad");
    end();
}
END_TEST

/* It comes before one that may fail by itself, without being started: then nothing is. */
START_TEST(test_stop_by_what_is_not_started)
{
    condition = answer_it;
    begin("first\nbad\n", NULL);
    give("bad=if");
    stop_on_failure();
    set("first", CAIRN_PENDING);
    set("bad", CAIRN_FAILED);
    answer = CONDITION_YES;
    judge(CAIRN_RERUN);
    expect("first", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("bad", CAIRN_REASON_FAILED, FATE_WILL);
    answer = CONDITION_OPEN; /* if it can be evaluated at all */
    judge(CAIRN_RERUN);
    expect("first", CAIRN_REASON_NEVER_RAN, FATE_MAY);
    expect_cause("first", "bad");
    end();
    condition = NULL;
    begin("first\nbad\n", NULL);
    give("bad=external");
    stop_on_failure();
    set("first", CAIRN_PENDING);
    set("bad", CAIRN_FAILED);
    judge(CAIRN_RERUN);
    expect("first", CAIRN_REASON_NEVER_RAN, FATE_MAY);
    end();
}
END_TEST

/* A failure that stays stops the run as soon as it continues, unless it is cared for.
 */
START_TEST(test_stop_by_what_was_told)
{
    begin("bad\nmend : bad\nother\n", NULL);
    give("mend=failed");
    stop_on_failure();
    set("bad", CAIRN_FAILED);
    set("mend", CAIRN_EXCLUDED);
    set("other", CAIRN_PENDING);
    mark("bad", MARK_REPORTED);
    judge(CAIRN_RERUN);
    expect("bad", CAIRN_REASON_FAILED, FATE_FAILED);
    expect("mend", CAIRN_REASON_EXCLUDED, FATE_WILL);
    expect("other", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    for (int i = 0; i < 2; i++)
        (i ? &definition : &old_definition)->defs[1].when = WHEN_ALWAYS;
    set("mend", CAIRN_COMPLETED); /* that takes no care of it */
    judge(CAIRN_RERUN);
    expect("other", CAIRN_REASON_NEVER_RAN, FATE_MAY);
    expect_cause("other", "bad");
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_flow");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_when_of_settled_needs);
    tcase_add_test(c, test_new_user_of_what_is_excluded);
    tcase_add_test(c, test_handled);
    tcase_add_test(c, test_not_handled);
    tcase_add_test(c, test_handled_as_a_group);
    tcase_add_test(c, test_unknown);
    tcase_add_test(c, test_told);
    tcase_add_test(c, test_kept_attempts);
    tcase_add_test(c, test_conditions);
    tcase_add_test(c, test_condition_and_when);
    tcase_add_test(c, test_external);
    tcase_add_test(c, test_waiting);
    tcase_add_test(c, test_finally_that_was_excluded);
    tcase_add_test(c, test_finally);
    tcase_add_test(c, test_finally_after_what_may);
    tcase_add_test(c, test_stop);
    tcase_add_test(c, test_stop_by_one_of_two);
    tcase_add_test(c, test_stop_before_others_can_start);
    tcase_add_test(c, test_stop_by_what_is_not_started);
    tcase_add_test(c, test_stop_by_what_was_told);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
