/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* Whole runs: the values that tasks pass on. */
#include "tests/support/engine.h"

#include "base/str.h"

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

static struct cairn_run_result resume(const char *text)
{
    unlink("log");
    return run_text(text, store,
                    (struct cairn_run_options){.start = CAIRN_START_RESUME, .jobs = 1},
                    NULL);
}

START_TEST(values)
{
    put_file("hostile",
             "x=$(touch pwned) `touch pwned` ; touch pwned ' \" \\ ${{ 1 }}\n"
             "empty=\n"
             "lines<<E\nfirst; touch pwned\nE2\nE\n");
    struct cairn_run_result r = run_it(
        "name: w\ntasks:\n"
        "  a: {run: 'cat hostile >>$CAIRN_OUTPUT'}\n"
        "  b: {needs: [a], env: {X: '${{ tasks.a.outputs.x }}'}, run: 'printf "
        "\"%s\\n\" \"$X\" >>log'}\n"
        "  c: {needs: [b], exec: [printf, '%s\\n', '${{ tasks.a.outputs.lines }}']}\n"
        "  d: {needs: [c], exec: [test, -z, '${{ tasks.a.outputs.empty }}']}\n"
        "  e: {needs: [d], exec: [test, '${{ default(tasks.a.outputs.gone, 7) }}', =, "
        "'7']}\n"
        "  f: {needs: [d], exec: [test, '${{ tasks.a.outputs.gone }}']}\n");
    expect_tasks(store, 1, "a:completed b:completed c:completed d:completed f:failed");
    expect_words("log", "$(touch pwned) `touch pwned` ; touch pwned ' \" \\ ${{ 1 }}");
    ck_assert(!exists("pwned"));
    ck_assert_int_eq(r.exit_status, 1);
}
END_TEST

/* Values are those of the attempt that counts, also in the names of outputs. */
START_TEST(values_of_the_newest_attempt)
{
    static const char text[] =
        "name: w\ntasks:\n"
        "  a: {inputs: v, run: 'echo n=$(cat v) >>$CAIRN_OUTPUT'}\n"
        "  b: {needs: [a], env: {N: '${{ tasks.a.outputs.n }}'}, outputs: ['out-${{ "
        "tasks.a.outputs.n }}'], run: 'echo b$N >>log; touch out-$N'}\n"
        "  c: {needs: [b], exec: [sh, -c, 'echo c${{ tasks.a.outputs.n }} >>log']}\n";
    put_file("v", "1");
    run_it(text);
    expect_words("log", "b1 c1");
    ck_assert(resume(text).nothing_to_do);
    put_file("v", "2");
    expect_end(resume(text), CAIRN_RUN_COMPLETED, 0);
    expect_words("log", "b2 c2");
    unlink("out-1"); /* nobody's any more */
    ck_assert(resume(text).nothing_to_do);
    unlink("out-2");
    ck_assert_uint_eq(resume(text).attempts, 2);
    expect_words("log", "b2 c2");
}
END_TEST

START_TEST(values_that_are_no_good)
{
    static const struct {
        const char *write, *text;
    } bad[] = {{"echo nothing", "line 1"},
               {"echo 1a=2", "line 1"},
               {"printf \"a=b\\\\000c\"", "line 1"},
               {"printf \"a<<E\\\\nx\"", "line 1"},
               {"head -c 2000000 /dev/zero | tr \"\\\\0\" x", "CAIRN_OUTPUT"}};
    char text[600];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(text, sizeof text,
                 "name: w\ntasks:\n  a:\n    run: |\n      { %s; } >>$CAIRN_OUTPUT\n",
                 bad[i].write);
        struct cairn_run_result r = run_text(
            text, store, (struct cairn_run_options){.start = CAIRN_START_FRESH}, NULL);
        ck_assert_msg(r.failed == 1, "%s", bad[i].write);
        struct task_wanted a = task_of(store, r.run, "a");
        ck_assert_msg(strstr(a.text, bad[i].text) != NULL, "%s: %s", bad[i].write,
                      a.text);
    }
}
END_TEST

/* Nobody sees what an earlier attempt, or one that failed, has written. */
START_TEST(no_values_of_earlier_attempts)
{
    struct cairn_run_result r =
        run_it("name: w\non_failure: continue\ntasks:\n"
               "  a:\n"
               "    retries: {max: 1, delay: 10ms}\n"
               "    run: |\n"
               "      wc -c <$CAIRN_OUTPUT >>log\n"
               "      echo v$CAIRN_ATTEMPT=$CAIRN_ATTEMPT >>$CAIRN_OUTPUT\n"
               "      test $CAIRN_ATTEMPT = 2\n"
               "  b: {needs: [a], exec: [sh, -c, 'echo ${{ default(tasks.a.outputs.v1, "
               "0) }} ${{ tasks.a.outputs.v2 }} >>log']}\n"
               "  c: {needs: [b], run: 'wc -c <$CAIRN_OUTPUT >>log'}\n"
               "  d: {needs: [c], run: 'echo d=1 >>$CAIRN_OUTPUT; exit 1'}\n"
               "  e: {needs: [d], when: failed, if: 'default(tasks.d.outputs.d, 0) == "
               "0', run: 'wc -c <$CAIRN_OUTPUT >>log'}\n");
    expect_words("log", "0 0 0 2 0 0");
    expect_end(r, CAIRN_RUN_COMPLETED, 0);
}
END_TEST

