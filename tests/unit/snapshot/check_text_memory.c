/* SPDX-License-Identifier: MIT */
/* make: wrap=malloc,calloc,realloc */
/* Each allocation refused in turn: CAIRN_ENOMEM and nothing leaked, until nothing is
 * refused any more. */
#include "snapshot/diff.h"

#include "tests/support/memory/refuse_allocations.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <sys/stat.h>

/* libcheck allocates, too. */
static int disarmed(int rc)
{
    allocations_left = 0;
    return rc;
}

static struct cairn_error failure;
static struct buf a, b;

static int find_edits(void)
{
    struct text_diff diff = {.n = 77};
    int rc = disarmed(text_diff(buf_view(&a), buf_view(&b), &diff, &failure));
    if (rc)
        ck_assert_uint_eq(diff.n, 77);
    else
        text_diff_release(&diff);
    return rc;
}

static int make_patch(void)
{
    const struct text_file old = {.path = STR("\n"),
                                  .mode = S_IFREG | 0644,
                                  .content = buf_view(&a)},
                           new = {.path = STR("\t"),
                                  .mode = S_IFREG | 0644,
                                  .content = buf_view(&b)};
    const struct text_patch_options options = {.around = 3};
    struct buf out = BUF_INIT;
    int rc = disarmed(text_patch(&old, &new, &options, &out, NULL, &failure));
    buf_release(&out);
    return rc;
}

static int name_binary(void)
{
    const struct text_file old = {.path = STR("x"),
                                  .mode = S_IFREG | 0644,
                                  .content = buf_view(&a)},
                           new = {.path = STR("x"),
                                  .mode = S_IFREG | 0644,
                                  .content = STR("\0")};
    const struct text_patch_options options = {.around = 3};
    struct buf out = BUF_INIT;
    int rc = disarmed(text_patch(&old, &new, &options, &out, NULL, &failure));
    buf_release(&out);
    return rc;
}

static int (*const calls[])(void) = {find_edits, make_patch, name_binary};

START_TEST(test_refused)
{
    int rc = CAIRN_ENOMEM;
    long refused = 0;
    for (unsigned i = 0; i < 3000; i++) {
        buf_format(&a, "%u\n", i % 70);
        buf_format(&b, "%u\n", i % 71);
    }
    for (; rc == CAIRN_ENOMEM; refused++) {
        failure = (struct cairn_error){0};
        allocations_left = refused + 1;
        rc = calls[_i]();
        if (rc) {
            ck_assert_int_eq(rc, CAIRN_ENOMEM);
            ck_assert_str_eq(failure.text, "out of memory");
        }
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_int_gt(refused, 1);
    buf_release(&a);
    buf_release(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_memory");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, test_refused, 0, sizeof calls / sizeof calls[0]);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
