/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* Whole runs: checks, `once`, and what tasks read (inputs, secrets). */
#include "tests/support/engine.h"

#include <signal.h>

static struct cairn_store *store;

static void begin(void)
{
    setup();
    store = open_store();
}

static void end(void)
{
    cairn_store_close(store);
    teardown();
}

static struct cairn_run_result run_it(const char *text)
{
    return run_text(text, store, (struct cairn_run_options){.jobs = 1}, NULL);
}

static void expect_end(struct cairn_run_result r, enum cairn_run_state state,
                       int status)
{
    ck_assert_msg(r.state == state, "%s, not %s", cairn_run_state_name(r.state),
                  cairn_run_state_name(state));
    ck_assert_int_eq(r.exit_status, status);
}

static void expect_text(const char *id, const char *part)
{
    struct task_wanted task = task_of(store, 1, id);
    ck_assert_msg(strstr(task.text, part) != NULL, "%s: `%s`, without `%s`", id,
                  task.text, part);
}

/* ---- Checks ---- */

struct text {
    char bytes[4096];
    size_t n;
};

static int add_bytes(void *context, const char *bytes, size_t n, uint64_t gap_bytes)
{
    struct text *text = context;
    ck_assert_uint_eq(gap_bytes, 0);
    ck_assert_uint_lt(text->n + n, sizeof text->bytes);
    memcpy(text->bytes + text->n, bytes, n);
    text->n += n;
    text->bytes[text->n] = '\0';
    return 0;
}

static void expect_output(const char *id, int stream, const char *expected)
{
    struct text text = {0};
    good(cairn_output(store, 1, id, 0, stream, add_bytes, &text, &error));
    ck_assert_str_eq(text.bytes, expected);
}

START_TEST(output_of_checks)
{
    run_it("name: w\non_failure: continue\ntasks:\n"
           "  quiet: {run: 'echo o; echo e >&2', check: 'true'}\n"
           "  good: {run: 'echo o; printf e >&2', check: 'echo co; echo ce >&2'}\n"
           "  bad: {run: ':', check: 'echo line 1; echo line 2; exit 3'}\n"
           "  apart: {run: 'echo o; printf e >&2', check: 'echo co; echo ce >&2',\n"
           "    stderr: apart}\n");
    expect_output("quiet", 1, "o\ne\n");
    expect_output("quiet", 2, "");
    expect_output("good", 1, "o\ne\n--- its check:\nco\nce\n");
    expect_output("good", 2, "");
    expect_output("bad", 1, "--- its check:\nline 1\nline 2\n");
    expect_output("bad", 2, "");
    expect_output("apart", 1, "o\n");
    expect_output("apart", 2, "e\n--- its check:\nco\nce\n");
}
END_TEST

START_TEST(checks)
{
    struct cairn_run_result r = run_it(
        "name: w\non_failure: continue\ntasks:\n"
        "  good: {run: ':', check: 'true'}\n"
        "  bad: {run: ':', check: 'echo why >&2; exit 3'}\n"
        "  sure: {run: ':', check: {run: 'echo ''{\"confidence\": 0.9}''', min: 0.8}}\n"
        "  unsure: {run: ':', check: {run: 'echo ''{\"confidence\": 0.75}'''}}\n"
        "  doubt: {run: ':', check: {run: 'echo ''{\"confidence\": 0.5}'''}}\n"
        "  silly: {run: ':', check: 'echo ''{\"confidence\": 7}'''}\n"
        "  exec: {exec: ['true'], check: 'exit 1'}\n"
        "  first: {run: 'exit 1', check: 'touch first-checked'}\n"
        "  without: {run: ':', outputs: [gone], check: 'touch without-checked'}\n");
    expect_tasks(store, 1,
                 "good:completed bad:failed sure:completed unsure:completed "
                 "doubt:failed silly:failed exec:failed first:failed without:failed");
    expect_end(r, CAIRN_RUN_FAILED, 1);
    expect_text("bad", "why");
    expect_text("unsure", "its check warns");
    expect_text("doubt", "its check failed");
    ck_assert(!exists("first-checked"));
    ck_assert(!exists("without-checked"));
}
END_TEST

START_TEST(a_check_and_retries)
{
    struct cairn_run_result r = run_it(
        "name: w\ntasks:\n"
        "  a:\n"
        "    run: 'echo run >>log; echo n=$CAIRN_ATTEMPT >>$CAIRN_OUTPUT'\n"
        "    check: 'echo check >>log; test $CAIRN_ATTEMPT = 3'\n"
        "    retries: {max: 2, delay: 10ms}\n"
        "  b: {needs: [a], exec: [sh, -c, 'echo ${{ tasks.a.outputs.n }} >>log']}\n");
    expect_words("log", "run check run check run check 3");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
    ck_assert_uint_eq(task_of(store, 1, "a").info.attempts, 3);
}
END_TEST

