/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* Whole runs of workflows with conditions: `when`, `if`, handled failures, what a
 * failure stops, and `finally`. */
#include "tests/support/engine.h"

#include <time.h>

static struct cairn_store *store;
static struct cairn_stop *stop;

static void begin(void)
{
    setup();
    store = open_store();
    good(cairn_stop_new(&stop, &error));
}

static void end(void)
{
    cairn_stop_free(stop);
    cairn_store_close(store);
    teardown();
}

#define RUN(text) run_text("name: w\n" text, store, (struct cairn_run_options){0}, NULL)
#define LOG(word) "{run: 'echo " word " >>log'"
#define FAIL(word) "{run: 'echo " word " >>log; exit 1'"

static void expect_end(struct cairn_run_result r, enum cairn_run_state state,
                       int status)
{
    ck_assert_msg(r.state == state, "%s, not %s", cairn_run_state_name(r.state),
                  cairn_run_state_name(state));
    ck_assert_int_eq(r.exit_status, status);
}

/* ---- The order of ready tasks ---- */

static void run_in_order(const char *text, uint32_t jobs, const char *expected)
{
    remove("log");
    run_text(text, store,
             (struct cairn_run_options){.start = CAIRN_START_FRESH, .jobs = jobs},
             NULL);
    expect_words("log", expected);
}

START_TEST(order_is_that_of_the_file)
{
    const char *text = "name: w\ntasks:\n"
                       "  a: {run: 'echo a >>log'}\n"
                       "  b: {run: 'echo b >>log; sleep 0.02'}\n"
                       "  c: {run: 'echo c >>log; sleep 0.15'}\n"
                       "  d: {run: 'echo d >>log; sleep 0.04'}\n";
    for (int i = 0; i < 3; i++)
        run_in_order(text, 1, "a b c d");
}
END_TEST

START_TEST(long_tasks_start_first)
{
    const char *text =
        "name: w\ndefaults: {timeout: 60s}\ntasks:\n"
        "  a: {pool: one, run: 'echo a >>log'}\n"
        "  b: {pool: one, run: 'echo b >>log; sleep 0.02'}\n"
        "  c: {pool: one, run: 'echo c >>log; [ -e slow ] || sleep 3; touch slow'}\n"
        "  d: {pool: one, run: 'echo d >>log; sleep 0.01'}\n"
        "pools: {one: 1}\n";
    run_in_order(text, 2, "a b c d");
    run_in_order(text, 2, "c a b d");
}
END_TEST

/* ---- when ---- */

START_TEST(when_success_failed_always)
{
    struct cairn_run_result r =
        RUN("on_failure: continue\njobs: 1\ntasks:\n"
            "  good: " LOG(
                "good") "}\n"
                        "  bad: " FAIL(
                            "bad") "}\n"
                                   "  s: {needs: [good], run: 'echo s >>log'}\n"
                                   "  f: {needs: [good], when: failed, run: 'echo f "
                                   ">>log'}\n"
                                   "  a: {needs: [good], when: always, run: 'echo a "
                                   ">>log'}\n"
                                   "  bs: {needs: [bad], run: 'echo bs >>log'}\n"
                                   "  bf: {needs: [bad], when: failed, run: 'echo bf "
                                   ">>log'}\n"
                                   "  ba: {needs: [bad], when: always, run: 'echo ba "
                                   ">>log'}\n"
                                   "  both: {needs: [good, bad], when: failed, run: "
                                   "'echo both >>log'}\n"
                                   "  after: {needs: [bs], when: always, run: 'echo "
                                   "after >>log'}\n"
                                   "  never: {needs: [f], run: 'echo never >>log'}\n");
    expect_tasks(store, 1,
                 "good:completed bad:failed s:completed f:excluded a:completed "
                 "bs:skipped bf:completed ba:completed both:completed "
                 "after:completed never:skipped");
    ck_assert_uint_eq(r.failed, 1);
    ck_assert_uint_eq(r.skipped, 3);
    ck_assert_uint_eq(r.excluded, 1);
    expect_end(r, CAIRN_RUN_COMPLETED, 0); /* handled */
    expect_end(RUN("on_failure: continue\ntasks: {a: {run: 'exit 0'}}"),
               CAIRN_RUN_COMPLETED, 0);
}
END_TEST

START_TEST(groups_and_when)
{
    RUN("on_failure: continue\ntasks:\n"
        "  g: {foreach: {i: [1, 2, 3]}, run: 'test $i != 2'}\n"
        "  all: {needs: [g], run: 'echo all >>log'}\n"
        "  mend: {needs: [g], when: failed, run: 'echo mend >>log'}\n"
        "  one: {needs: ['g[i=1]'], when: failed, run: 'echo one >>log'}\n"
        "  two: {needs: ['g[i=2]'], when: failed, run: 'echo two >>log'}\n");
    expect_tasks(store, 1,
                 "g[i=1]:completed g[i=2]:failed g[i=3]:completed all:skipped "
                 "mend:completed one:excluded two:completed");
}
END_TEST

