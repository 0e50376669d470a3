/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* Whole runs that are stopped, reach their deadline or wait, and the exit statuses. */
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

/* ---- Stopping ---- */

static const char *stop_at; /* the task whose start is a Ctrl-C; then the second */
static const char *stop_at_again;

static void stop_at_start(struct seen *seen, const struct cairn_event *event)
{
    (void)seen;
    if (event->kind != CAIRN_EVENT_TASK_STARTED)
        return;
    if ((stop_at && strcmp(event->task, stop_at) == 0) ||
        (stop_at_again && strcmp(event->task, stop_at_again) == 0))
        cairn_stop_request(stop);
}

static struct cairn_run_result run_stopped(const char *text, const char *at,
                                           const char *again)
{
    struct seen seen = {.act = stop_at_start};
    stop_at = at;
    stop_at_again = again;
    return run_text(text, store, (struct cairn_run_options){.stop = stop}, &seen);
}

static const char stopped[] =
    "name: w\ntasks:\n"
    "  a: {run: 'test -e go || exec sleep 60'}\n"
    "  b: {needs: [a], run: 'echo b >>log'}\n"
    "  mend: {needs: [a], when: always, run: 'echo mend >>log'}\n"
    "finally:\n"
    "  f: {run: 'echo $CAIRN_RUN_STATUS >>log'}\n"
    "  slow: {needs: [f], run: 'test -e go || exec sleep 60; echo slow >>log'}\n"
    "  end: {needs: [slow], run: 'echo end >>log'}\n";

START_TEST(finally_after_a_stop)
{
    struct cairn_run_result r =
        run_stopped("name: w\ntasks:\n"
                    "  a: {run: 'exec sleep 60'}\n"
                    "  b: {needs: [a], run: 'echo b >>log'}\n"
                    "  c: {needs: [a], when: always, run: 'echo c >>log'}\n"
                    "finally:\n"
                    "  f: {run: 'echo $CAIRN_RUN_STATUS >>log'}\n"
                    "  g: {needs: [f], run: 'echo g >>log'}\n",
                    "a", NULL);
    expect_words("log", "cancelled g");
    expect_tasks(store, 1, "a:cancelled b:pending c:pending f:completed g:completed");
    expect_end(r, CAIRN_RUN_CANCELLED, 7);
}
END_TEST

START_TEST(a_second_stop_ends_finally)
{
    struct cairn_run_result r = run_stopped(stopped, "a", "slow");
    expect_words("log", "cancelled");
    expect_tasks(store, 1,
                 "a:cancelled b:pending f:completed slow:cancelled end:pending");
    expect_end(r, CAIRN_RUN_CANCELLED, 7);
    put_file("go", "");
    cairn_stop_free(stop);
    good(cairn_stop_new(&stop, &error));
    r = run_stopped(stopped, NULL, NULL); /* all of it now, `finally` again */
    expect_tasks(store, 1,
                 "a:completed b:completed mend:completed f:completed slow:completed "
                 "end:completed");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
}
END_TEST

/* A first stop lets `finally` go on. */
START_TEST(a_stop_during_finally)
{
    struct cairn_run_result r = run_stopped("name: w\ntasks: {a: {run: ':'}}\n"
                                            "finally:\n"
                                            "  f: {run: 'sleep 0.2; echo f >>log'}\n"
                                            "  g: {needs: [f], run: 'echo g >>log'}\n",
                                            "f", NULL);
    expect_words("log", "f g");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
}
END_TEST

START_TEST(deadline)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    struct seen seen = {0};
    struct cairn_run_result r =
        run_text("name: w\ndeadline: 300ms\ntasks:\n"
                 "  a: {run: 'echo a >>log; exec sleep 60'}\n"
                 "  b: {needs: [a], run: 'echo b >>log'}\n"
                 "finally: {f: {run: 'sleep 0.2; echo $CAIRN_RUN_STATUS >>log'}}\n",
                 store, (struct cairn_run_options){0}, &seen);
    clock_gettime(CLOCK_MONOTONIC, &b);
    ck_assert_int_lt(b.tv_sec - a.tv_sec, 20);
    expect_words("log", "a cancelled");
    expect_tasks(store, 1, "a:cancelled b:pending f:completed");
    expect_end(r, CAIRN_RUN_CANCELLED, 7);
}
END_TEST

