/* SPDX-License-Identifier: MIT */
/* Expressions in linear time: which are refused and what they match is what the C
 * library says, for random ones; and those that the C library cannot end. */
#include "snapshot/search.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <regex.h>
#include <stdlib.h>
#include <sys/resource.h>

static struct cairn_error failure;

/* 1, 0, or an error. */
static int find(const char *expression, bool ignore_case, struct str text)
{
    struct matcher m;
    size_t at;
    int rc = matcher_init(&m, str_of(expression), ignore_case, &failure);
    if (!rc)
        rc = matcher_find(&m, text, true, true, &at, &failure);
    matcher_release(&m);
    return rc;
}

static void compare(const char *expression, bool ignore_case, const char *text)
{
    regex_t regex;
    int code = regcomp(&regex, expression,
                       REG_EXTENDED | REG_NEWLINE | (ignore_case ? REG_ICASE : 0));
    int found = find(expression, ignore_case, str_of(text));
    if (code) {
        ck_assert_msg(found < 0, "'%s' is not an expression, but is taken", expression);
        return;
    }
    ck_assert_msg(found >= 0, "'%s': %s", expression, failure.text);
    int wanted = regexec(&regex, text, 0, NULL, 0) == 0;
    ck_assert_msg(found == wanted, "'%s' in '%s': %d, not %d", expression, text, found,
                  wanted);
    regfree(&regex);
}

START_TEST(test_random_expressions_are_those_of_the_library)
{
    static const char *const pieces[] = {
        "a",       "b",        "c",           "A",           "_",
        " ",       ".",        "[ab]",        "[^a]",        "*",
        "+",       "?",        "{2}",         "{1,3}",       "{,2}",
        "{2,}",    "{0}",      "(",           ")",           "|",
        "(",       ")",        "|",           "^",           "$",
        "\\<",     "\\>",      "\\b",         "\\B",         "\\w",
        "\\W",     "\\s",      "\\S",         "\\.",         "[]a]",
        "[a-c]",   "[^]a]",    "[b-]",        "[[:alpha:]]", "[[:space:]_]",
        "[[=a=]]", "[[.-.]b]", "[",           "]",           "{",
        "}",       "-",        "[^[:upper:]]"};
    enum { PIECES = sizeof pieces / sizeof *pieces };
    static const char letters[] = "aabbcA_ .";
    uint64_t seed = 11;
    for (int round = 0; round < 30000; round++) {
        struct buf expression = BUF_INIT;
        char text[40];
        size_t n = 1 + help_below(&seed, 9), length = help_below(&seed, sizeof text);
        for (size_t i = 0; i < n; i++) /* the last ones seldom: most are refused */
            buf_str(
                &expression,
                str_of(pieces[help_below(&seed, help_below(&seed, 8) ? 41 : PIECES)]));
        buf_byte(&expression, 0);
        for (size_t i = 0; i < length; i++)
            text[i] = letters[help_below(&seed, sizeof letters - 1)];
        text[length ? length - 1 : 0] = 0;
        compare(expression.data, round % 2, text);
        buf_release(&expression);
    }
}
END_TEST

START_TEST(test_what_is_refused_is_named)
{
    static const struct {
        const char *expression, *text;
    } cases[] = {{"a(b", "a ( is not closed (at byte 4)"},
                 {"a[b", "a [ is not closed"},
                 {"*a", "nothing before it that can be repeated (at byte 1)"},
                 {"a{2,1}", "{ begins a number of times"},
                 {"a\\", "a \\ is last"},
                 {"[[:alfa:]]", "no such class"},
                 {"[b-a]", "a range ends before it begins"},
                 {"(a)\\1", "back-reference (\\1, at byte 4)"},
                 {"((a{100}){100}){100}", "too large: more than 5000 parts"},
                 {"a{40000}", "too large"},
                 {"(((a{50}){50}){50}){50}", "too large"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        failure.text[0] = 0;
        ck_assert_int_eq(find(cases[i].expression, false, STR("a")), CAIRN_EUSAGE);
        ck_assert_msg(strstr(failure.text, cases[i].text), "%s", failure.text);
    }
}
END_TEST

/* The C library needs 2^n states for these, or comes back to each of 2^n ways. */
START_TEST(test_hard_expressions_end)
{
    static const char *const expressions[] = {
        "(a|b)*a(a|b){20}$c",   "((a*)*)*c",         "(a|a)*c",
        "(a*a*a*a*a*a*a*a*)*c", "(.*)(.*)(.*)(.*)c", "(a|b|ab)*bc",
        "((a|b){0,20}){0,40}c", "[ab]*a[ab]{400}c"};
    enum { BYTES = 1 << 15 };
    char *text = malloc(BYTES);
    uint64_t seed = 3;
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < BYTES; i++)
        text[i] = "ab"[help_below(&seed, 2)];
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        ck_assert_int_eq(find(expressions[i], false, (struct str){text, BYTES}), 0);
    ck_assert_int_eq(find("(a|b)*a(a|b){14}$", false, (struct str){text, BYTES}),
                     text[BYTES - 15] == 'a');
    free(text);
}
END_TEST

START_TEST(test_steps_have_a_limit)
{
    struct matcher m;
    size_t at;
    ck_assert_int_eq(matcher_init(&m, STR("[ab]*a[ab]{20}c"), false, &failure), 0);
    m.steps = MATCHER_STEPS;
    ck_assert_int_eq(matcher_find(&m, STR("abab"), true, true, &at, &failure),
                     CAIRN_ELIMIT);
    matcher_release(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("matcher");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, test_random_expressions_are_those_of_the_library);
    tcase_add_test(c, test_what_is_refused_is_named);
    tcase_add_test(c, test_hard_expressions_end);
    tcase_add_test(c, test_steps_have_a_limit);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
