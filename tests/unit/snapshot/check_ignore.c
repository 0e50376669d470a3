/* SPDX-License-Identifier: MIT */
/* Rules of .gitignore files, one by one. check_ignore_git.c holds random ones against
 * git itself. */
#include "snapshot/ignore.h"

#include "tests/support/suite.h"

static struct arena arena;

static void release(void)
{
    arena_release(&arena);
}

static struct ignore_rules parsed(struct str text)
{
    struct ignore_rules rules;
    ck_assert_int_eq(ignore_parse(&arena, text, &rules, NULL), 0);
    return rules;
}

static bool ignored(struct str text, const char *path, bool is_dir)
{
    struct ignore_level root = {.rules = parsed(text)};
    return ignore_matches(&root, str_of(path), is_dir);
}

/* `yes` and `no` are paths, between "|"; "d/" at the end is a directory. */
static void expect_all(const char *rules, const char *paths, bool expected)
{
    while (*paths) {
        size_t len = strcspn(paths, "|");
        char path[200];
        bool is_dir = len && paths[len - 1] == '/';
        snprintf(path, sizeof path, "%.*s", (int)(len - is_dir), paths);
        ck_assert_msg(ignored(str_of(rules), path, is_dir) == expected, "`%s` %s `%s`",
                      rules, expected ? "leaves" : "ignores", path);
        paths += len + (paths[len] == '|');
    }
}

static const struct {
    const char *rules, *yes, *no;
} cases[] = {
    /* without a slash: names at any depth */
    {"a", "a|a/|x/a|x/y/a/", "b|aa|A|a.o"},
    {"*.o", "a.o|.o|x/a.o|x.o/", "a.o.c|o|a.c"},
    {"a*", "a|ab|x/abc", "ba"},
    {"*", "a|.a|x/y", ""},
    {"a?c",
     "abc|a\xff"
     "c",
     "ac|abbc"},
    {"ab*ba", "abba|abxba", "aba|ab"},
    {"a**b", "ab|axb|x/a-b", "a/b"},
    /* a slash in front or inside: a path from the directory of the rules */
    {"/a", "a|a/", "x/a"},
    {"x/a", "x/a", "a|y/x/a|x/y/a"},
    {"x/*", "x/a|x/b/", "x|x/a/b"},
    {"x/*/b", "x/a/b", "x/b|x/a/a/b"},
    {"/*.c", "a.c", "x/a.c"},
    {"x/?", "x/a", "x//"},
    {"x[/]a", "", "x/a"},
    {"x[!y]a", "xba", "x/a|xya"},
    /* directories only */
    {"a/", "a/|x/a/", "a|x/a"},
    {"x/a/", "x/a/", "x/a|a/"},
    {"/", "", "a|a/"},
    {"//", "", "a|a/"},
    /* two stars */
    {"**/a", "a|x/a|x/y/a", "x/b|ba"},
    {"**/x/a", "x/a|y/x/a", "a|x/y/a|yx/a"},
    {"a/**", "a/b|a/b/c", "a|a/|b/a/c"},
    {"a/**/b", "a/b|a/x/b|a/x/y/b", "ab|a/xb|b/a/x/b"},
    {"**\\/a", "x/a|x/y/a", "a"},
    {"a/**b", "a/xb", "a/x/b"},
    {"/**/a", "a|x/a", "b"},
    {"**", "a|x/a|x/", ""},
    {"a/***/b", "a/b|a/x/y/b", "a/c"},
    {"**/*/b", "x/b|x/y/b", "b"},
    {"a**/b", "ab/x/b|a/b|ax/y/b", "b/a/b"}, /* not as gitignore(5) says */
    /* sets */
    {"[a-c]", "a|b|c", "d|-|[a-c]"},
    {"[a\\-c]", "a|-|c", "b"},
    {"[]a]", "]|a", "b"},
    {"[!]a]", "b|[", "]|a"},
    {"[^a]", "b|^", "a"},
    {"[a-]", "a|-", "b"},
    {"[a[:digit:]-f]", "a|1|-|f", "b"},
    {"[[:digit:]x]", "1|x", "y|[|:"},
    {"[[:upper:][:lower:]]", "a|Z", "1"},
    {"[[:nothing:]]", "", "n|[|:"},
    {"[[:]", "[|:", "]"},
    {"[a", "", "a|[a"},
    {"a[", "", "a|a["},
    {"[\xc3-\xc5]", "\xc4", "a|\xc6"},
    {"[z-a]", "z", "a|b"},
    /* backslashes */
    {"\\!a", "!a", "a|\\!a"},
    {"\\#a", "#a", "\\#a"},
    {"a\\*", "a*", "ab|a\\*"},
    {"\\a", "a", "\\a"},
    {"a\\", "", "a|a\\"},
    {"a\\\\", "a\\", "a"},
    {"a\\ ", "a ", "a|a\\ "},
    {"a\\ \\  ", "a  ", "a|a "},
    /* negation: the last one that matches */
    {"*.o\n!a.o", "b.o", "a.o"},
    {"!a.o\n*.o", "a.o", ""},
    {"*\n!a\na", "a|b", ""},
    {"*\n!*/\n!*.c", "a|b.o", "x/|a.c"},
    {"!", "", "a|!"},
    {"!!a", "", "a|!a"},
    /* what is no rule, and ends of lines */
    {"#a\n\n \nb", "b", "#a|a| |"},
    {"a  \nb\t", "a|b\t", "b|a  "},
    {"a\r\nb\r\r\n\r\nc\r", "a|b\r|c", "b|\r|c\r"},
    {"a \r\n", "a", "a "},
    {"\xef\xbb\xbf"
     "a",
     "a",
     "\xef\xbb\xbf"
     "a"},
    {"b\n\xef\xbb\xbf"
     "a",
     "\xef\xbb\xbf"
     "a",
     "a"},
    {" a", " a", "a"},
};

