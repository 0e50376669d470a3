/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* Whole runs that take back what they did: `on_failure: undo` and cairn_undo. */
#include "tests/support/engine.h"

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

#define UNDO(name) "undo: 'echo -" name " >>log'"
#define TASK(name) name ": {run: 'echo " name " >>log', " UNDO(name)
#define BAD(name) name ": {run: 'echo " name " >>log; test -e go', " UNDO(name)

static struct cairn_run_result run_it(const char *text)
{
    return run_text(text, store, (struct cairn_run_options){.jobs = 1}, NULL);
}

static void expect_failed(struct cairn_run_result r, uint32_t undone,
                          uint32_t failed_undos)
{
    ck_assert_int_eq(r.state, CAIRN_RUN_FAILED);
    ck_assert_int_eq(r.exit_status, 1);
    ck_assert_uint_eq(r.undone, undone);
    ck_assert_uint_eq(r.failed_undos, failed_undos);
}

/* ---- Which, and in what order ---- */

#define CHAIN                                                                      \
    "tasks:\n"                                                                     \
    "  " TASK(                                                                     \
        "side") ", priority: 9}\n"                                                 \
                "  " TASK(                                                         \
                    "a") ", priority: 8}\n"                                        \
                         "  " TASK(                                                \
                             "b") ", needs: [a], priority: 7}\n"                   \
                                  "  " BAD(                                        \
                                      "bad") ", needs: [b], priority: 6}\n"        \
                                             "  after: {needs: [bad], run: 'echo " \
                                             "after >>log'}\n"                     \
                                             "finally:\n"                          \
                                             "  f: {run: 'echo $CAIRN_RUN_STATUS " \
                                             ">>log', undo: 'echo -f >>log'}\n"

START_TEST(undo_failed)
{
    expect_failed(run_it("name: w\non_failure: undo\n" CHAIN), 0, 0);
    expect_words("log", "side a b bad -bad failed");
    expect_tasks(store, 1,
                 "side:completed a:completed b:completed bad:failed after:skipped "
                 "f:completed");
}
END_TEST

START_TEST(undo_ancestors)
{
    static const char text[] = "name: w\non_failure: {undo: ancestors}\n" CHAIN;
    expect_failed(run_it(text), 2, 0);
    expect_words("log", "side a b bad -bad -b -a failed");
    expect_tasks(store, 1, "side:completed a:undone b:undone bad:failed after:skipped");
    /* Undone tasks run again, and are undone again if it fails again. */
    unlink("log");
    expect_failed(run_it(text), 2, 0);
    expect_words("log", "a b bad -bad -b -a failed");
    unlink("log");
    put_file("go", "");
    struct cairn_run_result r = run_it(text);
    expect_words("log", "a b bad after completed");
    ck_assert_uint_eq(r.run, 1);
    ck_assert_int_eq(r.state, CAIRN_RUN_COMPLETED);
    ck_assert_int_eq(r.exit_status, 0);
    ck_assert(run_text(text, store,
                       (struct cairn_run_options){.start = CAIRN_START_RESUME}, NULL)
                  .nothing_to_do);
}
END_TEST

START_TEST(undo_all)
{
    expect_failed(run_it("name: w\non_failure: {undo: all}\n" CHAIN), 3, 0);
    const char *log = words_of("log");
    ck_assert_msg(strncmp(log, "side a b bad -bad ", 18) == 0, "%s", log);
    ck_assert_ptr_nonnull(strstr(log, "-b -a"));
    ck_assert_ptr_nonnull(strstr(log, "-side"));
    ck_assert_ptr_null(strstr(log, "-f"));
    expect_tasks(store, 1, "side:undone a:undone b:undone bad:failed f:completed");
}
END_TEST

