/* SPDX-License-Identifier: MIT */
/* Text of users in Markdown: what a parser of CommonMark would read differently is
 * escaped, and no more, so that it can be read as it is, too. */
#include "cli/markdown.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static char *text;
static size_t length;

static FILE *begin(void)
{
    FILE *file = open_memstream(&text, &length);
    ck_assert(file);
    return file;
}

static void expect(FILE *file, const char *wanted)
{
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_str_eq(text, wanted);
    free(text);
}

static void expect_words(const char *given, const char *wanted)
{
    FILE *file = begin();
    markdown_words(file, given);
    expect(file, wanted);
}

START_TEST(test_words)
{
    static const char *const same[] = {"",
                                       "plain text, with (brackets) and 3.5 - 2 = 1.5",
                                       "snake_case_name and a_b_c",
                                       "it's \"quoted\" at 50% & more",
                                       "a > b, c # d, e + f!",
                                       "1 2.",
                                       "a: b, c:/d, www, ww.x",
                                       "caf\xc3\xa9_ol\xc3\xa9"};
    static const struct {
        const char *given, *wanted;
    } escaped[] = {{"# heading", "\\# heading"},
                   {"- item", "\\- item"},
                   {"+ item", "\\+ item"},
                   {"> quoted", "\\> quoted"},
                   {"=== ", "\\==="},
                   {"---", "\\---"},
                   {"12. item", "12\\. item"},
                   {"12) item", "12\\) item"},
                   {"*bold* and __bold__", "\\*bold\\* and \\_\\_bold\\_\\_"},
                   {"[link](http://x)", "\\[link\\](http\\://x)"},
                   {"see https://x.y/z, ftp://x", "see https\\://x.y/z, ftp\\://x"},
                   {"at www.x.y", "at www\\.x.y"},
                   {"![image](x)", "!\\[image\\](x)"},
                   {"[x]: http://y", "\\[x\\]: http\\://y"},
                   {"<b>html</b> <!--", "\\<b>html\\</b> \\<!--"},
                   {"`code` ~~gone~~", "\\`code\\` \\~\\~gone\\~\\~"},
                   {"a | b", "a \\| b"},
                   {"|a|b|", "\\|a\\|b\\|"},
                   {"$x$ \\ &amp; &#35;", "\\$x\\$ \\\\ \\&amp; \\&#35;"},
                   {"    code", "code"},
                   {"two\nlines\tand  more  ", "two lines and  more"},
                   {"bell\a and \xff", "bell^G and \\\\xff"}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        expect_words(same[i], same[i]);
    for (size_t i = 0; i < sizeof escaped / sizeof escaped[0]; i++)
        expect_words(escaped[i].given, escaped[i].wanted);
}
END_TEST

START_TEST(test_lines)
{
    FILE *file = begin();
    markdown_lines(file, "first\n\n   \n  # second\n===\n\n", "  ", 3);
    expect(file, "first\n  \\# second\n  \\===");
    file = begin();
    markdown_lines(file, "a\nb\n\nc\nd\n", "> ", 2);
    expect(file, "a\n> b\n> (and 2 more lines)");
    file = begin();
    markdown_lines(file, "a\nb\n", "", 1);
    expect(file, "a\n(and 1 more line)");
    file = begin();
    markdown_lines(file, "\n \n", "  ", 2);
    expect(file, "");
}
END_TEST

START_TEST(test_block)
{
    static const char bytes[] = "one\n\n# two\n```\0\n</pre>\n";
    FILE *file = begin();
    markdown_block(file, bytes, sizeof bytes - 1, "    ", 10);
    expect(file, "    one\n\n    # two\n    ```^@\n    </pre>\n");
    file = begin();
    markdown_block(file, bytes, sizeof bytes - 1, "    ", 2);
    expect(file, "    ```^@\n    </pre>\n");
    file = begin();
    markdown_block(file, "no end", 6, "  ", 1);
    expect(file, "  no end\n");
    file = begin();
    markdown_block(file, "", 0, "  ", 1);
    expect(file, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("markdown");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_words);
    tcase_add_test(c, test_lines);
    tcase_add_test(c, test_block);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
