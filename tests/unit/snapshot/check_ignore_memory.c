/* SPDX-License-Identifier: MIT */
/* make: wrap=malloc,calloc,realloc */
/* Each allocation refused in turn: CAIRN_ENOMEM and no rules, until nothing is
 * refused any more. */
#include "snapshot/ignore.h"

#include "tests/support/memory/refuse_allocations.h"
#include "tests/support/suite.h"

#include <stdlib.h>

/* libcheck allocates, too. */
static int disarmed(int rc)
{
    allocations_left = 0;
    return rc;
}

START_TEST(test_refused)
{
    struct buf text = BUF_INIT;
    int rc = CAIRN_ENOMEM;
    long refused = 0;
    for (int i = 0; i < 300; i++)
        buf_format(&text, "[a-c]*x?%d\n*.o%d\n", i, i);
    for (; rc == CAIRN_ENOMEM; refused++) {
        struct cairn_error error = {0};
        struct arena arena = ARENA_INIT;
        struct ignore_level root = {.rules.n = 77};
        allocations_left = refused + 1;
        rc = disarmed(ignore_parse(&arena, buf_view(&text), &root.rules, &error));
        ck_assert_uint_eq(root.rules.n, rc ? 77 : 600);
        if (rc)
            ck_assert_str_eq(error.text, "out of memory");
        else
            ck_assert(ignore_matches(&root, STR("bzxy299"), false));
        arena_release(&arena);
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_int_gt(refused, 2);
    buf_release(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ignore_memory");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_refused);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