/* The file that a task was given may be gone, or another thing, when it ends. */
START_TEST(value_files_that_are_tampered_with)
{
    put_file("evil", "v=evil\n");
    struct cairn_run_result r =
        run_it("name: w\non_failure: continue\ntasks:\n"
               "  a: {run: 'rm $CAIRN_OUTPUT'}\n"
               "  b: {needs: [a], run: 'ln -sf $PWD/evil $CAIRN_OUTPUT'}\n"
               "  c: {needs: [b], run: 'rm $CAIRN_OUTPUT; mkdir $CAIRN_OUTPUT'}\n"
               "  d: {needs: [c], when: always, run: 'echo v=1 >>$CAIRN_OUTPUT'}\n"
               "  e: {needs: [d], exec: [sh, -c, 'echo ${{ default(tasks.b.outputs.v, "
               "0) "
               "}} ${{ tasks.d.outputs.v }} >>log']}\n");
    expect_words("log", "0 1");
    ck_assert_uint_eq(r.failed, 0);
    expect_words("evil", "v=evil");
}
END_TEST

/* A process that is left in the background writes too late. */
START_TEST(values_that_come_too_late)
{
    run_it(
        "name: w\njobs: 1\ntasks:\n"
        "  a: {run: 'f=$CAIRN_OUTPUT; (exec 3>>$f; touch up; while [ ! -e b ]; do "
        "sleep 0.01; done; echo v=late >&3; echo v=late >>$f; touch wrote) & while [ "
        "! -e up ]; do sleep 0.01; done'}\n"
        "  b: {needs: [a], run: 'touch b; sleep 0.2'}\n"
        "  c: {needs: [b], exec: [sh, -c, 'echo ${{ default(tasks.a.outputs.v, "
        "0) }} ${{ default(tasks.b.outputs.v, 0) }} >>log']}\n");
    expect_words("log", "0 0");
}
END_TEST

struct seen_files {
    struct buf text;
    uint32_t stop_after; /* 0: never */
    uint32_t n;
};

static int see_file(void *context, const struct cairn_task_file *file)
{
    struct seen_files *seen = context;
    buf_format(&seen->text, "%s %s %s%s %llu %.4s\n", file->task,
               file->input ? "in" : "out", file->name, file->directory ? "" : " file",
               (unsigned long long)file->size, file->sha256 ? file->sha256 : "-");
    return ++seen->n == seen->stop_after;
}

static void expect_files(const char *task, const char *wanted)
{
    struct seen_files seen = {.text = BUF_INIT};
    good(cairn_task_files(store, 0, task, see_file, &seen, &error));
    buf_byte(&seen.text, 0);
    ck_assert_str_eq(seen.text.data, wanted);
    buf_release(&seen.text);
}

/* What tasks have made and read, as it was recorded. */
START_TEST(files_of_tasks)
{
    put_file("in", "1\n");
    run_it("name: w\non_failure: continue\ntasks:\n"
           "  a: {run: 'cp in o; mkdir d', inputs: [in], outputs: [o, d/]}\n"
           "  b: {needs: [a], run: 'echo 22 >p', inputs: [o], outputs: [p]}\n"
           "  c: {needs: [b], run: 'exit 1', inputs: [p]}\n");
    put_file("o", "other\n"); /* what lies there now is not looked at */
    expect_files("b", "b out p file 3 f14b\nb in o file 2 4355\n");
    expect_files("c", "");
    struct seen_files seen = {.text = BUF_INIT, .stop_after = 2};
    good(cairn_task_files(store, 1, NULL, see_file, &seen, &error));
    ck_assert_uint_eq(seen.n, 2);
    buf_release(&seen.text);
    ck_assert_int_eq(cairn_task_files(store, 1, "none", see_file, &seen, &error),
                     CAIRN_ENOTFOUND);
    ck_assert_int_eq(cairn_task_files(store, 9, NULL, see_file, &seen, &error),
                     CAIRN_ENOTFOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_values");
    TCase *tests = tcase_create("engine_values");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, values);
    tcase_add_test(tests, values_of_the_newest_attempt);
    tcase_add_test(tests, values_that_are_no_good);
    tcase_add_test(tests, no_values_of_earlier_attempts);
    tcase_add_test(tests, value_files_that_are_tampered_with);
    tcase_add_test(tests, values_that_come_too_late);
    tcase_add_test(tests, files_of_tasks);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
