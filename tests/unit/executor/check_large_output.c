/* SPDX-License-Identifier: MIT */
/* make: wrap=store_put_object */
/* Output that is too large to be stored: it is lost and named, and everything else is
 * saved. The store is made to take it for too large (wrap above). */
#include "tests/support/engine.h"

#include "storage/object.h"

int __real_store_put_object(struct cairn_store *store, struct str content,
                            struct digest *digest, struct cairn_error *wrong);
int __wrap_store_put_object(struct cairn_store *store, struct str content,
                            struct digest *digest, struct cairn_error *wrong);
int __wrap_store_put_object(struct cairn_store *store, struct str content,
                            struct digest *digest, struct cairn_error *wrong)
{
    if (content.len > 10 && memcmp(content.ptr, "too large\n", 10) == 0)
        return error_set(wrong, CAIRN_ELIMIT, "too many bytes");
    return __real_store_put_object(store, content, digest, wrong);
}

static const char text[] = "name: w\n"
                           "tasks:\n"
                           "  a: {run: 'echo too large; echo very; echo e >&2'}\n"
                           "  b: {run: 'echo b', needs: [a]}\n";

START_TEST(all_else_is_saved)
{
    struct cairn_store *store = open_store();
    struct cairn_run_result result =
        run_text(text, store, (struct cairn_run_options){0}, NULL);
    ck_assert_uint_eq(result.completed, 2);
    ck_assert_uint_eq(result.unsaved, 0);
    ck_assert(!result.end_unsaved);
    ck_assert_uint_eq(result.lost_outputs, 1);
    ck_assert_int_eq(result.exit_status, 9);
    result = run_text(text, store,
                      (struct cairn_run_options){.start = CAIRN_START_RESUME}, NULL);
    ck_assert(result.nothing_to_do);
    ck_assert_int_eq(result.exit_status, 0);
    cairn_store_close(store);
}
END_TEST

START_TEST(limit_above_what_can_be_stored)
{
    struct cairn_workflow *w = workflow_named("w");
    struct cairn_run_options options = {.output_limit = (900 << 20) + 1};
    struct cairn_run_result result;
    ck_assert_int_eq(cairn_run(w, NULL, &options, &result, &error), CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "output_limit"));
    cairn_workflow_free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("large_output");
    TCase *tests = tcase_create("large_output");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, all_else_is_saved);
    tcase_add_test(tests, limit_above_what_can_be_stored);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
