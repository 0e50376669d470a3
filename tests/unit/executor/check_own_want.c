/* SPDX-License-Identifier: MIT */
/* make: wrap=os_read_plain not-quick */
/* Memory or descriptors are short just when the values of an attempt that ended well
 * are read. That is no failure of the task: the run is given up, and the next one takes
 * the end over, so nothing runs twice. The reading is made to fail (wrap above).
 */
#include "tests/support/engine.h"

#include "base/os.h"

#include <time.h>

static int lacking; /* errno of the next read of values */
static bool awaits; /* which comes after the end of the task whose pid is in ./pid */

static char state_of(int pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d %*s %c", &state) != 1)
        state = 0;
    if (file)
        fclose(file);
    return state;
}

static void wait_for_end(void)
{
    put_file("go", "");
    int pid = 0;
    ck_assert_int_eq(sscanf(words_of("pid"), "%d", &pid), 1);
    for (int i = 0; i < 2000 && state_of(pid) != 'Z'; i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    ck_assert_int_eq(state_of(pid), 'Z');
}

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
    if (awaits)
        wait_for_end();
    awaits = false;
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

/* ---- What others had left when the run was given up ---- */

enum { LOOKED_AT, UNTOLD };

/* `a` has ended: its output is just being read, or its end is not told yet. */
static const char *const as[] = {
    [LOOKED_AT] = "truncate -s 2G big', outputs: [big]",
    [UNTOLD] = "echo $$ >pid; until [ -e go ]; do sleep 0.01; done'"};
static const char *const bs[] = {
    [LOOKED_AT] = "until ls -l /proc/$PPID/fd 2>&1 | grep -q big; do sleep 0.01; done",
    [UNTOLD] = "until [ -s pid ]; do sleep 0.01; done"};

static int add_bytes(void *context, const char *bytes, size_t n, uint64_t gap_bytes)
{
    char *text = context;
    size_t before = strlen(text);
    ck_assert(!gap_bytes && before + n < 64);
    memcpy(text + before, bytes, n);
    return 0;
}

static void expect_output(struct cairn_store *store, const char *task,
                          const char *wanted)
{
    char text[64] = "";
    good(cairn_output(store, 1, task, 0, 1, add_bytes, text, &error));
    ck_assert_str_eq(text, wanted);
}

START_TEST(what_had_ended_is_kept)
{
    struct cairn_store *store = open_store();
    struct cairn_run_options options = {.jobs = 3, .start = CAIRN_START_RESUME};
    struct cairn_run_result result = {0};
    char text[1000];
    int how = _i % 2;
    snprintf(text, sizeof text,
             "name: w\ntasks:\n"
             "  a: {run: 'echo a >>log; echo said; echo v=1 >>$CAIRN_OUTPUT; %s%s}\n"
             "  b: {run: 'echo w=1 >>$CAIRN_OUTPUT; %s'}\n"
             "  c: {needs: [a, b], run: 'echo c$V >>log', env: {V: '${{ "
             "tasks.a.outputs.v }}'}}\n",
             as[how], _i / 2 ? ", once: true" : "", bs[how]);
    struct cairn_workflow *w = parsed(text);
    lacking = ENOMEM;
    awaits = how == UNTOLD;
    int rc =
        cairn_run(w, store, &(struct cairn_run_options){.jobs = 3}, &result, &error);
    ck_assert_msg(rc == CAIRN_ENOMEM, "%d: %s", rc, error.text);
    ck_assert(!awaits);
    good(cairn_run(w, store, &options, &result, &error));
    ck_assert_int_eq(result.exit_status, 0);
    expect_words("log", "a c1");
    expect_tasks(store, 1, "a:completed b:completed c:completed");
    expect_output(store, "a", "said\n");
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
    tcase_add_loop_test(tests, what_had_ended_is_kept, 0, 4);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
