/* SPDX-License-Identifier: MIT */
/* Memory or descriptors are short just when the values of an attempt that ended well
 * are read. That is no failure of the task: the run is given up, and the next one takes
 * the end over, so nothing runs twice. The reading is made to fail (Makefile: --wrap).
 */
#include "tests/support/engine.h"

#include "base/os.h"

static int lacking; /* errno of the next read of values */

int __real_os_read_plain(const char *path, size_t limit, struct buf *out,
                         struct cairn_error *wrong);
int __wrap_os_read_plain(const char *path, size_t limit, struct buf *out,
                         struct cairn_error *wrong);
int __wrap_os_read_plain(const char *path, size_t limit, struct buf *out,
                         struct cairn_error *wrong)
{
    int sys = lacking;
    if (!sys || !strstr(path, ".values"))
        return __real_os_read_plain(path, limit, out, wrong);
    lacking = 0;
    return error_sys(wrong, sys, "cannot read %s", path);
}

static const struct {
    int sys;
    const char *keys;
} cases[] = {{ENOMEM, ""},
             {ENOMEM, ", once: true"},
             {ENOMEM, ", once: true, check: 'true'"},
             {EMFILE, ", once: true"},
             {ENFILE, ""}};

START_TEST(nothing_runs_twice)
{
    struct cairn_store *store = open_store();
    struct cairn_run_options options = {.jobs = 1, .start = CAIRN_START_RESUME};
    struct cairn_run_result result = {0};
    char text[400];
    snprintf(text, sizeof text,
             "name: w\ntasks:\n"
             "  a: {run: 'echo a >>log; echo v=1 >>$CAIRN_OUTPUT'%s}\n"
             "  b: {needs: [a], run: 'echo b$V >>log', env: {V: '${{ "
             "tasks.a.outputs.v }}'}}\n",
             cases[_i].keys);
    struct cairn_workflow *w = parsed(text);
    lacking = cases[_i].sys;
    int rc =
        cairn_run(w, store, &(struct cairn_run_options){.jobs = 1}, &result, &error);
    ck_assert_msg(rc == CAIRN_ENOMEM || rc == CAIRN_EIO, "%d: %s", rc, error.text);
    ck_assert_int_eq(lacking, 0);
    ck_assert_uint_eq(result.failed, 0);
    good(cairn_run(w, store, &options, &result, &error));
    ck_assert_int_eq(result.exit_status, 0);
    expect_words("log", "a b1");
    expect_tasks(store, 1, "a:completed b:completed");
    cairn_workflow_free(w);
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("own_want");
    TCase *tests = tcase_create("own_want");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, nothing_runs_twice, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
