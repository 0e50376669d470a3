/* SPDX-License-Identifier: MIT */
/* Searching contents that come in parts: the lines are those that regexec finds in each
 * line by itself, wherever the parts end, and long lines are looked at in pieces. */
#include "snapshot/search.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <regex.h>
#include <stdlib.h>

static struct cairn_error failure;

struct noted {
    struct buf lines; /* "3:text|" */
    size_t n, stop, cut;
};

static int note(void *context, const struct search_hit *hit)
{
    struct noted *noted = context;
    buf_format(&noted->lines, "%llu:", (unsigned long long)hit->line);
    buf_str(&noted->lines, hit->text);
    buf_byte(&noted->lines, '|');
    noted->cut += hit->cut;
    return ++noted->n == noted->stop;
}

static int look(struct search_pattern *pattern, struct str text, size_t part,
                struct noted *noted)
{
    struct search search = {.pattern = pattern, .hit = note, .context = noted};
    int rc = 0;
    while (!rc && text.len) {
        size_t n = part < text.len ? part : text.len;
        rc = search_part(&search, (struct str){text.ptr, n}, &failure);
        text = (struct str){text.ptr + n, text.len - n};
    }
    if (!rc)
        rc = search_end(&search, &failure);
    search_release(&search);
    return rc;
}

/* Line by line. */
static void look_plainly(const char *expression, int flags, struct str text,
                         struct noted *noted)
{
    regex_t regex;
    uint64_t line = 0;
    ck_assert_int_eq(regcomp(&regex, expression, flags | REG_EXTENDED | REG_NOSUB), 0);
    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t n = end ? (size_t)(end - text.ptr) : text.len;
        char *copy = strndup(text.ptr, n);
        line++;
        if (regexec(&regex, copy, 0, NULL, 0) == 0) {
            struct search_hit hit = {.line = line, .text = {text.ptr, n}};
            note(noted, &hit);
        }
        free(copy);
        n += end != NULL;
        text = (struct str){text.ptr + n, text.len - n};
    }
    regfree(&regex);
}

static void compare(const char *expression, bool ignore_case, struct str text,
                    size_t part)
{
    struct search_pattern pattern;
    struct noted got = {.n = 0}, wanted = {.n = 0};
    ck_assert_int_eq(
        search_pattern_init(&pattern, str_of(expression), false, ignore_case, &failure),
        0);
    ck_assert_int_eq(look(&pattern, text, part, &got), 0);
    look_plainly(expression, ignore_case ? REG_ICASE : 0, text, &wanted);
    ck_assert_uint_eq(got.n, wanted.n);
    ck_assert(str_equal(buf_view(&got.lines), buf_view(&wanted.lines)));
    buf_release(&got.lines);
    buf_release(&wanted.lines);
    search_pattern_release(&pattern);
}

START_TEST(test_lines_are_those_of_regexec)
{
    static const char *const expressions[] = {"a", "^a",  "b$",   "^$",       "^",
                                              "$", "",    "a*",   "(ab)+c?$", "[^a]",
                                              ".", "^.b", "c.*a", "A",        "B$"};
    static const char letters[] = "aabbccAB\n\n";
    uint64_t seed = 7;
    for (int round = 0; round < 400; round++) {
        char text[300];
        size_t n = help_below(&seed, sizeof text);
        for (size_t i = 0; i < n; i++)
            text[i] = letters[help_below(&seed, sizeof letters - 1)];
        for (size_t e = 0; e < sizeof expressions / sizeof *expressions; e++)
            compare(expressions[e], round % 2, (struct str){text, n},
                    1 + help_below(&seed, 40));
    }
}
END_TEST