START_TEST(ancestors_through_groups)
{
    static const char text[] =
        "name: w\non_failure: {undo: ancestors}\ntasks:\n"
        "  g: {foreach: {i: [1, 2]}, run: ':', undo: 'echo -g$i >>log'}\n"
        "  h: {foreach: {i: [1, 2]}, needs: ['g[i=${{ i }}]'], run: ':', undo: 'echo "
        "-h$i >>log'}\n"
        "  all: {needs: [h], run: 'exit 1'}\n"
        "  apart: {foreach: {i: [1, 2]}, run: ':', undo: 'echo -x$i >>log'}\n";
    expect_failed(run_it(text), 4, 0);
    const char *log = words_of("log");
    ck_assert_int_eq(lines("log"), 4);
    ck_assert_ptr_null(strstr(log, "-x"));
    for (int i = 1; i <= 2; i++) {
        char g[16], h[16];
        snprintf(g, sizeof g, "-g%d", i);
        snprintf(h, sizeof h, "-h%d", i);
        ck_assert_msg(strstr(log, h) && strstr(log, h) < strstr(log, g), "%s", log);
    }
}
END_TEST

START_TEST(a_handled_failure_undoes_nothing)
{
    struct cairn_run_result r =
        run_it("name: w\non_failure: {undo: all}\ntasks:\n"
               "  " TASK("a") "}\n"
                              "  " BAD("bad") ", needs: [a]}\n"
                                              "  mend: {needs: [bad], when: failed, "
                                              "run: 'echo mend >>log'}\n");
    expect_words("log", "a bad mend");
    ck_assert_int_eq(r.state, CAIRN_RUN_COMPLETED);
    ck_assert_uint_eq(r.undone, 0);
}
END_TEST

START_TEST(tasks_without_undo)
{
    static const char text[] = "name: w\non_failure: {undo: ancestors}\ntasks:\n"
                               "  a: {run: 'echo a >>log'}\n"
                               "  " TASK("b") ", needs: [a]}\n"
                                              "  bad: {needs: [b], run: 'exit 1'}\n";
    expect_failed(run_it(text), 1, 0);
    expect_words("log", "a b -b");
    expect_tasks(store, 1, "a:completed b:undone bad:failed");
}
END_TEST

/* ---- Undo that fails ---- */

START_TEST(a_failing_undo)
{
    static const char text[] =
        "name: w\non_failure: {undo: ancestors}\ntasks:\n"
        "  " TASK("a") "}\n"
                       "  b: {needs: [a], run: 'echo b >>log', undo: 'echo -b >>log; "
                       "exit 4'}\n"
                       "  c: {needs: [b], run: 'echo c >>log', undo: 'echo -c >>log; "
                       "kill -9 $$'}\n"
                       "  bad: {needs: [c], run: 'exit 1'}\n"
                       "finally: {f: {run: 'echo $CAIRN_RUN_STATUS >>log'}}\n";
    expect_failed(run_it(text), 1, 2);
    expect_words("log", "a b c -c -b -a failed"); /* the others go on */
    expect_tasks(store, 1, "a:undone b:completed c:completed bad:failed");
}
END_TEST

START_TEST(an_undo_that_cannot_start)
{
    static const char text[] =
        "name: w\non_failure: {undo: ancestors}\ntasks:\n"
        "  " TASK("a") "}\n"
                       "  b: {needs: [a], shell: [sh, -c], cwd: gone, run: 'echo b "
                       ">>../log', undo: "
                       "'echo -b >>../log'}\n"
                       "  bad: {needs: [b], run: 'rmdir gone; exit 1'}\n";
    ck_assert_int_eq(mkdir("gone", 0700), 0);
    expect_failed(run_it(text), 1, 1);
    expect_words("log", "a b -a");
    expect_tasks(store, 1, "a:undone b:completed bad:failed");
}
END_TEST

/* ---- What it is given ---- */