START_TEST(what_a_check_is_given)
{
    run_it("name: w\nparams: {day: mon}\ntasks:\n"
           "  a:\n"
           "    foreach: {i: [x]}\n"
           "    cwd: sub\n"
           "    env: {E: 'e${{ params.day }}'}\n"
           "    run: ':'\n"
           "    check: 'echo $day $i $E $CAIRN_TASK $CAIRN_ATTEMPT >>../log; test "
           "$(basename $PWD) = sub'\n");
    expect_tasks(store, 1, "a[i=x]:failed"); /* sub is not there */
    ck_assert_int_eq(mkdir("sub", 0700), 0);
    struct cairn_run_result r =
        run_it("name: w\nparams: {day: mon}\ntasks:\n"
               "  a:\n"
               "    foreach: {i: [x]}\n"
               "    cwd: sub\n"
               "    env: {E: 'e${{ params.day }}'}\n"
               "    run: ':'\n"
               "    check: 'echo $day $i $E $CAIRN_TASK >>../log; test $(basename "
               "$PWD) = sub'\n");
    expect_words("log", "mon x emon a[i=x]");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
}
END_TEST

START_TEST(a_check_that_takes_too_long)
{
    struct cairn_run_result r =
        run_it("name: w\ntasks:\n"
               "  a: {run: ':', check: 'exec sleep 60', timeout: 250ms}\n");
    expect_end(r, CAIRN_RUN_FAILED, 1);
    expect_text("a", "its check timed out");
}
END_TEST

static struct cairn_stop *stop;

static void stop_in_check(struct seen *seen, const struct cairn_event *event)
{
    if (event->kind != CAIRN_EVENT_TICK || !exists("checking") || seen->rc)
        return;
    seen->rc = 1;
    cairn_stop_request(stop);
}

START_TEST(a_stop_during_a_check)
{
    static const char text[] =
        "name: w\ntasks:\n"
        "  a: {run: 'echo a >>log', check: 'touch checking; test -e go || exec sleep "
        "60'}\n";
    struct seen seen = {.act = stop_in_check};
    good(cairn_stop_new(&stop, &error));
    struct cairn_run_result r =
        run_text(text, store, (struct cairn_run_options){.stop = stop}, &seen);
    expect_end(r, CAIRN_RUN_CANCELLED, 7);
    expect_tasks(store, 1, "a:cancelled");
    put_file("go", "");
    expect_end(run_it(text), CAIRN_RUN_COMPLETED, 0);
    expect_words("log", "a a");
    cairn_stop_free(stop);
}
END_TEST

/* ---- once ---- */

/* The store as it was while the task ran, as if cairn had died then: it continues once
 * the original is gone. Beside that it would be a copy, for which ends that are noted,
 * but not stored, do not count. */
#define CRASH "cp -a .cairn copy; rm -f copy/live/*.slots"

static struct cairn_run_result run_copy(const char *text)
{
    cairn_store_close(store);
    ck_assert_int_eq(rename(".cairn", "original"), 0);
    store = open_at("copy");
    ck_assert_int_eq(rename("original", ".cairn"), 0);
    return run_text(text, store, (struct cairn_run_options){.jobs = 1}, NULL);
}

static const char once[] =
    "name: w\non_failure: continue\ntasks:\n"
    "  a: {once: true, run: 'echo a >>log; " CRASH "'}\n"
    "  b: {needs: [a], run: 'echo b >>log'}\n"
    "  always: {needs: [a], when: always, run: 'echo always >>log'}\n"
    "  other: {run: 'echo other >>log', priority: -1}\n"
    "finally: {f: {run: 'echo f >>log'}}\n";

START_TEST(once_is_unknown_after_a_crash)
{
    run_it(once);
    unlink("log");
    struct cairn_run_result r = run_copy(once);
    expect_end(r, CAIRN_RUN_UNFINISHED, 8);
    ck_assert_uint_eq(r.unknown, 1);
    expect_tasks(store, 1,
                 "a:unknown b:pending always:pending other:completed f:pending");
    expect_words("log", "other");
    r = run_it(once); /* it stays so */
    expect_end(r, CAIRN_RUN_UNFINISHED, 8);
    ck_assert_uint_eq(r.attempts, 0);
    good(cairn_resolve(store, 1, "a", CAIRN_RESOLVED_DONE, &error));
    r = run_it(once);
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
    expect_words("log", "other b always f");
}
END_TEST