START_TEST(test_fixed_patterns)
{
    static const char text[] = "x[0] = 1\nX[0]\na.b*c\n\\ ^ $\n";
    static const struct {
        const char *pattern, *wanted;
        bool ignore_case;
    } cases[] = {{"x[0]", "1:x[0] = 1|", false},
                 {"x[0]", "1:x[0] = 1|2:X[0]|", true},
                 {".b*", "3:a.b*c|", false},
                 {".B*", "3:a.b*c|", true},
                 {"\\ ^ $", "4:\\ ^ $|", true},
                 {"", "1:x[0] = 1|2:X[0]|3:a.b*c|4:\\ ^ $|", false},
                 {"none", "", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct search_pattern pattern;
        struct noted noted = {.n = 0};
        ck_assert_int_eq(search_pattern_init(&pattern, str_of(cases[i].pattern), true,
                                             cases[i].ignore_case, &failure),
                         0);
        ck_assert_int_eq(look(&pattern, str_of(text), 5, &noted), 0);
        ck_assert(str_equal(buf_view(&noted.lines), str_of(cases[i].wanted)));
        buf_release(&noted.lines);
        search_pattern_release(&pattern);
    }
}
END_TEST

START_TEST(test_patterns_that_cannot_be_used)
{
    char text[SEARCH_PATTERN_MOST + 1];
    struct search_pattern pattern;
    memset(text, 'x', sizeof text);
    ck_assert_int_eq(search_pattern_init(&pattern, (struct str){text, sizeof text},
                                         true, false, &failure),
                     CAIRN_EUSAGE);
    ck_assert_int_eq(search_pattern_init(&pattern, STR("a\nb"), false, false, &failure),
                     CAIRN_EUSAGE);
    ck_assert_int_eq(search_pattern_init(&pattern, STR("("), false, false, &failure),
                     CAIRN_EUSAGE);
    search_pattern_release(&pattern);
}
END_TEST

/* What begins a piece is no beginning of a line, and a match in the overlap counts
 * once. */
START_TEST(test_long_lines)
{
    size_t n = 5 * (size_t)SEARCH_LINE_MOST;
    char *text = malloc(n);
    struct search_pattern pattern;
    struct noted noted = {.n = 0};
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', n);
    text[3] = '\n';
    memcpy(text + SEARCH_LINE_MOST - 3, "needle", 6); /* across the end of a piece */
    memcpy(text + n - 9, "\nneedle\n", 8);
    ck_assert_int_eq(
        search_pattern_init(&pattern, STR("needle"), false, false, &failure), 0);
    ck_assert_int_eq(look(&pattern, (struct str){text, n}, 100000, &noted), 0);
    ck_assert_uint_eq(noted.n, 2);
    ck_assert_uint_eq(noted.cut, 1);
    ck_assert_int_eq(memcmp(noted.lines.data, "2:", 2), 0);
    ck_assert_int_eq(memcmp(noted.lines.data + noted.lines.size - 9, "3:needle|", 9),
                     0);
    search_pattern_release(&pattern);
    noted.n = 0;
    ck_assert_int_eq(search_pattern_init(&pattern, STR("^x*$"), false, false, &failure),
                     0);
    ck_assert_int_eq(look(&pattern, (struct str){text, n}, n, &noted), 0);
    ck_assert_uint_eq(noted.n, 2); /* the first line, and the last */
    search_pattern_release(&pattern);
    buf_release(&noted.lines);
    free(text);
}
END_TEST

START_TEST(test_a_visit_stops)
{
    struct search_pattern pattern;
    struct noted noted = {.stop = 2};
    ck_assert_int_eq(search_pattern_init(&pattern, STR("a"), false, false, &failure),
                     0);
    ck_assert_int_eq(look(&pattern, STR("a\na\na\n"), 100, &noted), 1);
    ck_assert_uint_eq(noted.n, 2);
    search_pattern_release(&pattern);
    buf_release(&noted.lines);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("search");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, test_lines_are_those_of_regexec);
    tcase_add_test(c, test_fixed_patterns);
    tcase_add_test(c, test_patterns_that_cannot_be_used);
    tcase_add_test(c, test_long_lines);
    tcase_add_test(c, test_a_visit_stops);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
