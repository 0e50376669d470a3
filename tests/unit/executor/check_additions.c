/* SPDX-License-Identifier: MIT */
/* make: wrap=store_begin */
/* Tasks are added while somebody else adds some: just before the first one writes, so
 * that it has parsed them without the others' (wrap above). */
#include "tests/support/engine.h"

#include "storage/store.h"

static struct cairn_store *other;
static const char *others_text; /* is added at the next write, once */

static int add_text(struct cairn_store *store, const char *text)
{
    struct cairn_addition addition = {.text = text, .length = strlen(text)};
    return cairn_add(store, 1, &addition, NULL, &error);
}

int __real_store_begin(struct cairn_store *store, int wait_ms,
                       struct cairn_error *wrong);
int __wrap_store_begin(struct cairn_store *store, int wait_ms,
                       struct cairn_error *wrong);
int __wrap_store_begin(struct cairn_store *store, int wait_ms,
                       struct cairn_error *wrong)
{
    const char *text = others_text;
    others_text = NULL;
    if (text)
        good(add_text(other, text));
    return __real_store_begin(store, wait_ms, wrong);
}

#define TASK(name, word) "tasks: {" name ": {run: 'echo " word " >>log'}}"

static const struct {
    const char *text, *others;
    int rc;
    const char *tasks, *words;
} cases[] = {
    {TASK("one", "ours"), TASK("two", "theirs"), 0,
     "a:completed two:completed one:completed", "theirs ours"},
    {TASK("one", "ours"), TASK("one", "theirs"), CAIRN_EWORKFLOW,
     "a:completed one:completed", "theirs"},
    {TASK("one", "same"), TASK("one", "same"), 0, "a:completed one:completed", "same"},
};

START_TEST(others_add_meanwhile)
{
    struct cairn_store *store = open_store();
    struct cairn_run_options options = {.jobs = 1, .start = CAIRN_START_RESUME};
    struct cairn_run_result result = {0};
    struct cairn_workflow *w;
    other = open_store();
    put_file("w.yaml", "name: w\ntasks: {a: {run: 'true'}}\n");
    good(cairn_workflow_load(&w, "w.yaml", NULL, 0, &error));
    good(cairn_workflow_compile(w, &error));
    good(cairn_run(w, store, NULL, &result, &error));
    others_text = cases[_i].others;
    ck_assert_int_eq(add_text(store, cases[_i].text), cases[_i].rc);
    ck_assert_ptr_null(others_text);
    good(cairn_run(w, store, &options, &result, &error));
    ck_assert_int_eq(result.exit_status, 0);
    expect_tasks(store, 1, cases[_i].tasks);
    expect_words("log", cases[_i].words);
    cairn_workflow_free(w);
    cairn_store_close(other);
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("additions");
    TCase *tests = tcase_create("additions");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, others_add_meanwhile, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
