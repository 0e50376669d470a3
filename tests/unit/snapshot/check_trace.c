/* SPDX-License-Identifier: MIT */
/* Lines in the text before: those that stay are found at a line with the same bytes, in
 * the same order, and those that the diff adds are new. */
#include "snapshot/diff.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

enum { LINES_MOST = 40 };

/* Lines of one letter each. */
static size_t random_text(uint64_t *seed, char *text)
{
    size_t n = help_below(seed, LINES_MOST);
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = (char)('a' + help_below(seed, 4));
        text[2 * i + 1] = '\n';
    }
    return n;
}

START_TEST(test_what_stays_is_found)
{
    uint64_t seed = 3;
    for (int round = 0; round < 2000; round++) {
        char a[2 * LINES_MOST], b[2 * LINES_MOST];
        size_t n_a = random_text(&seed, a), n_b = random_text(&seed, b);
        size_t lines[LINES_MOST], asked[LINES_MOST], n = 0, added = 0, next = 0;
        struct text_diff diff;
        bool all = round % 2;
        for (size_t i = 0; i < n_b; i++)
            if (all || help_below(&seed, 3) == 0)
                asked[n++] = i;
        memcpy(lines, asked, n * sizeof *lines);
        ck_assert_int_eq(
            text_diff((struct str){a, 2 * n_a}, (struct str){b, 2 * n_b}, &diff, NULL),
            0);
        text_trace(&diff, lines, n);
        for (size_t i = 0; i < n; i++) {
            added += lines[i] == TEXT_LINE_NEW;
            if (lines[i] == TEXT_LINE_NEW)
                continue;
            ck_assert_uint_ge(lines[i], next);
            ck_assert_uint_lt(lines[i], n_a);
            ck_assert_int_eq(a[2 * lines[i]], b[2 * asked[i]]);
            next = lines[i] + 1;
        }
        if (all)
            ck_assert_uint_eq(added, diff.added);
        text_diff_release(&diff);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_what_stays_is_found);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