/* ---- if ---- */

START_TEST(conditions)
{
    struct cairn_run_result r = RUN(
        "params: {day: monday}\njobs: 1\ntasks:\n"
        "  count: {run: 'echo n=3 >>$CAIRN_OUTPUT'}\n"
        "  more: {needs: [count], if: tasks.count.outputs.n > 2, run: 'echo yes "
        ">>log'}\n"
        "  less: {needs: [count], if: tasks.count.outputs.n > 3, run: 'echo no "
        ">>log'}\n"
        "  wrapped: {if: \"${{ params.day == 'monday' }}\", run: 'echo w >>log'}\n"
        "  after: {needs: [less], run: 'echo after >>log'}\n"
        "  still: {needs: [less], when: always, if: tasks.less.status == 'skipped', "
        "run: 'echo still >>log'}\n");
    expect_tasks(store, 1,
                 "count:completed more:completed less:excluded wrapped:completed "
                 "after:skipped still:completed");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
    ck_assert_uint_eq(r.excluded, 1);
}
END_TEST

START_TEST(conditions_of_members)
{
    RUN("tasks:\n"
        "  g: {foreach: {i: [1, 2, 3]}, if: i != 2, run: 'echo $i >>log'}\n"
        "  all: {needs: [g], run: ':'}\n"
        "  every: {needs: [g], needs_all: true, run: ':'}\n"
        "  any: {needs: [g], when: always, run: ':'}\n");
    expect_tasks(store, 1,
                 "g[i=1]:completed g[i=2]:excluded g[i=3]:completed all:completed "
                 "every:skipped any:completed");
    ck_assert_int_eq(lines("log"), 2);
}
END_TEST

START_TEST(a_condition_that_cannot_be_told)
{
    struct cairn_run_result r =
        RUN("on_failure: continue\ntasks:\n"
            "  a: {run: 'echo n=x >>$CAIRN_OUTPUT'}\n"
            "  b: {needs: [a], if: tasks.a.outputs.n > 2, run: 'echo b >>log', "
            "retries: 3}\n"
            "  c: {needs: [b], when: failed, run: 'echo c >>log'}\n"
            "  d: {needs: [a], if: tasks.a.outputs.gone > 2, run: ':'}\n");
    expect_tasks(store, 1, "a:completed b:failed c:completed d:failed");
    expect_words("log", "c");
    expect_end(r, CAIRN_RUN_FAILED, 1);
    struct task_wanted b = task_of(store, 1, "b");
    ck_assert_msg(strstr(b.text, "condition") != NULL, "%s", b.text);
    ck_assert_uint_eq(b.info.attempts, 1); /* trying again would not help */
}
END_TEST

/* A condition is asked again when its task is to run again, not otherwise. */
START_TEST(conditions_on_resume)
{
    static const char text[] =
        "name: w\non_failure: continue\ntasks:\n"
        "  a: {run: 'cat value >>$CAIRN_OUTPUT', inputs: value}\n"
        "  b: {needs: [a], if: tasks.a.outputs.n > 2, run: 'echo b >>log'}\n"
        "  c: {run: 'test -e go'}\n";
    put_file("value", "n=1\n");
    run_text(text, store, (struct cairn_run_options){0}, NULL);
    expect_tasks(store, 1, "a:completed b:excluded c:failed");
    put_file("value", "n=11\n");
    put_file("go", "");
    struct cairn_run_result r =
        run_text(text, store, (struct cairn_run_options){0}, NULL);
    expect_tasks(store, 1, "a:completed b:completed c:completed");
    expect_words("log", "b");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
}
END_TEST

/* ---- Failures ---- */

START_TEST(a_failure_stops_the_run)
{
    struct cairn_run_result r =
        RUN("jobs: 1\ntasks:\n"
            "  bad: {run: 'exit 1', priority: 9}\n"
            "  other: {run: 'echo other >>log'}\n"
            "  always: {needs: [bad], when: always, run: 'echo always >>log'}\n"
            "  later: {needs: [other], when: always, run: 'echo later >>log'}\n");
    expect_tasks(store, 1, "bad:failed other:pending always:completed later:pending");
    expect_words("log", "always");
    expect_end(r, CAIRN_RUN_FAILED, 1);
}
END_TEST