/* The command is the one that was stored when the task completed. */
START_TEST(undo_as_it_was_stored)
{
    static const char first[] =
        "name: w\nparams: {day: mon}\ntasks:\n"
        "  n: {run: 'echo n=7 >>$CAIRN_OUTPUT'}\n"
        "  a: {needs: [n], foreach: {i: [x]}, cwd: sub, env: {E: 'e${{ "
        "tasks.n.outputs.n }}'}, run: ':',\n"
        "    undo: 'echo $day $i $E $CAIRN_TASK >>../log; pwd >>../where'}\n";
    static const char second[] = "name: w\nparams: {day: mon}\ntasks:\n"
                                 "  n: {run: 'echo n=8 >>$CAIRN_OUTPUT'}\n"
                                 "  a: {needs: [n], foreach: {i: [x]}, cwd: other, "
                                 "env: {E: changed}, run: ':',\n"
                                 "    undo: 'echo changed >>../log'}\n";
    struct cairn_run_result r;
    const char *const tasks[] = {"a[i=x]"};
    ck_assert_int_eq(mkdir("sub", 0700), 0);
    put_file("flow.yaml", first);
    struct cairn_workflow *w = NULL;
    good(cairn_workflow_load(&w, "flow.yaml", NULL, 0, &error));
    run_with(w, store, (struct cairn_run_options){0}, NULL);
    cairn_workflow_free(w);
    put_file("flow.yaml", second);
    good(cairn_undo(store, 1, tasks, 1, NULL, &r, &error));
    ck_assert_uint_eq(r.undone, 1);
    expect_words("log", "mon x e7 a[i=x]");
    ck_assert_ptr_nonnull(strstr(words_of("where"), "/sub"));
}
END_TEST

/* ---- cairn_undo ---- */

static const char plain[] =
    "name: w\ntasks:\n"
    "  " TASK("a") "}\n"
                   "  " TASK("b") ", needs: [a]}\n"
                                  "  c: {needs: [b], run: 'echo c >>log'}\n"
                                  "  " TASK("d") "}\n";

START_TEST(undo_afterwards)
{
    struct cairn_run_result r = run_it(plain);
    unlink("log");
    good(cairn_undo(store, 0, NULL, 0, NULL, &r, &error));
    ck_assert_int_eq(r.exit_status, 0);
    ck_assert_uint_eq(r.undone, 3);
    ck_assert_int_eq(r.state, CAIRN_RUN_UNDONE);
    const char *log = words_of("log");
    ck_assert_int_eq(lines("log"), 3);
    ck_assert(strstr(log, "-b") < strstr(log, "-a"));
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_UNDONE);
    /* Twice in a row: there is nothing left. */
    ck_assert_int_eq(cairn_undo(store, 0, NULL, 0, NULL, &r, &error), CAIRN_EUSAGE);
    ck_assert_int_eq(lines("log"), 3);
    unlink("log");
    r = run_text(plain, store,
                 (struct cairn_run_options){.start = CAIRN_START_RESUME, .jobs = 1},
                 NULL);
    ck_assert_int_eq(r.state, CAIRN_RUN_COMPLETED);
    ck_assert_uint_eq(r.run, 1);
    ck_assert_int_eq(lines("log"), 4); /* c needs what ran again */
    ck_assert_int_eq(run_info(store, 1).state, CAIRN_RUN_COMPLETED);
}
END_TEST