START_TEST(once_resolved_as_failed)
{
    run_it(once);
    unlink("log");
    run_copy(once);
    good(cairn_resolve(store, 1, "a", CAIRN_RESOLVED_FAILED, &error));
    expect_tasks(store, 1, "a:failed");
    ck_assert_int_eq(cairn_resolve(store, 1, "a", CAIRN_RESOLVED_FAILED, &error),
                     CAIRN_EUSAGE);
    expect_words("log", "other");
    struct cairn_run_result r = run_it(once); /* the run ends with that failure */
    expect_end(r, CAIRN_RUN_FAILED, 1);
    r = run_it(once); /* what failed is tried again then */
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
}
END_TEST

static const char checked[] =
    "name: w\ntasks:\n"
    "  a: {once: true, run: 'echo a >>log; test -e copy || { " CRASH "; }', check: "
    "'echo check >>log; test -e done', retries: 2}\n"
    "  b: {needs: [a], run: 'echo b >>log'}\n";

START_TEST(once_with_a_check_that_passes)
{
    put_file("done", "");
    run_it(checked);
    unlink("log");
    struct cairn_run_result r = run_copy(checked);
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
    expect_words("log", "check b"); /* it did not run again */
    expect_tasks(store, 1, "a:completed b:completed");
}
END_TEST

START_TEST(once_with_a_check_that_fails)
{
    put_file("done", "");
    run_it(checked);
    unlink("log");
    unlink("done");
    struct cairn_run_result r = run_copy(checked);
    expect_end(r, CAIRN_RUN_FAILED, 1);
    expect_words("log", "check"); /* no retry of what must not run twice */
    expect_tasks(store, 1, "a:failed b:skipped");
}
END_TEST

START_TEST(once_that_never_started)
{
    static const char text[] =
        "name: w\njobs: 1\ntasks:\n"
        "  first: {run: 'echo first >>log; " CRASH "', priority: 1}\n"
        "  a: {once: true, run: 'echo a >>log'}\n";
    run_it(text);
    unlink("log");
    /* With one job nothing was meant to start beside `first`. */
    struct cairn_run_result r = run_copy(text);
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
    ck_assert_ptr_nonnull(strstr(words_of("log"), "a"));
}
END_TEST

static void stop_in_task(struct seen *seen, const struct cairn_event *event)
{
    if (event->kind != CAIRN_EVENT_TICK || !exists("up") || seen->rc)
        return;
    seen->rc = 1;
    cairn_stop_request(stop);
}

/* Ended by us in the middle of it: nobody knows how far it came, as after a crash. */
START_TEST(once_that_was_stopped)
{
    static const char text[] =
        "name: w\ntasks:\n"
        "  a: {once: true, run: 'echo a >>log; touch up; exec sleep 60'}\n"
        "  b: {needs: [a], run: 'echo b >>log'}\n";
    struct seen seen = {.act = stop_in_task};
    good(cairn_stop_new(&stop, &error));
    struct cairn_run_result r =
        run_text(text, store, (struct cairn_run_options){.stop = stop}, &seen);
    ck_assert_int_eq(r.exit_status, 8);
    expect_tasks(store, 1, "a:unknown b:pending");
    ck_assert_int_eq(run_it(text).exit_status, 8);
    good(cairn_resolve(store, 1, "a", CAIRN_RESOLVED_DONE, &error));
    expect_end(run_it(text), CAIRN_RUN_COMPLETED, 0);
    expect_words("log", "a b");
    cairn_stop_free(stop);
}
END_TEST

/* We end it there, too. */
START_TEST(once_at_its_time_limit)
{
    static const char text[] =
        "name: w\non_failure: continue\ntasks:\n"
        "  a: {once: true, timeout: 100ms, retries: 2, run: 'echo a >>log; sleep 60', "
        "check: 'echo check >>log; test -e done'}\n"
        "  b: {once: true, retries: 1, run: 'echo b >>log; exit 1'}\n"
        "  c: {needs: [a], run: 'echo c >>log'}\n";
    struct cairn_run_result r = run_it(text);
    ck_assert_int_eq(r.exit_status, 8);
    expect_tasks(store, 1, "a:unknown b:failed c:pending");
    expect_text("a", "timed out");
    expect_words("log", "a b b"); /* its own failure is an answer: it may be retried */
    put_file("done", "");
    run_it(text);
    expect_tasks(store, 1, "a:completed b:failed c:completed");
    ck_assert_ptr_null(strstr(words_of("log") + 1, "a"));
}
END_TEST

