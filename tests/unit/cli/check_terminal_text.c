/* SPDX-License-Identifier: MIT */
/* What tasks write, made harmless for a terminal. */
#include "cli/format.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static void expect(const char *line, bool color, const char *wanted)
{
    char *out = malloc(TERMINAL_TEXT_ROOM(strlen(line)) + 1);
    size_t n = terminal_line(out, line, strlen(line), color, NULL);
    ck_assert_uint_le(n, TERMINAL_TEXT_ROOM(strlen(line)));
    out[n] = '\0';
    ck_assert_str_eq(out, wanted);
    free(out);
}

START_TEST(colors)
{
    expect("\033[31mred\033[0m", true, "\033[31mred\033[0m");
    expect("\033[31mred\033[0m", false, "red");
    expect("\033[1;38;5;208mx", true, "\033[1;38;5;208mx\033[0m");
    expect("\033[38;5;8mgrey\033[m", true, "\033[38;5;8mgrey\033[m");
    expect("\033[48;2;8;8;8mx\033[m", true, "\033[48;2;8;8;8mx\033[m");
    expect("\033[01;31m\033[Kgcc\033[m\033[K", true, "\033[01;31mgcc\033[m");
    expect("\033[32mopen", true, "\033[32mopen\033[0m");
}
END_TEST

START_TEST(harmless)
{
    expect("\033[8mhidden", true, "^[[8mhidden");
    expect("\033[1;8mhidden", true, "^[[1;8mhidden");
    expect("\033[2Jclear", true, "^[[2Jclear");
    expect("\033]0;title\a", true, "^[]0;title^G");
    expect("\033[31", true, "^[[31");
    expect("\033[?25l", true, "^[[?25l");
    expect("\033[1K", true, "^[[1K");
    expect("a\xff\xe2\x80\xae", true, "a\\xff\\u202e");
    expect("tab\tstays", true, "tab\tstays");
}
END_TEST

START_TEST(last_state)
{
    expect("10 %\r50 %\r100 %", true, "100 %");
    expect("10 %\r50 %\r", true, "50 %");
    expect("ends\r", true, "ends");
    expect("\r\r", true, "");
    expect("", true, "");
}
END_TEST

/* A color that continues in the next line. */
START_TEST(over_lines)
{
    char out[100];
    bool painted = false;
    size_t n = terminal_line(out, "\033[31mred", 8, true, &painted);
    ck_assert_uint_eq(n, 8);
    ck_assert(painted);
    n = terminal_line(out, "still", 5, true, &painted);
    ck_assert(painted);
    n = terminal_line(out, "\033[mover", 7, true, &painted);
    ck_assert_uint_eq(n, 7);
    ck_assert(!painted);
}
END_TEST

START_TEST(columns)
{
    char out[100];
    ck_assert_int_eq(text_columns("abc", 3), 3);
    ck_assert_int_eq(text_columns("h\xc3\xa9", 3), 2);
    ck_assert_int_eq(text_columns("\xe6\x97\xa5\xe6\x9c\xac", 6), 4);
    ck_assert_int_eq(text_columns("\xf0\x9f\x9a\x80", 4), 2);
    ck_assert_uint_eq(text_fitting("\xe6\x97\xa5\xe6\x9c\xac", 6, 3), 3);
    ck_assert_str_eq(columns_cut(out, "short", 5), "short");
    ck_assert_str_eq(columns_cut(out, "abcdefghij", 8), "abc..hij");
    ck_assert_str_eq(columns_cut(out, "abcdefghij", 7), "abc..ij");
    ck_assert_str_eq(columns_cut(out, "\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5", 5),
                     "\xe6\x97\xa5..");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("terminal_text");
    TCase *tests = tcase_create("terminal_text");
    tcase_add_test(tests, colors);
    tcase_add_test(tests, harmless);
    tcase_add_test(tests, last_state);
    tcase_add_test(tests, over_lines);
    tcase_add_test(tests, columns);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
