/* SPDX-License-Identifier: MIT */
/* What runs and why, by what is recorded. check_decide_flow.c has conditions, handled
 * failures, decisions and `finally`; check_decide_edits.c edited workflows,
 * check_decide_random.c random ones. */
#include "tests/support/decide.h"

/* ---- What is recorded ---- */

START_TEST(test_nothing_recorded)
{
    help_build(&graph, &definition, "a\ng x=1,2 : a\nb : g\n");
    struct decide_input input = {.graph = &graph};
    ck_assert_int_eq(decide(&input, &decisions, &failure), 0);
    expect("a", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("g[x=2]", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("b", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect_counts(4, 0);
    expect_edits(0, 0, 0);
    ck_assert_int_eq(decisions.fate[graph.barrier[1]], FATE_WILL);
    decisions_release(&decisions);
    help_drop(&graph, &definition);
}
END_TEST

START_TEST(test_all_done)
{
    begin("a\ng x=1,2 : a\nb : g\n", NULL);
    judge(CAIRN_RERUN);
    expect_counts(0, 0);
    expect_edits(0, 0, 0);
    expect("a", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("b", CAIRN_REASON_DONE, FATE_COMPLETED);
    ck_assert_int_eq(decisions.fate[graph.barrier[1]], FATE_COMPLETED);
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        ck_assert(!decisions.reset[t]);
    end();
}
END_TEST

START_TEST(test_same_graph)
{
    help_build(&graph, &definition, "a\nb : a\n");
    uint32_t same[2] = {7, 7};
    ck_assert_int_eq(states_init(&states, 2, NULL), 0);
    states.outcome[0] = CAIRN_COMPLETED;
    map_tasks(&graph, &graph, same);
    ck_assert_uint_eq(same[0], 0);
    ck_assert_uint_eq(same[1], 1);
    struct decide_input input = {
        .graph = &graph, .old = &graph, .old_task = same, .states = &states};
    ck_assert_int_eq(decide(&input, &decisions, &failure), 0);
    expect("a", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("b", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect_counts(1, 0);
    decisions_release(&decisions);
    states_release(&states);
    map_tasks(&graph, NULL, same);
    ck_assert_uint_eq(same[0], NODE_NONE);
    help_drop(&graph, &definition);
}
END_TEST

START_TEST(test_unfinished)
{
    begin("a\nb\nc\nd\ne\nf\ng\nh : a\ni\nj\nk\n", NULL);
    set("a", CAIRN_FAILED);
    set("b", CAIRN_CANCELLED);
    set("c", CAIRN_SKIPPED);
    set("i", CAIRN_UNDONE);
    for (const char *id = "defgjk"; *id; id++)
        set((const char[]){*id, 0}, CAIRN_PENDING);
    mark("d", MARK_INTERRUPTED);
    mark("e", MARK_DAMAGED);
    mark("f", MARK_DAMAGED | MARK_INTERRUPTED); /* its end is the newer fact */
    mark("a", MARK_INTERRUPTED);                /* a recorded outcome counts first */
    mark("h", MARK_INTERRUPTED);                /* and for a finished one, nothing */
    mark("j", MARK_RESET);
    mark("k", MARK_OUTLIVED | MARK_INTERRUPTED);
    judge(CAIRN_RERUN);
    expect("a", CAIRN_REASON_FAILED, FATE_WILL);
    expect("b", CAIRN_REASON_CANCELLED, FATE_WILL);
    expect("c", CAIRN_REASON_SKIPPED, FATE_WILL);
    expect("d", CAIRN_REASON_INTERRUPTED, FATE_WILL);
    expect("e", CAIRN_REASON_DAMAGED, FATE_WILL);
    expect("f", CAIRN_REASON_DAMAGED, FATE_WILL);
    expect("g", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("h", CAIRN_REASON_UPSTREAM, FATE_MAY); /* unless a fails again */
    expect_cause("h", "a");
    expect("i", CAIRN_REASON_UNDONE, FATE_WILL);
    expect("j", CAIRN_REASON_INTERRUPTED, FATE_WILL); /* it was about to start */
    expect("k", CAIRN_REASON_ADOPTED, FATE_WILL);
    expect_counts(10, 1);
    for (uint32_t t = 0; t < graph.n_tasks; t++)
        ck_assert(decisions.reset[t]);
    end();
}
END_TEST

/* RESET with something to wait for is what that is. */
START_TEST(test_reset)
{
    begin("a\nb : a\n", NULL);
    set("a", CAIRN_PENDING);
    set("b", CAIRN_PENDING);
    mark("b", MARK_RESET);
    judge(CAIRN_RERUN);
    expect("b", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("b", "a");
    end();
}
END_TEST

/* ---- Evidence ---- */

START_TEST(test_evidence)
{
    begin("a\nb\nc : b\nd\ne\n", NULL);
    evidence[0] = OUTPUT_MISSING;
    evidence[1] = OUTPUT_DIFFERS;
    evidence[3] = INPUT_DIFFERS;
    evidence[4] = SECRET_DIFFERS;
    judge(CAIRN_KEEP);
    expect("a", CAIRN_REASON_OUTPUT, FATE_WILL);
    expect("b", CAIRN_REASON_OUTPUT, FATE_WILL);
    expect("c", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("c", "b");
    expect("d", CAIRN_REASON_INPUT, FATE_WILL);
    expect("e", CAIRN_REASON_SECRET, FATE_WILL);
    set("a", CAIRN_FAILED); /* that says more */
    mark("b", MARK_UNDOING);
    judge(CAIRN_RERUN);
    expect("a", CAIRN_REASON_FAILED, FATE_WILL);
    expect("b", CAIRN_REASON_UNDONE, FATE_WILL);
    end();
}
END_TEST

/* ---- Upstream, and what failed last time ---- */

START_TEST(test_upstream)
{
    begin("a\n"
          "g x=1,2 : a\n"
          "each x=1,2 : g[x=${{x}}]\n"
          "all : g\n"
          "last : all each\n"
          "apart\n",
          NULL);
    set("g[x=2]", CAIRN_PENDING);
    judge(CAIRN_RERUN);
    expect("a", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("g[x=1]", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("g[x=2]", CAIRN_REASON_NEVER_RAN, FATE_WILL);
    expect("each[x=1]", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("each[x=2]", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("each[x=2]", "g[x=2]");
    expect("all", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("all", "g"); /* the barrier has the group's name */
    expect("last", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("last", "all");
    expect("apart", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect_counts(4, 0);
    ck_assert_int_eq(decisions.fate[graph.barrier[1]], FATE_WILL | FATE_COMPLETED);
    end();
}
END_TEST

START_TEST(test_risk)
{
    begin("a\nb : a\nc : b\nalways : a\nmend : a\n", NULL);
    give("always=always mend=failed");
    set("a", CAIRN_FAILED);
    set("b", CAIRN_SKIPPED);
    set("c", CAIRN_SKIPPED);
    set("mend", CAIRN_FAILED);
    judge(CAIRN_RERUN);
    expect("a", CAIRN_REASON_FAILED, FATE_WILL);
    ck_assert(decisions.fate[0] & FATE_RISK);
    expect("b", CAIRN_REASON_SKIPPED, FATE_MAY);
    expect_cause("b", "a");
    ck_assert(!(decisions.fate[1] & FATE_RISK));
    expect("c", CAIRN_REASON_SKIPPED, FATE_MAY);
    expect_cause("c", "b");
    expect("always", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("always", "a");
    expect("mend", CAIRN_REASON_FAILED, FATE_MAY);
    expect_cause("mend", "a");
    expect_counts(2, 3);
    /* An edited task may do better. */
    definition.defs[0].run = STR("mended");
    judge(CAIRN_RERUN);
    ck_assert_int_eq(decisions.fate[0], FATE_WILL);
    expect("b", CAIRN_REASON_SKIPPED, FATE_WILL);
    expect("mend", CAIRN_REASON_FAILED, FATE_MAY);
    end();
}
END_TEST

/* ---- Edited tasks ---- */

START_TEST(test_changed)
{
    begin("a\nb : a\nc : b\nd\n", NULL);
    definition.defs[1].run = STR("false");
    definition.defs[3].run = STR("false");
    set("d", CAIRN_FAILED);
    judge(CAIRN_RERUN);
    expect("a", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("b", CAIRN_REASON_CHANGED, FATE_WILL);
    expect("c", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("c", "b");
    expect("d", CAIRN_REASON_FAILED, FATE_WILL); /* it had not completed */
    expect_counts(3, 0);
    expect_edits(2, 0, 0);
    judge(CAIRN_REFUSE); /* counts the same; the caller refuses */
    expect("b", CAIRN_REASON_CHANGED, FATE_WILL);
    expect_counts(3, 0);
    judge(CAIRN_KEEP);
    expect("b", CAIRN_REASON_KEPT, FATE_COMPLETED);
    expect("c", CAIRN_REASON_DONE, FATE_COMPLETED);
    expect("d", CAIRN_REASON_FAILED, FATE_WILL);
    expect_counts(1, 0);
    expect_edits(2, 0, 0);
    ck_assert_uint_eq(decisions.kept, 1);
    ck_assert(!decisions.reset[1]);
    end();
}
END_TEST

/* KEEP keeps changed tasks, not those whose needs run again. */
START_TEST(test_keep_and_upstream)
{
    begin("a\nb : a\n", NULL);
    definition.defs[1].run = STR("false");
    set("a", CAIRN_PENDING);
    judge(CAIRN_KEEP);
    expect("b", CAIRN_REASON_UPSTREAM, FATE_WILL);
    expect_cause("b", "a");
    ck_assert_uint_eq(decisions.kept, 0);
    end();
}
END_TEST

START_TEST(test_names)
{
    for (int reason = 0; reason <= CAIRN_REASON_LAST; reason++)
        ck_assert_str_ne(cairn_reason_name((enum cairn_reason)reason),
                         reason == CAIRN_REASON_UNKNOWN ? "" : "unknown");
    ck_assert_str_eq(cairn_reason_name(CAIRN_REASON_HANDLED), "handled");
    ck_assert_str_eq(cairn_reason_name(CAIRN_REASON_ADOPTED), "adopted");
    ck_assert_str_eq(cairn_outcome_name(CAIRN_EXCLUDED), "excluded");
    ck_assert_str_eq(cairn_outcome_name(CAIRN_UNDONE), "undone");
    ck_assert_str_eq(cairn_run_state_name(CAIRN_RUN_UNDONE), "undone");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_nothing_recorded);
    tcase_add_test(c, test_all_done);
    tcase_add_test(c, test_same_graph);
    tcase_add_test(c, test_unfinished);
    tcase_add_test(c, test_reset);
    tcase_add_test(c, test_evidence);
    tcase_add_test(c, test_upstream);
    tcase_add_test(c, test_risk);
    tcase_add_test(c, test_changed);
    tcase_add_test(c, test_keep_and_upstream);
    tcase_add_test(c, test_names);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