/* Where this program ignores SIGCHLD the kernel keeps no exit status for us. */
START_TEST(once_whose_end_nobody_keeps)
{
    static const char text[] = "name: w\non_failure: continue\ntasks:\n"
                               "  a: {once: true, run: 'echo a >>log'}\n"
                               "  b: {run: 'echo b >>log'}\n";
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGCHLD, &ignore, &old);
    ck_assert_int_ne(run_it(text).exit_status, 0);
    sigaction(SIGCHLD, &old, NULL);
    expect_tasks(store, 1, "a:unknown b:failed");
    expect_text("b", "SIGCHLD");
    struct cairn_run_result r = run_it(text);
    ck_assert_int_eq(r.exit_status, 8);
    expect_tasks(store, 1, "a:unknown b:completed");
    expect_words("log", "a b b");
}
END_TEST

/* What it leaves is the result of the task, which is finished then. */
START_TEST(a_check_that_changes_an_output)
{
    static const char text[] =
        "name: w\ntasks:\n"
        "  a: {run: 'echo a >>log; echo 1 >o; mkdir -p d', outputs: [o, d], "
        "check: 'echo checked >>o; touch d/stamp'}\n"
        "  lost: {run: 'echo lost >>log; echo 1 >p', outputs: p, check: 'rm -f p'}\n";
    struct cairn_run_result r = run_it(text);
    expect_tasks(store, 1, "a:completed lost:failed");
    expect_text("lost", "its check passed, but");
    ck_assert_int_eq(r.exit_status, 1);
    r = run_it(text);
    expect_words("log", "a lost lost");
    put_file("o", "1\n");
    run_it(text);
    ck_assert_ptr_nonnull(strstr(words_of("log") + 1, "a")); /* it differs now */
}
END_TEST

/* That the task had ended well was noted, and nothing of it recorded. */
START_TEST(a_crash_during_a_check)
{
    static const char text[] =
        "name: w\ntasks:\n"
        "  a: {run: 'echo a >>log', check: 'echo check >>log; test -e copy || { " CRASH
        "; }'}\n"
        "  b: {needs: [a], run: 'echo b >>log'}\n";
    run_it(text);
    unlink("log");
    expect_end(run_copy(text), CAIRN_RUN_COMPLETED, 0);
    expect_words("log", "check b");
}
END_TEST

START_TEST(a_copy_beside_a_check)
{
    static const char text[] =
        "name: w\ntasks:\n"
        "  a: {run: 'echo a >>log', check: 'echo check >>log; test -e copy || { " CRASH
        "; }'}\n";
    run_it(text);
    unlink("log");
    struct cairn_store *copy = open_at("copy");
    expect_end(run_text(text, copy, (struct cairn_run_options){.jobs = 1}, NULL),
               CAIRN_RUN_COMPLETED, 0);
    expect_words("log", "a check");
    cairn_store_close(copy);
}
END_TEST

START_TEST(a_crash_during_the_check_of_what_is_once)
{
    static const char text[] =
        "name: w\ntasks:\n"
        "  a: {once: true, run: 'echo a >>log', check: 'echo check >>log; test -e copy "
        "|| { " CRASH "; }'}\n"
        "  b: {needs: [a], run: 'echo b >>log'}\n";
    run_it(text);
    unlink("log");
    expect_end(run_copy(text), CAIRN_RUN_COMPLETED, 0);
    expect_words("log", "check b");
}
END_TEST

START_TEST(a_crash_during_finally)
{
    static const char text[] =
        "name: w\ntasks: {a: {run: 'echo a >>log'}}\n"
        "finally:\n"
        "  done: {run: 'echo done >>log'}\n"
        "  f: {needs: [done], run: 'echo f >>log; test -e copy || { " CRASH "; }'}\n"
        "  g: {needs: [f], run: 'echo g$CAIRN_RUN_STATUS >>log'}\n";
    run_it(text);
    unlink("log");
    expect_end(run_copy(text), CAIRN_RUN_COMPLETED, 0);
    expect_words("log", "f gcompleted");
}
END_TEST

/* ---- Inputs and secrets ---- */

static const char reads[] = "name: w\ntasks:\n"
                            "  a: {run: 'echo a >>log', inputs: [in/x, y]}\n"
                            "  b: {needs: [a], run: 'echo b >>log'}\n"
                            "  c: {run: 'echo c >>log'}\n";

