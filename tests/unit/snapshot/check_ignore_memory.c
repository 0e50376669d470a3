/* SPDX-License-Identifier: MIT */
/* Each allocation refused in turn: CAIRN_ENOMEM and no rules, until nothing is
 * refused any more. The linker puts these in place of the allocator. */
#include "snapshot/ignore.h"

#include "tests/support/suite.h"

#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long left; /* allocations until one is refused; 0: none is */

static bool is_refused(void)
{
    return left > 0 && --left == 0;
}

void *__wrap_malloc(size_t size)
{
    return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return is_refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_refused() ? NULL : __real_realloc(old, size);
}

/* libcheck allocates, too. */
static int disarmed(int rc)
{
    left = 0;
    return rc;
}

START_TEST(test_refused)
{
    struct buf text = BUF_INIT;
    int rc = CAIRN_ENOMEM;
    long refused = 0;
    for (int i = 0; i < 3000; i++)
        buf_format(&text, "[a-c]*x?%d\n*.o%d\n", i, i);
    for (; rc == CAIRN_ENOMEM; refused++) {
        struct cairn_error error = {0};
        struct arena arena = ARENA_INIT;
        struct ignore_level root = {.rules.n = 77};
        left = refused + 1;
        rc = disarmed(ignore_parse(&arena, buf_view(&text), &root.rules, &error));
        ck_assert_uint_eq(root.rules.n, rc ? 77 : 6000);
        if (rc)
            ck_assert_str_eq(error.text, "out of memory");
        else
            ck_assert(ignore_matches(&root, STR("bzxy2999"), false));
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