START_TEST(a_deadline_that_is_not_reached)
{
    expect_end(RUN("deadline: 60s\ntasks: {a: {run: ':'}}"), CAIRN_RUN_COMPLETED, 0);
}
END_TEST

/* ---- Exit statuses ---- */

START_TEST(external_tasks_without_waiting)
{
    static const char text[] = "name: w\ntasks:\n"
                               "  a: {external: 'sign it'}\n"
                               "  b: {needs: [a], run: ':'}\n"
                               "  c: {run: ':'}\n"
                               "finally: {f: {run: 'echo f >>log'}}\n";
    struct cairn_run_options options = {.no_wait = true};
    struct cairn_run_result r = run_text(text, store, options, NULL);
    expect_end(r, CAIRN_RUN_UNFINISHED, 7);
    ck_assert_uint_eq(r.waiting, 1);
    expect_tasks(store, 1, "a:pending b:pending c:completed f:pending");
    ck_assert(!exists("log"));
    good(cairn_complete(store, 1, "a", NULL, NULL, 0, &error));
    r = run_text(text, store, options, NULL);
    ck_assert_uint_eq(r.run, 1);
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
    expect_tasks(store, 1, "a:completed b:completed f:completed");
}
END_TEST

START_TEST(a_failure_and_a_wait)
{
    struct cairn_run_options options = {.no_wait = true};
    struct cairn_run_result r = run_text("name: w\non_failure: continue\ntasks:\n"
                                         "  a: {external: 'sign it'}\n"
                                         "  b: {run: 'exit 1'}\n",
                                         store, options, NULL);
    expect_end(r, CAIRN_RUN_UNFINISHED, 1);
    expect_end(run_text("name: v\ntasks:\n"
                        "  a: {external: 'sign it'}\n"
                        "  b: {run: 'exit 1'}\n",
                        store, options, NULL),
               CAIRN_RUN_FAILED, 1);
}
END_TEST

/* The first of 8, 9, 1, 7. */
START_TEST(a_failure_and_a_stop)
{
    struct cairn_run_result r =
        run_stopped("name: w\non_failure: continue\ntasks:\n"
                    "  bad: {run: 'exit 1'}\n"
                    "  slow: {needs: [bad], when: always, run: 'exec sleep 60'}\n"
                    "finally: {f: {run: 'echo $CAIRN_RUN_STATUS >>log'}}\n",
                    "slow", NULL);
    expect_words("log", "cancelled");
    expect_tasks(store, 1, "bad:failed slow:cancelled f:completed");
    expect_end(r, CAIRN_RUN_CANCELLED, 1);
}
END_TEST

START_TEST(a_handled_failure_and_a_stop)
{
    struct cairn_run_result r =
        run_stopped("name: w\ntasks:\n"
                    "  bad: {run: 'exit 1'}\n"
                    "  mend: {needs: [bad], when: failed, run: ':'}\n"
                    "  slow: {needs: [mend], run: 'exec sleep 60'}\n",
                    "slow", NULL);
    expect_tasks(store, 1, "bad:failed mend:completed slow:cancelled");
    expect_end(r, CAIRN_RUN_CANCELLED, 7);
}
END_TEST

/* Stopped when all was done: that is no stop. */
START_TEST(a_stop_with_nothing_left)
{
    struct cairn_run_result r = run_stopped(
        "name: w\ntasks: {a: {run: 'trap \"\" TERM; sleep 0.1'}}\n", "a", NULL);
    ck_assert_uint_eq(r.completed + r.cancelled, 1);
    ck_assert_int_eq(r.exit_status, r.cancelled ? 7 : 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_stop");
    TCase *tests = tcase_create("engine_stop");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, finally_after_a_stop);
    tcase_add_test(tests, a_second_stop_ends_finally);
    tcase_add_test(tests, a_stop_during_finally);
    tcase_add_test(tests, deadline);
    tcase_add_test(tests, a_deadline_that_is_not_reached);
    tcase_add_test(tests, external_tasks_without_waiting);
    tcase_add_test(tests, a_failure_and_a_wait);
    tcase_add_test(tests, a_failure_and_a_stop);
    tcase_add_test(tests, a_handled_failure_and_a_stop);
    tcase_add_test(tests, a_stop_with_nothing_left);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