static struct cairn_run_result resume(const char *text)
{
    unlink("log");
    return run_text(text, store,
                    (struct cairn_run_options){.start = CAIRN_START_RESUME, .jobs = 1},
                    NULL);
}

START_TEST(inputs)
{
    run_it(reads);
    expect_tasks(store, 1, "a:failed b:skipped");
    expect_text("a", "in/x");
    ck_assert_int_eq(mkdir("in", 0700), 0);
    put_file("in/x", "1");
    put_file("y", "1");
    run_it(reads);
    ck_assert(resume(reads).nothing_to_do);
    ck_assert_int_eq(system("touch in/x"), 0); /* the same content */
    ck_assert(resume(reads).nothing_to_do);
    put_file("in/x", "2");
    resume(reads);
    expect_words("log", "a b");
    ck_assert(resume(reads).nothing_to_do);
    unlink("y");
    expect_end(resume(reads), CAIRN_RUN_FAILED, 1);
    expect_tasks(store, 1, "a:failed b:skipped c:completed");
}
END_TEST

static const char secretive[] =
    "name: w\nsecrets: [TOKEN]\ntasks:\n"
    "  a: {secrets: [TOKEN], run: 'echo $TOKEN >>log; echo $TOKEN; echo t=$TOKEN "
    ">>$CAIRN_OUTPUT'}\n"
    "  b: {needs: [a], run: 'echo b${TOKEN-} >>log'}\n"
    "  c: {run: 'echo c >>log'}\n";

static struct cairn_run_result run_secret(const char *value)
{
    struct cairn_param secret = {"TOKEN", value};
    struct cairn_run_options options = {.start = CAIRN_START_AUTO, .jobs = 1};
    options.secrets = &secret;
    options.n_secrets = 1;
    if (run_info(store, 0).run)
        options.start = CAIRN_START_RESUME;
    unlink("log");
    return run_text(secretive, store, options, NULL);
}

START_TEST(secrets)
{
    struct cairn_workflow *w = parsed(secretive);
    struct cairn_param secret = {"TOKEN", "one-secret"};
    struct cairn_run_options options = {.jobs = 1};
    struct cairn_run_result r;
    ck_assert_int_eq(cairn_run(w, store, &options, &r, &error), CAIRN_EUSAGE);
    ck_assert_msg(strstr(error.text, "TOKEN") != NULL, "%s", error.text);
    ck_assert(!exists("log"));
    options.secrets = &secret;
    options.n_secrets = 1;
    error = (struct cairn_error){0};
    good(cairn_run(w, store, &options, &r, &error));
    cairn_workflow_free(w);
    ck_assert_ptr_nonnull(strstr(words_of("log"), "one-secret"));
    ck_assert_ptr_null(strstr(words_of("log"), "bone"));
    ck_assert(run_secret("one-secret").nothing_to_do);
    r = run_secret("two-secret");
    ck_assert_uint_eq(r.attempts, 2);
    expect_words("log", "two-secret b");
    ck_assert_int_ne(system("grep -rqa one-secret .cairn"), 0);
    ck_assert_int_ne(system("grep -rqa two-secret .cairn"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_gate");
    TCase *tests = tcase_create("engine_gate");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, output_of_checks);
    tcase_add_test(tests, checks);
    tcase_add_test(tests, a_check_and_retries);
    tcase_add_test(tests, what_a_check_is_given);
    tcase_add_test(tests, a_check_that_takes_too_long);
    tcase_add_test(tests, a_stop_during_a_check);
    tcase_add_test(tests, once_is_unknown_after_a_crash);
    tcase_add_test(tests, once_resolved_as_failed);
    tcase_add_test(tests, once_with_a_check_that_passes);
    tcase_add_test(tests, once_with_a_check_that_fails);
    tcase_add_test(tests, once_that_never_started);
    tcase_add_test(tests, once_that_was_stopped);
    tcase_add_test(tests, once_at_its_time_limit);
    tcase_add_test(tests, once_whose_end_nobody_keeps);
    tcase_add_test(tests, a_check_that_changes_an_output);
    tcase_add_test(tests, a_crash_during_a_check);
    tcase_add_test(tests, a_copy_beside_a_check);
    tcase_add_test(tests, a_crash_during_the_check_of_what_is_once);
    tcase_add_test(tests, a_crash_during_finally);
    tcase_add_test(tests, inputs);
    tcase_add_test(tests, secrets);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