START_TEST(test_one_file_of_rules)
{
    expect_all(cases[_i].rules, cases[_i].yes, true);
    expect_all(cases[_i].rules, cases[_i].no, false);
}
END_TEST

START_TEST(test_bytes_of_nul_end_a_line)
{
    ck_assert(ignored(STR("ab\0c\nd"), "ab", false));
    ck_assert(ignored(STR("ab\0c\nd"), "d", false));
    ck_assert(ignored(STR("ab\0\\\nd"), "ab", false));
    ck_assert(!ignored(STR("\0a\n"), "a", false));
    ck_assert(!ignored(STR(""), "a", false));
}
END_TEST

/* Root, x/ and x/y/, the last with a .cairnignore on its .gitignore. */
START_TEST(test_the_deepest_level_decides)
{
    struct ignore_level root = {.rules = parsed(STR("*.o\n/top\nx/y/k\n"))},
                        x = {&root, STR("x"), parsed(STR("!keep.o\n/top\nz/q\n"))},
                        y = {&x, STR("x/y"), parsed(STR("keep.o\n!k\nlog\n"))},
                        own = {&y, STR("x/y"), parsed(STR("!log\n"))};
    ck_assert(ignore_matches(&root, STR("keep.o"), false));
    ck_assert(!ignore_matches(&x, STR("x/keep.o"), false));
    ck_assert(ignore_matches(&x, STR("x/other.o"), false));
    ck_assert(ignore_matches(&y, STR("x/y/keep.o"), false));
    ck_assert(ignore_matches(&y, STR("x/y/log"), false));
    ck_assert(!ignore_matches(&own, STR("x/y/log"), false));
    ck_assert(!ignore_matches(&own, STR("x/y/k"), false));
    ck_assert(ignore_matches(&x, STR("x/top"), false));
    ck_assert(!ignore_matches(&y, STR("x/y/top"), false));
    ck_assert(ignore_matches(&y, STR("x/z/q"), false));
    ck_assert(!ignore_matches(&y, STR("x/y/z/q"), false));
    ck_assert(!ignore_matches(NULL, STR("x"), true));
}
END_TEST

