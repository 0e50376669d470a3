/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* A second run after the workflow was edited, or after what a task made was changed:
 * what the plan says, and which tasks run again. */
#include "tests/support/engine.h"

/* ---- What a plan tells ---- */

static struct cairn_decision decision_of(const struct cairn_plan *plan,
                                         struct cairn_workflow *w, const char *id)
{
    struct cairn_decision decision = {0};
    cairn_plan_get(plan, cairn_workflow_find(w, id), &decision);
    return decision;
}

START_TEST(no_decision_past_the_last_task)
{
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = parsed("name: w\ntasks: {a: {run: 'true'}}");
    struct cairn_plan *plan = NULL;
    struct cairn_decision decision;
    good(cairn_plan(&plan, w, store, &(struct cairn_run_options){0}, &error));
    cairn_plan_get(plan, 0, &decision);
    ck_assert_str_eq(decision.task, "a");
    cairn_plan_get(plan, 1, &decision);
    ck_assert_ptr_null(decision.task);
    cairn_plan_get(plan, UINT32_MAX, &decision);
    ck_assert_ptr_null(decision.task);
    cairn_plan_free(plan);
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

START_TEST(kept_tasks)
{
    static const char first[] =
        "name: w\ntasks: {a: {run: 'echo a >>ran'}, b: {needs: [a], run: exit 1}}";
    static const char second[] =
        "name: w\ntasks: {a: {run: 'echo A >>ran'}, b: {needs: [a], run: exit 1}}";
    struct cairn_store *store = open_store();
    struct cairn_run_options keep = {.on_change = CAIRN_KEEP};
    struct cairn_plan *plan = NULL;
    struct seen seen = {0};
    run_text(first, store, (struct cairn_run_options){0}, NULL);
    struct cairn_workflow *w = parsed(second);
    good(cairn_plan(&plan, w, store, &keep, &error));
    struct cairn_decision decision = decision_of(plan, w, "a");
    ck_assert_int_eq(decision.will, CAIRN_WILL_NOT);
    ck_assert_int_eq(decision.reason, CAIRN_REASON_KEPT);
    ck_assert_str_eq(cairn_reason_name(decision.reason), "kept");
    ck_assert_ptr_nonnull(strstr(decision.detail, "kept as it is"));
    ck_assert_ptr_nonnull(
        strstr(cairn_plan_notice(plan, 0), "kept; the new definition counts"));
    cairn_plan_free(plan);
    run_with(w, store, keep, &seen);
    ck_assert_msg(strstr(seen.notice, "kept; the new definition counts") != NULL, "%s",
                  seen.notice);
    good(cairn_plan(&plan, w, store, NULL, &error));
    decision = decision_of(plan, w, "a");
    ck_assert_int_eq(decision.reason, CAIRN_REASON_DONE);
    ck_assert_ptr_nonnull(strstr(cairn_plan_notice(plan, 0), "declares no `inputs`"));
    ck_assert_ptr_null(cairn_plan_notice(plan, 1));
    cairn_plan_free(plan);
    run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_int_eq(lines("ran"), 1);
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

START_TEST(edits_are_told)
{
    struct cairn_store *store = open_store();
    struct seen seen = {0};
    run_text("name: w\ntasks: {a: {run: exit 1}, b: {run: exit 0}, c: {run: exit 0}}",
             store, (struct cairn_run_options){0}, NULL);
    run_text("name: w\ntasks: {a: {run: 'exit 0'}, b: {run: ': b'}, d: {run: exit 0}}",
             store, (struct cairn_run_options){0}, &seen);
    ck_assert_msg(strstr(seen.notice, "1 task is new") != NULL, "%s", seen.notice);
    ck_assert_ptr_nonnull(
        strstr(seen.notice, "1 recorded task is not in the workflow"));
    ck_assert_ptr_nonnull(strstr(seen.notice, "changed since the last record"));
    cairn_store_close(store);
}
END_TEST

/* The tasks that an edit did not touch ran in an earlier generation, where they have
 * other numbers. */
START_TEST(tasks_of_an_edited_run)
{
    struct cairn_store *store = open_store();
    run_text("name: w\ntasks: {x: {run: ':'}, a: {run: 'sleep 0.05'},"
             "b: {needs: [a], run: exit 1}}",
             store, (struct cairn_run_options){0}, NULL);
    run_text("name: w\ntasks: {a: {run: 'sleep 0.05'}, n: {run: ':'},"
             "b: {needs: [a], run: exit 0}}",
             store, (struct cairn_run_options){0}, NULL);
    struct task_wanted a = task_of(store, 1, "a"), b = task_of(store, 1, "b");
    ck_assert_uint_eq(a.n, 3);
    ck_assert_uint_eq(a.info.attempts, 1);
    ck_assert_int_eq(a.info.exit_code, 0);
    ck_assert_int_ge(a.info.ended_ns - a.info.started_ns, 50000000);
    ck_assert_int_eq(b.info.outcome, CAIRN_COMPLETED);
    ck_assert_uint_eq(b.info.attempts, 2);
    ck_assert_int_eq(task_of(store, 1, "n").info.attempts, 1);
    cairn_store_close(store);
}
END_TEST

/* ---- Outputs that are directories ---- */

static const char tree[] =
    "name: w\ntasks: {a: {run: 'echo a >>ran; mkdir -p o/s; echo 1 >o/s/f; ln -sf s "
    "o/l', outputs: [o]}}";

static enum cairn_check_outputs check_outputs;

static void expect_runs(struct cairn_store *store, int runs, const char *change)
{
    struct cairn_run_options options = {.start = CAIRN_START_RESUME,
                                        .check_outputs = check_outputs};
    if (change)
        ck_assert_int_eq(system(change), 0);
    run_text(tree, store, options, NULL);
    ck_assert_msg(lines("ran") == runs, "%d runs after: %s", lines("ran"), change);
}

START_TEST(directories_count_with_their_content)
{
    struct cairn_store *store = open_store();
    check_outputs = _i ? CAIRN_OUTPUTS_CONTENT : CAIRN_OUTPUTS_CHANGED;
    run_text(tree, store, (struct cairn_run_options){0}, NULL);
    expect_runs(store, 1, NULL);
    expect_runs(store, 1, "touch o/s/f");
    expect_runs(store, 2, "echo 2 >o/s/f");
    expect_runs(store, 3, "rm o/s/f");
    expect_runs(store, 4, "echo new >o/s/g");
    ck_assert_int_eq(system("rm o/s/g"), 0); /* what a does not make it does not mend */
    expect_runs(store, 5, NULL);
    expect_runs(store, 6, "ln -sfn elsewhere o/l");
    expect_runs(store, 6, NULL);
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_edits");
    TCase *tests = tcase_create("engine_edits");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, no_decision_past_the_last_task);
    tcase_add_test(tests, kept_tasks);
    tcase_add_test(tests, edits_are_told);
    tcase_add_test(tests, tasks_of_an_edited_run);
    tcase_add_loop_test(tests, directories_count_with_their_content, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
