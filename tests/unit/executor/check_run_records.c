/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* What a run records of its tasks and its params: the messages of attempts, and the
 * params as they were given. A run without a store records nothing. */
#include "tests/support/engine.h"

/* ---- Messages of attempts ---- */

START_TEST(timeout_message)
{
    struct cairn_store *store = open_store();
    struct cairn_run_result result =
        run_text("name: w\ntasks: {a: {run: 'exec sleep 60', timeout: 250ms}}", store,
                 (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.failed, 1);
    struct task_wanted a = task_of(store, 1, "a");
    ck_assert(a.info.timed_out);
    ck_assert_str_eq(a.text, "timed out after 0.25 s");
    cairn_store_close(store);
}
END_TEST

START_TEST(too_many_arguments)
{
    enum { ARGUMENTS = 80, BYTES = 100000 };
    static char big[BYTES];
    const char *argv[ARGUMENTS + 2] = {"true"};
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = workflow_named("w");
    memset(big, 'x', sizeof big - 1);
    for (int i = 0; i < ARGUMENTS; i++)
        argv[i + 1] = big;
    add(w, (struct cairn_task){.id = "a", .argv = argv});
    struct cairn_run_result result =
        run_with(w, store, (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.failed, 1);
    struct task_wanted a = task_of(store, 1, "a");
    ck_assert_msg(strstr(a.text, "the kernel takes") != NULL, "%s", a.text);
    ck_assert_ptr_null(strstr(a.text, "chmod"));
    cairn_store_close(store);
    cairn_workflow_free(w);
}
END_TEST

/* ---- Params ---- */

struct params {
    int n;
    char text[256];
};

static int note_param(void *context, const char *name, const char *value)
{
    struct params *params = context;
    size_t used = strlen(params->text);
    params->n++;
    snprintf(params->text + used, sizeof params->text - used, "%s=%s;", name, value);
    return 0;
}

static int stop_at_once(void *context, const char *name, const char *value)
{
    note_param(context, name, value);
    return 1;
}

START_TEST(params_of_a_run)
{
    static const char text[] =
        "name: w\nparams: {b: two, a: one}\ntasks: {t: {run: 'echo $a $b'}}";
    struct cairn_store *store = open_store();
    struct cairn_workflow *w = NULL;
    struct cairn_param override = {"b", "an other = value"};
    struct params params = {0};
    good(cairn_workflow_parse(&w, text, strlen(text), "w.yaml", &override, 1, &error));
    run_with(w, store, (struct cairn_run_options){0}, NULL);
    good(cairn_run_params(store, 0, note_param, &params, &error));
    ck_assert_str_eq(params.text, "a=one;b=an other = value;");
    params = (struct params){0};
    good(cairn_run_params(store, 1, stop_at_once, &params, &error));
    ck_assert_int_eq(params.n, 1);
    ck_assert_int_eq(cairn_run_params(store, 7, note_param, &params, &error),
                     CAIRN_ENOTFOUND);
    cairn_workflow_free(w);
    run_text("name: none\ntasks: {a: {run: ':'}}", store, (struct cairn_run_options){0},
             NULL);
    params = (struct params){0};
    good(cairn_run_params(store, 2, note_param, &params, &error));
    ck_assert_int_eq(params.n, 0);
    cairn_store_close(store);
}
END_TEST

/* ---- Without a store ---- */

START_TEST(run_without_a_store)
{
    struct cairn_workflow *w = parsed(
        "name: w\ntasks: {a: {run: 'echo a >>ran'}, b: {needs: [a], run: exit 3},"
        "c: {needs: [b], run: 'echo c >>ran'}}");
    struct cairn_plan *plan = NULL;
    for (int i = 1; i <= 2; i++) {
        struct cairn_run_result result =
            run_with(w, NULL, (struct cairn_run_options){0}, NULL);
        ck_assert_uint_eq(result.run, 0);
        ck_assert_int_eq(result.state, CAIRN_RUN_FAILED);
        ck_assert_int_eq(result.exit_status, 1);
        ck_assert_uint_eq(result.completed + result.failed + result.skipped, 3);
        ck_assert_int_eq(lines("ran"), i);
    }
    good(cairn_plan(&plan, w, NULL, NULL, &error));
    ck_assert_uint_eq(cairn_plan_will(plan), 3);
    ck_assert_uint_eq(cairn_plan_run(plan), 0);
    cairn_plan_free(plan);
    ck_assert(!exists(".cairn"));
    cairn_workflow_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run_records");
    TCase *tests = tcase_create("run_records");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, timeout_message);
    tcase_add_test(tests, too_many_arguments);
    tcase_add_test(tests, params_of_a_run);
    tcase_add_test(tests, run_without_a_store);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