START_TEST(test_a_level_is_for_what_lies_below_it)
{
    struct ignore_level root = {.rules = parsed(STR("b\n"))},
                        x = {&root, STR("x"), parsed(STR("a\n!b\n"))};
    ck_assert(ignore_matches(&x, STR("x/a"), false));
    ck_assert(!ignore_matches(&x, STR("a"), false));
    ck_assert(!ignore_matches(&x, STR("xx/a"), false));
    ck_assert(!ignore_matches(&x, STR("x"), true));
    ck_assert(ignore_matches(&x, STR("y/b"), false));
    ck_assert(!ignore_matches(&x, STR("x/b"), false));
}
END_TEST

START_TEST(test_the_reason_is_told)
{
    struct ignore_level root = {.rules = parsed(STR("# no\n\n*.o\n\n*.c\n"))},
                        x = {&root, STR("x"), parsed(STR("[\n!a.o\n"))};
    const struct ignore_level *by = &x;
    bool wanted;
    ck_assert_uint_eq(ignore_reason(&by, STR("x/a.o"), false, &wanted), 2);
    ck_assert(by == &x && wanted);
    ck_assert_uint_eq(ignore_reason(&by, STR("x/a.c"), false, &wanted), 5);
    ck_assert(by == &root && !wanted);
    by = &x;
    ck_assert_uint_eq(ignore_reason(&by, STR("x/a"), false, &wanted), 0);
    ck_assert(!by && !wanted);
}
END_TEST

/* What takes a matcher that tries everything longer than the test may last. */
START_TEST(test_stars_take_no_time)
{
    struct buf rules = BUF_INIT, path = BUF_INIT;
    for (int i = 0; i < 500; i++)
        buf_text(&rules, "*a");
    buf_text(&rules, "*b\n");
    for (int i = 0; i < 200; i++)
        buf_text(&rules, "**/*a/");
    buf_text(&rules, "**/c\n");
    for (int i = 0; i < 2000; i++)
        buf_text(&path, i % 10 == 9 ? "/" : "a");
    ck_assert(!ignored(buf_view(&rules), path.data, false));
    buf_text(&path, "/c");
    ck_assert(ignored(buf_view(&rules), path.data, false));
    buf_clear(&path);
    for (int i = 0; i < 100000; i++)
        buf_byte(&path, 'a');
    ck_assert(!ignored(buf_view(&rules), path.data, false));
    buf_byte(&path, 'b');
    ck_assert(ignored(buf_view(&rules), path.data, false));
    buf_release(&rules);
    buf_release(&path);
}
END_TEST

START_TEST(test_memory_stays_near_the_size_of_the_file)
{
    static const char *const lines[] = {"a\n", "[a]", "\n", "#", "*", "[!]a]\n", "[["};
    for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
        struct buf rules = BUF_INIT;
        while (rules.size < 100000)
            buf_text(&rules, lines[k]);
        parsed(buf_view(&rules));
        ck_assert_msg(arena.total <= 50 * rules.size + (2 << 20), "`%s`: %zu", lines[k],
                      arena.total);
        arena_release(&arena);
        buf_release(&rules);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ignore");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, NULL, release);
    tcase_add_loop_test(c, test_one_file_of_rules, 0,
                        (int)(sizeof cases / sizeof cases[0]));
    tcase_add_test(c, test_bytes_of_nul_end_a_line);
    tcase_add_test(c, test_the_deepest_level_decides);
    tcase_add_test(c, test_a_level_is_for_what_lies_below_it);
    tcase_add_test(c, test_the_reason_is_told);
    tcase_add_test(c, test_stars_take_no_time);
    tcase_add_test(c, test_memory_stays_near_the_size_of_the_file);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