START_TEST(undo_of_named_tasks)
{
    struct cairn_run_result r = run_it(plain);
    const char *const one[] = {"b"}, *const unknown[] = {"b", "x"},
                      *const without[] = {"c"}, *const twice[] = {"d", "a", "d"};
    unlink("log");
    ck_assert_int_eq(cairn_undo(store, 1, unknown, 2, NULL, &r, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(cairn_undo(store, 1, without, 1, NULL, &r, &error), CAIRN_EUSAGE);
    ck_assert_int_eq(cairn_undo(store, 9, one, 1, NULL, &r, &error), CAIRN_ENOTFOUND);
    ck_assert(!exists("log"));
    good(cairn_undo(store, 1, one, 1, NULL, &r, &error));
    expect_words("log", "-b");
    expect_tasks(store, 1, "a:completed b:undone c:completed d:completed");
    ck_assert_int_eq(cairn_undo(store, 1, one, 1, NULL, &r, &error), CAIRN_EUSAGE);
    good(cairn_undo(store, 1, twice, 3, NULL, &r, &error));
    ck_assert_int_eq(lines("log"), 3);
    expect_tasks(store, 1, "a:undone b:undone c:completed d:undone");
}
END_TEST

/* All tasks are completed still, but an attempt to undo one has failed. */
START_TEST(settled_until_an_undo)
{
    run_it("name: w\ntasks:\n  a: {run: ':', undo: 'exit 1'}\n");
    ck_assert(run_info(store, 1).settled);
    struct cairn_run_result r;
    good(cairn_undo(store, 1, NULL, 0, NULL, &r, &error));
    ck_assert_uint_eq(r.failed_undos, 1);
    struct cairn_run_info info = run_info(store, 1);
    ck_assert_int_eq(info.state, CAIRN_RUN_COMPLETED);
    ck_assert_uint_eq(info.completed, 1);
    ck_assert(!info.settled);
    /* Nor does damage of one of its events hide it. */
    sql("UPDATE event SET argument = 0 WHERE kind = 1 AND argument = 2");
    ck_assert(!run_info(store, 1).settled);
    sql("DELETE FROM event WHERE kind = 1 AND turn = (SELECT max(turn) FROM event "
        "WHERE "
        "kind = 1)");
    ck_assert_int_eq(sql("SELECT count(*) FROM event WHERE kind = 1"), 1);
    ck_assert(!run_info(store, 1).settled);
    run_it("name: v\ntasks:\n  a: {run: 'exit 1'}\n");
    ck_assert(!run_info(store, 2).settled);
    /* A run whose events cannot be read is only not known to be. */
    run_it("name: w\ntasks:\n  a: {run: ':'}\n");
    ck_assert(run_info(store, 3).settled);
    sql("ALTER TABLE event RENAME TO lost");
    ck_assert(!run_info(store, 3).settled);
    sql("ALTER TABLE lost RENAME TO event");
}
END_TEST

START_TEST(undo_afterwards_that_fails)
{
    static const char text[] =
        "name: w\ntasks:\n"
        "  " TASK(
            "a") "}\n"
                 "  b: {needs: [a], run: ':', undo: 'test -e mended; echo -b >>log'}\n";
    struct cairn_run_result r = run_it(text);
    good(cairn_undo(store, 1, NULL, 0, NULL, &r, &error));
    ck_assert_uint_eq(r.failed_undos, 1);
    ck_assert_int_eq(r.exit_status, 1);
    expect_tasks(store, 1, "a:undone b:completed");
    put_file("mended", "");
    good(cairn_undo(store, 1, NULL, 0, NULL, &r, &error));
    ck_assert_uint_eq(r.failed_undos, 0);
    ck_assert_int_eq(r.exit_status, 0);
    expect_words("log", "a -a -b");
    expect_tasks(store, 1, "a:undone b:undone");
}
END_TEST

static void undo_meanwhile(struct seen *seen, const struct cairn_event *event)
{
    struct cairn_run_result r;
    struct cairn_store *other;
    if (event->kind != CAIRN_EVENT_TASK_FINISHED || strcmp(event->task, "a") != 0)
        return;
    other = open_store();
    seen->rc = cairn_undo(other, 1, NULL, 0, NULL, &r, NULL);
    cairn_store_close(other);
}

START_TEST(undo_beside_a_live_run)
{
    static const char text[] =
        "name: w\njobs: 1\ntasks:\n"
        "  " TASK("a") "}\n"
                       "  b: {needs: [a], run: ':', undo: ':'}\n";
    struct seen seen = {.act = undo_meanwhile};
    run_text(text, store, (struct cairn_run_options){.jobs = 1}, &seen);
    ck_assert_int_eq(seen.rc, CAIRN_EOWNED);
    expect_words("log", "a");
    expect_tasks(store, 1, "a:completed b:completed");
}
END_TEST

START_TEST(undo_of_what_others_did)
{
    static const char text[] = "name: w\non_failure: {undo: ancestors}\ntasks:\n"
                               "  e: {external: sign it, undo: 'echo -e >>log'}\n"
                               "  b: {needs: [e], run: 'exit 1'}\n";
    struct cairn_run_options options = {.no_wait = true};
    ck_assert_int_eq(run_text(text, store, options, NULL).exit_status, 7);
    good(cairn_complete(store, 1, "e", NULL, NULL, 0, &error));
    expect_failed(run_text(text, store, options, NULL), 1, 0);
    expect_words("log", "-e");
    expect_tasks(store, 1, "e:undone b:failed");
    struct cairn_run_result r = run_text(text, store, options, NULL); /* asked again */
    ck_assert_uint_eq(r.waiting, 1);
    ck_assert_int_eq(r.exit_status, 7);
}
END_TEST

/* Nothing is stored then, but all of it is known. */
START_TEST(undo_without_a_store)
{
    struct cairn_run_result r = run_text(
        "name: w\njobs: 1\non_failure: {undo: ancestors}\ntasks:\n"
        "  a: {run: 'echo a >>log', undo: 'echo -a >>log', check: 'echo check >>log'}\n"
        "  b: {needs: [a], run: 'echo b >>log; exit 1', undo: 'echo -b >>log'}\n"
        "finally: {f: {run: 'echo $CAIRN_RUN_STATUS >>log'}}\n",
        NULL, (struct cairn_run_options){0}, NULL);
    expect_words("log", "a check b -b -a failed");
    expect_failed(r, 1, 0);
}
END_TEST

START_TEST(a_run_after_an_undo)
{
    run_it(plain);
    struct cairn_run_result r;
    good(cairn_undo(store, 1, NULL, 0, NULL, &r, &error));
    unlink("log");
    r = run_it(plain); /* continues the run that was undone */
    ck_assert_uint_eq(r.run, 1);
    ck_assert_int_eq(r.state, CAIRN_RUN_COMPLETED);
    ck_assert_int_eq(lines("log"), 4);
}
END_TEST

/* ---- Stopping ---- */

static uint32_t stops_wanted;

static void stop_in_undo(struct seen *seen, const struct cairn_event *event)
{
    (void)seen;
    if (event->kind != CAIRN_EVENT_TICK || !exists("undoing"))
        return;
    for (; stops_wanted; stops_wanted--)
        cairn_stop_request(stop);
}

static const char slow[] = "name: w\non_failure: {undo: ancestors}\ntasks:\n"
                           "  " TASK("a") "}\n"
                                          "  b: {needs: [a], run: ':',\n"
                                          "    undo: 'touch undoing; if [ -e quick ]; "
                                          "then sleep 0.5; else sleep 60; fi; echo "
                                          "-b >>log'}\n"
                                          "  bad: {needs: [b], run: 'exit 1'}\n"
                                          "finally: {f: {run: 'echo f >>log'}}\n";

START_TEST(a_stop_lets_the_undoing_finish)
{
    struct seen seen = {.act = stop_in_undo};
    stops_wanted = 1;
    put_file("quick", "");
    struct cairn_run_result r =
        run_text(slow, store, (struct cairn_run_options){.stop = stop}, &seen);
    ck_assert_uint_eq(stops_wanted, 0);
    expect_words("log", "a -b -a f");
    ck_assert_uint_eq(r.undone, 2);
}
END_TEST

START_TEST(a_second_stop_ends_the_undoing)
{
    struct seen seen = {.act = stop_in_undo};
    stops_wanted = 2;
    struct cairn_run_result r =
        run_text(slow, store, (struct cairn_run_options){.stop = stop}, &seen);
    expect_words("log", "a");
    ck_assert_uint_eq(r.undone, 0);
    ck_assert_uint_eq(r.failed_undos, 1);
    ck_assert_int_ne(r.exit_status, 0);
    expect_tasks(store, 1, "a:completed b:completed bad:failed f:pending");
}
END_TEST

/* ---- A crash in the middle of an undo ---- */

/* The store as it was while the undo ran, as if cairn had died then. */
START_TEST(a_crash_during_an_undo)
{
    static const char text[] =
        "name: w\non_failure: {undo: ancestors}\ntasks:\n"
        "  " TASK("a") "}\n"
                       "  b: {needs: [a], run: 'echo b >>log', undo: 'echo -b >>log; "
                       "cp -a .cairn "
                       "copy; rm -f copy/live/*.slots'}\n"
                       "  o: {needs: [a], run: 'echo o >>log'}\n"
                       "  bad: {needs: [b, o], run: 'test -e go'}\n";
    expect_failed(run_it(text), 2, 0);
    expect_words("log", "a b o -b -a");
    struct cairn_store *copy = open_at("copy");
    put_file("go", "");
    unlink("log");
    struct cairn_run_result r =
        run_text(text, copy, (struct cairn_run_options){.jobs = 1}, NULL);
    ck_assert_int_eq(r.state, CAIRN_RUN_COMPLETED);
    expect_words("log", "b"); /* half undone: it is made again */
    cairn_store_close(copy);
}
END_TEST

START_TEST(a_crash_during_the_undo_of_what_is_once)
{
    static const char text[] =
        "name: w\non_failure: {undo: ancestors}\ntasks:\n"
        "  b: {once: true, run: 'echo b >>log', undo: 'cp -a .cairn copy; rm -f "
        "copy/live/*.slots'}\n"
        "  bad: {needs: [b], run: 'test -e go'}\n";
    expect_failed(run_it(text), 1, 0);
    struct cairn_store *copy = open_at("copy");
    put_file("go", "");
    struct cairn_run_result r =
        run_text(text, copy, (struct cairn_run_options){.jobs = 1}, NULL);
    ck_assert_int_eq(r.exit_status, 8);
    ck_assert_uint_eq(r.unknown, 1);
    expect_tasks(copy, 1, "b:unknown bad:pending");
    expect_words("log", "b");
    good(cairn_resolve(copy, 1, "b", CAIRN_RESOLVED_RERUN, &error));
    r = run_text(text, copy, (struct cairn_run_options){.jobs = 1}, NULL);
    ck_assert_int_eq(r.state, CAIRN_RUN_COMPLETED);
    expect_words("log", "b b");
    cairn_store_close(copy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_undo");
    TCase *tests = tcase_create("engine_undo");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, undo_failed);
    tcase_add_test(tests, undo_ancestors);
    tcase_add_test(tests, undo_all);
    tcase_add_test(tests, ancestors_through_groups);
    tcase_add_test(tests, a_handled_failure_undoes_nothing);
    tcase_add_test(tests, tasks_without_undo);
    tcase_add_test(tests, a_failing_undo);
    tcase_add_test(tests, an_undo_that_cannot_start);
    tcase_add_test(tests, undo_as_it_was_stored);
    tcase_add_test(tests, undo_afterwards);
    tcase_add_test(tests, undo_of_named_tasks);
    tcase_add_test(tests, settled_until_an_undo);
    tcase_add_test(tests, undo_afterwards_that_fails);
    tcase_add_test(tests, undo_beside_a_live_run);
    tcase_add_test(tests, undo_of_what_others_did);
    tcase_add_test(tests, undo_without_a_store);
    tcase_add_test(tests, a_run_after_an_undo);
    tcase_add_test(tests, a_stop_lets_the_undoing_finish);
    tcase_add_test(tests, a_second_stop_ends_the_undoing);
    tcase_add_test(tests, a_crash_during_an_undo);
    tcase_add_test(tests, a_crash_during_the_undo_of_what_is_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