START_TEST(a_failure_does_not_stop_one_that_continues)
{
    struct cairn_run_result r =
        RUN("on_failure: continue\njobs: 1\ntasks:\n"
            "  bad: {run: 'exit 1', priority: 9}\n"
            "  other: {run: 'echo other >>log'}\n"
            "  user: {needs: [bad, other], run: 'echo user >>log'}\n");
    expect_tasks(store, 1, "bad:failed other:completed user:skipped");
    expect_end(r, CAIRN_RUN_FAILED, 1);
}
END_TEST

START_TEST(a_handled_failure_does_not_stop_the_run)
{
    struct cairn_run_result r =
        RUN("jobs: 1\ntasks:\n"
            "  bad: {run: 'exit 1', priority: 9}\n"
            "  other: {run: 'echo other >>log', priority: 5}\n"
            "  mend: {needs: [bad], when: failed, run: 'echo mend >>log'}\n"
            "  user: {needs: [other], run: 'echo user >>log'}\n");
    expect_tasks(store, 1, "bad:failed other:completed mend:completed user:completed");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
    expect_end(RUN("jobs: 1\ntasks: {a: {run: ':'}}"), CAIRN_RUN_COMPLETED, 0);
}
END_TEST

/* As soon as nobody is left who could take care of it, the run stops after all. */
START_TEST(a_handler_that_fails_stops_the_run)
{
    struct cairn_run_result r =
        RUN("jobs: 1\ntasks:\n"
            "  bad: {run: 'exit 1', priority: 9}\n"
            "  mend: {needs: [bad], when: failed, run: 'exit 2', priority: 8}\n"
            "  other: {run: 'sleep 0.1'}\n"
            "  later: {needs: [other], run: 'echo later >>log'}\n");
    expect_tasks(store, 1, "bad:failed mend:failed later:pending");
    expect_end(r, CAIRN_RUN_FAILED, 1);
}
END_TEST

START_TEST(a_handler_that_does_not_want_stops_the_run)
{
    struct cairn_run_result r =
        RUN("jobs: 1\ntasks:\n"
            "  bad: {run: 'exit 1', priority: 9}\n"
            "  mend: {needs: [bad], when: failed, if: 1 > 2, run: ':', priority: 8}\n"
            "  other: {run: 'sleep 0.1'}\n"
            "  later: {needs: [other], run: 'echo later >>log'}\n");
    expect_tasks(store, 1, "bad:failed mend:excluded later:pending");
    expect_end(r, CAIRN_RUN_FAILED, 1);
}
END_TEST

START_TEST(one_of_two_handlers_is_enough)
{
    struct cairn_run_result r =
        RUN("jobs: 1\ntasks:\n"
            "  g: {foreach: {i: [1, 2]}, run: 'exit 1', priority: 9}\n"
            "  one: {needs: [g], when: failed, run: 'exit 1', priority: 8}\n"
            "  two: {needs: [g], when: failed, run: ':'}\n"
            "  mend: {needs: [one], when: failed, run: ':'}\n"
            "  other: {run: 'echo other >>log', priority: -1}\n");
    expect_tasks(store, 1,
                 "g[i=1]:failed g[i=2]:failed one:failed two:completed "
                 "mend:completed other:completed");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
}
END_TEST

/* What is handled stays handled, and nothing is left to do. */
START_TEST(a_handled_failure_on_resume)
{
    static const char text[] =
        "name: w\ntasks:\n"
        "  bad: {run: 'echo bad >>log; exit 1'}\n"
        "  mend: {needs: [bad], when: failed, run: 'echo mend >>log'}\n"
        "  user: {needs: [bad], run: 'echo user >>log'}\n";
    struct cairn_run_options resume = {.start = CAIRN_START_RESUME};
    run_text(text, store, (struct cairn_run_options){0}, NULL);
    struct cairn_run_result r = run_text(text, store, resume, NULL);
    ck_assert(r.nothing_to_do);
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
    ck_assert_uint_eq(r.failed, 1);
    expect_words("log", "bad mend");
}
END_TEST

START_TEST(retries_of_a_handler)
{
    struct cairn_run_result r =
        RUN("jobs: 1\ntasks:\n"
            "  bad: {run: 'exit 1', priority: 9}\n"
            "  mend: {needs: [bad], when: failed, retries: {max: 2, delay: 10ms},\n"
            "    run: 'echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 3'}\n");
    expect_words("log", "1 2 3");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
}
END_TEST

/* ---- finally ---- */

