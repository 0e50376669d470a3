/* SPDX-License-Identifier: MIT */
/* Dependency files: what gcc, clang and ninja's users write, and anything else. */
#include "runs/depfile.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct cairn_error failure;

/* Parses an exact heap copy; the names, each in brackets, or "CODE TEXT". */
static void expect_names(struct str text, const char *expected)
{
    struct arena arena = ARENA_INIT;
    struct depfile_names names = {NULL, 0};
    struct buf got = BUF_INIT;
    char *copy = malloc(text.len ? text.len : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text.ptr, text.len);
    int rc = depfile_parse((struct str){copy, text.len}, &arena, &names, &failure);
    free(copy);
    if (rc)
        buf_text(&got, failure.text);
    for (uint32_t i = 0; i < names.n; i++)
        buf_format(&got, "[%s]", names.names[i].ptr);
    buf_byte(&got, 0);
    ck_assert_str_eq(got.data, expected);
    buf_release(&got);
    arena_release(&arena);
}

#define EXPECT(text, expected) expect_names(STR(text), expected)

START_TEST(test_rules)
{
    EXPECT("", "");
    EXPECT("\n\n", "");
    EXPECT("a.o:", "");
    EXPECT("a.o: a.c b.h\n", "[a.c][b.h]");
    EXPECT("a.o: a.c \\\n b.h \\\r\n  /usr/include/c.h\n",
           "[a.c][b.h][/usr/include/c.h]");
    EXPECT("a.o : a.c\\\nb.h", "[a.c][b.h]");
    EXPECT("a.o b.o: a.c\n", "[a.c]");
    EXPECT("a.o: a.c b.h\n\nb.h:\nc.h :\n", "[a.c][b.h]");
    EXPECT("a.o: a.c\nb.o: a.c d.h", "[a.c][d.h]");
    EXPECT("x:y.o: a:b.c c:\n", "[a:b.c][c:]");
}
END_TEST

START_TEST(test_escapes)
{
    EXPECT("a: b\\ c d", "[b c][d]");
    EXPECT("a\\ b: c", "[c]");
    EXPECT("a: $$HOME/x $y $", "[$HOME/x][$y][$]");
    EXPECT("a: \\#x c\\#d\\\\#e", "[#x][c#d\\#e]");
    EXPECT("a: b\\:c", "[b:c]");
    EXPECT("a: b\\c\\\\d", "[b\\c\\\\d]");
    EXPECT("a: b\\\\ c", "[b\\][c]");
    EXPECT("a: b\\\\\\ c", "[b\\ c]");
    EXPECT("a: b\\\\\\\nc", "[b\\\\][c]");
    EXPECT("a: b\\", "[b\\]");
}
END_TEST

START_TEST(test_refused)
{
    EXPECT("junk\n", "line 1 is not a rule: write TARGET: FILE FILE");
    EXPECT("a: b \\\n c\n\n{\"a\":1}", "line 4 is not a rule: write TARGET: FILE FILE");
    EXPECT("a:b", "line 1 is not a rule: write TARGET: FILE FILE");
    expect_names((struct str){"a: b\0c", 6}, "it has a NUL in it");
}
END_TEST

START_TEST(test_bounds)
{
    struct arena arena = ARENA_INIT;
    struct depfile_names names = {NULL, 0};
    struct buf text = BUF_INIT;
    buf_text(&text, "a:");
    for (unsigned i = 0; i < DEPFILE_NAMES_MOST; i++)
        buf_format(&text, " %u", i);
    ck_assert_int_eq(depfile_parse(buf_view(&text), &arena, &names, &failure), 0);
    ck_assert_uint_eq(names.n, DEPFILE_NAMES_MOST);
    buf_text(&text, " more");
    ck_assert_int_eq(depfile_parse(buf_view(&text), &arena, &names, &failure),
                     CAIRN_ELIMIT);
    buf_release(&text);
    arena_release(&arena);
}
END_TEST

/* Every text of a few bytes of those that mean something ends, and reads no further. */
START_TEST(test_short_texts)
{
    static const char bytes[] = "a \\:\n$#\r";
    enum { N = sizeof bytes - 1, LENGTH = 5 };
    for (unsigned k = 0; k < 8 * 8 * 8 * 8 * 8; k++) {
        struct arena arena = ARENA_INIT;
        struct depfile_names names;
        char *text = malloc(LENGTH);
        unsigned rest = k;
        ck_assert_ptr_nonnull(text);
        for (int i = 0; i < LENGTH; i++, rest /= N)
            text[i] = bytes[rest % N];
        (void)depfile_parse((struct str){text, LENGTH}, &arena, &names, &failure);
        free(text);
        arena_release(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("depfile");
    TCase *tests = tcase_create("depfile");
    tcase_add_test(tests, test_rules);
    tcase_add_test(tests, test_escapes);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_bounds);
    tcase_add_test(tests, test_short_texts);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