START_TEST(finally_runs_last)
{
    struct cairn_run_result r =
        RUN("jobs: 4\ntasks:\n"
            "  a: {run: 'sleep 0.1; echo a >>log'}\n"
            "  b: {needs: [a], run: 'echo b >>log'}\n"
            "finally:\n"
            "  report: {run: 'echo $CAIRN_RUN_STATUS >>log', priority: 100}\n"
            "  last: {needs: [report], if: run.status == 'completed', run: 'echo last "
            ">>log'}\n"
            "  bad: {needs: [report], if: run.status == 'failed', run: 'echo bad "
            ">>log'}\n");
    expect_words("log", "a b completed last");
    expect_tasks(store, 1, "report:completed last:completed bad:excluded");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
}
END_TEST

START_TEST(finally_after_a_failure)
{
    struct cairn_run_result r =
        RUN("jobs: 1\ntasks:\n"
            "  a: {run: 'exit 3'}\n"
            "  b: {needs: [a], run: 'echo b >>log'}\n"
            "  c: {run: 'echo c >>log', priority: -1}\n"
            "finally:\n"
            "  report: {run: 'echo $CAIRN_RUN_STATUS >>log'}\n"
            "  of: {exec: [sh, -c, 'echo ${{ tasks.a.status }}/${{ tasks.b.status }} "
            ">>log'], needs: [report]}\n");
    ck_assert_msg(strstr(words_of("log"), "failed failed/skipped") != NULL, "%s",
                  words_of("log"));
    ck_assert_ptr_null(strstr(words_of("log"), "c"));
    expect_tasks(store, 1,
                 "a:failed b:skipped c:pending report:completed of:completed");
    expect_end(r, CAIRN_RUN_FAILED, 1);
}
END_TEST

START_TEST(a_finally_task_that_fails)
{
    struct cairn_run_result r = RUN("tasks: {a: {run: ':'}}\n"
                                    "finally:\n"
                                    "  one: {run: 'echo one >>log; exit 1'}\n"
                                    "  two: {run: 'echo two >>log'}\n"
                                    "  user: {needs: [one], run: 'echo user >>log'}\n");
    expect_tasks(store, 1, "a:completed one:failed two:completed user:skipped");
    expect_end(r, CAIRN_RUN_FAILED, 1);
}
END_TEST

START_TEST(finally_is_tried_again)
{
    struct cairn_run_result r =
        RUN("tasks: {a: {run: 'exit 1'}}\n"
            "finally:\n"
            "  one: {run: 'echo $CAIRN_ATTEMPT >>log; test $CAIRN_ATTEMPT = 3',\n"
            "    retries: {max: 2, delay: 20ms}}\n"
            "  two: {needs: [one], run: 'echo two >>log'}\n");
    expect_words("log", "1 2 3 two");
    expect_tasks(store, 1, "a:failed one:completed two:completed");
    expect_end(r, CAIRN_RUN_FAILED, 1);
}
END_TEST

/* Again only if something else ran. */
START_TEST(finally_on_resume)
{
    static const char text[] =
        "name: w\ntasks: {a: {run: 'test -e go'}, b: {run: ':'}}\n"
        "finally: {f: {run: 'echo $CAIRN_RUN_STATUS >>log'}}\n";
    struct cairn_run_options resume = {.start = CAIRN_START_RESUME};
    run_text(text, store, (struct cairn_run_options){0}, NULL);
    expect_words("log", "failed");
    put_file("go", "");
    run_text(text, store, resume, NULL);
    expect_words("log", "failed completed");
    struct cairn_run_result r = run_text(text, store, resume, NULL);
    ck_assert(r.nothing_to_do);
    expect_words("log", "failed completed");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_flow");
    TCase *tests = tcase_create("engine_flow");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, order_is_that_of_the_file);
    tcase_add_test(tests, long_tasks_start_first);
    tcase_add_test(tests, when_success_failed_always);
    tcase_add_test(tests, groups_and_when);
    tcase_add_test(tests, conditions);
    tcase_add_test(tests, conditions_of_members);
    tcase_add_test(tests, a_condition_that_cannot_be_told);
    tcase_add_test(tests, conditions_on_resume);
    tcase_add_test(tests, a_failure_stops_the_run);
    tcase_add_test(tests, a_failure_does_not_stop_one_that_continues);
    tcase_add_test(tests, a_handled_failure_does_not_stop_the_run);
    tcase_add_test(tests, a_handler_that_fails_stops_the_run);
    tcase_add_test(tests, a_handler_that_does_not_want_stops_the_run);
    tcase_add_test(tests, one_of_two_handlers_is_enough);
    tcase_add_test(tests, a_handled_failure_on_resume);
    tcase_add_test(tests, retries_of_a_handler);
    tcase_add_test(tests, finally_runs_last);
    tcase_add_test(tests, finally_after_a_failure);
    tcase_add_test(tests, a_finally_task_that_fails);
    tcase_add_test(tests, finally_is_tried_again);
    tcase_add_test(tests, finally_on_resume);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
