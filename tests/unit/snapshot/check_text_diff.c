/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* Edits: they make one text the other, and are no more than are needed. */
#include "snapshot/diff.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static uint64_t seed, first_seed; /* of the round */

/* What the edits make of `a`, and whether their spans say the same in lines and bytes.
 */
static void expect_edits_make(struct str a, struct str b, const struct text_diff *diff)
{
    struct buf made = BUF_INIT;
    size_t at = 0, line_a = 0, line_b = 0, removed = 0, added = 0;
    for (size_t i = 0; i < diff->n; i++) {
        struct text_span from = diff->edits[i].a, to = diff->edits[i].b;
        ck_assert(from.lines || to.lines);
        ck_assert(from.at >= at && from.end >= from.at && to.end >= to.at);
        ck_assert(i == 0 || from.at > at);
        for (; at < from.at; line_a++, line_b++) {
            struct str line = {a.ptr + at, from.at - at};
            line.len = text_line_length(line);
            buf_str(&made, line);
            at += line.len;
        }
        ck_assert(from.line == line_a && to.line == line_b && to.at == made.size);
        if (to.lines)
            buf_add(&made, b.ptr + to.at, to.end - to.at);
        at = from.end;
        line_a += from.lines;
        line_b += to.lines;
        removed += from.lines;
        added += to.lines;
    }
    if (at < a.len)
        buf_add(&made, a.ptr + at, a.len - at);
    ck_assert_msg(str_equal(buf_view(&made), b), "seed %llu: no",
                  (unsigned long long)first_seed);
    ck_assert(removed == diff->removed && added == diff->added);
    buf_release(&made);
}

static size_t split(struct str text, struct str *lines)
{
    size_t n = 0;
    while (text.len) {
        lines[n] = (struct str){text.ptr, text_line_length(text)};
        text.ptr += lines[n].len;
        text.len -= lines[n++].len;
    }
    return n;
}

enum { SMALL = 200 };

/* The lines that both have in the same order, at most: by a table. */
static size_t longest_common(struct str a, struct str b)
{
    static size_t table[SMALL + 1][SMALL + 1];
    static struct str in_a[SMALL], in_b[SMALL];
    size_t n = split(a, in_a), m = split(b, in_b);
    for (size_t i = n + 1; i-- > 0;)
        for (size_t j = m + 1; j-- > 0;) {
            size_t *most = &table[i][j];
            *most = 0;
            if (i < n && table[i + 1][j] > *most)
                *most = table[i + 1][j];
            if (j < m && table[i][j + 1] > *most)
                *most = table[i][j + 1];
            if (i < n && j < m && str_equal(in_a[i], in_b[j]))
                *most = table[i + 1][j + 1] + 1;
        }
    return n + m - 2 * table[0][0];
}

static const char *const lines[] = {"a\n",    "b\n", "\n",  "c\r\n", "}\n", "d d\n",
                                    "\xff\n", "e\n", "f\n", "g\n",   "h\n", "i\n"};

static void add_lines(struct buf *text, uint32_t many, uint32_t kinds)
{
    while (many-- > 0)
        buf_text(text, lines[help_below(&seed, kinds)]);
}

static void random_text(struct buf *text, uint32_t kinds)
{
    add_lines(text, help_below(&seed, SMALL / 2), kinds);
    if (help_below(&seed, 3) == 0)
        buf_text(text, help_below(&seed, 2) ? "a" : "z");
}

/* A copy, of which some parts are left out and some are put in. */
static void change(struct str from, struct buf *to, uint32_t kinds)
{
    static struct str in[SMALL];
    size_t n = split(from, in);
    uint32_t rare = 1 + help_below(&seed, 12);
    for (size_t i = 0; i < n; i++) {
        if (to->size < SMALL && help_below(&seed, rare) == 0)
            add_lines(to, help_below(&seed, 4), kinds);
        if (help_below(&seed, rare) != 0 || rare == 1)
            buf_str(to, in[i]);
    }
}

START_TEST(test_random_texts)
{
    int rounds = help_rounds(1000, 100000);
    for (int round = 0; round < rounds; round++) {
        struct buf a = BUF_INIT, b = BUF_INIT;
        struct text_diff diff;
        seed = first_seed = (uint64_t)round + 1;
        uint32_t kinds = 1 + help_below(&seed, 12);
        random_text(&a, kinds);
        if (help_below(&seed, 3) == 0)
            random_text(&b, kinds);
        else
            change(buf_view(&a), &b, kinds);
        ck_assert_int_eq(text_diff(buf_view(&a), buf_view(&b), &diff, NULL), 0);
        expect_edits_make(buf_view(&a), buf_view(&b), &diff);
        ck_assert_uint_eq(diff.removed + diff.added,
                          longest_common(buf_view(&a), buf_view(&b)));
        text_diff_release(&diff);
        buf_release(&a);
        buf_release(&b);
    }
}
END_TEST

/* The edits as "2-3:4-" (lines 2 and 3 have become line 4 of the other), from 1. */
static void expect(const char *a, const char *b, const char *edits)
{
    struct buf said = BUF_INIT;
    struct text_diff diff;
    ck_assert_int_eq(text_diff(str_of(a), str_of(b), &diff, NULL), 0);
    expect_edits_make(str_of(a), str_of(b), &diff);
    for (size_t i = 0; i < diff.n; i++) {
        struct text_span x = diff.edits[i].a, y = diff.edits[i].b;
        buf_format(&said, "%s%zu+%zu:%zu+%zu", i ? " " : "", x.line + 1, x.lines,
                   y.line + 1, y.lines);
    }
    ck_assert_str_eq(said.data ? said.data : "", edits);
    text_diff_release(&diff);
    buf_release(&said);
}

START_TEST(test_edits)
{
    expect("", "", "");
    expect("a\n", "a\n", "");
    expect("a", "a", "");
    expect("", "a\n", "1+0:1+1");
    expect("a\nb\n", "", "1+2:1+0");
    expect("a\nb\nc\n", "a\nx\nc\n", "2+1:2+1");
    expect("a\nb\nc\n", "b\nc\nd\n", "1+1:1+0 4+0:3+1");
    expect("a", "a\n", "1+1:1+1");
    expect("a\nb", "a\nb\nc", "2+1:2+2");
    expect("a\nab\n", "b\nab\n", "1+1:1+1");
    expect("a\r\nb\n", "a\nb\n", "1+1:1+1");
    expect("\n\n", "\n", "2+1:2+0");
}
END_TEST

/* A whole function, not the end of one and the beginning of the next. */
START_TEST(test_what_comes_stands_as_late_as_it_can)
{
    expect("f {\n}\n\nh {\n}\nx\n", "f {\n}\n\ng {\n}\n\nh {\n}\ny\n",
           "4+0:4+3 6+1:9+1");
    expect("f {\n}\n\ng {\n}\n\nh {\n}\ny\n", "f {\n}\n\nh {\n}\nx\n",
           "4+3:4+0 9+1:6+1");
    expect("p\na\nb\nq\n", "r\na\nb\na\nb\ns\n", "1+1:1+1 4+1:4+3");
    expect("d\na\nc\nd\nb\na\n", "a\nc\nd\nd\nb\nc\na\n", "1+1:1+0 5+0:4+1 6+0:6+1");
    expect("b\na\nc\nc\nd\nc\n", "c\na\nc\nd\nb\na\nc\n", "1+1:1+1 4+1:4+0 6+0:5+2");
}
END_TEST

/* Edits that come to touch are one. */
START_TEST(test_what_touches_is_joined)
{
    expect("c\nb\na\na\n", "a\nb\na\nd\n", "1+1:1+1 4+1:4+1");
    expect("b\na\nc\n", "a\na\nx\nb\na\na\n", "1+0:1+3 3+1:6+1");
    expect("a\na\nd\nd\nb\nb\n", "b\nc\na\nd\n", "1+1:1+2 4+3:5+0");
    expect("d\na\nb\nc\n", "b\nc\nc\nb\nd\nd\n", "1+2:1+0 5+0:3+4");
}
END_TEST

static struct buf many_lines(uint32_t many, uint32_t kinds)
{
    struct buf text = BUF_INIT;
    while (many-- > 0)
        buf_format(&text, "%u\n", help_below(&seed, kinds));
    return text;
}

static void diff_many(uint32_t many, uint32_t kinds_a, uint32_t kinds_b)
{
    struct text_diff diff;
    many /= (uint32_t)help_stride();
    struct buf a = many_lines(many, kinds_a), b = many_lines(many, kinds_b);
    ck_assert_int_eq(text_diff(buf_view(&a), buf_view(&b), &diff, NULL), 0);
    expect_edits_make(buf_view(&a), buf_view(&b), &diff);
    text_diff_release(&diff);
    buf_release(&a);
    buf_release(&b);
}

/* Without a bound, the last of these would take an hour. */
START_TEST(test_large_texts_take_a_bounded_time)
{
    static const uint32_t kinds[] = {2, 1000, UINT32_MAX};
    seed = first_seed = 7;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        diff_many(100000, kinds[i], kinds[i]);
    diff_many(100000, 3, 100);
    diff_many(1000000, 1000, 1000);
}
END_TEST

/* The documented size up to which edits are as few as possible: 15,000 lines each. */
START_TEST(test_the_least_of_many_lines)
{
    enum { MOST = 15000, KINDS = 40 };
    static uint8_t x[MOST], y[MOST];
    static uint32_t common[MOST + 1]; /* with the lines of `a` from i on */
    struct buf a = BUF_INIT, b = BUF_INIT;
    struct text_diff diff;
    size_t many = MOST / (size_t)help_stride();
    seed = first_seed = 9;
    for (size_t i = 0; i < many; i++) {
        x[i] = (uint8_t)help_below(&seed, KINDS);
        y[i] = (uint8_t)help_below(&seed, KINDS);
        buf_format(&a, "%u\n", x[i]);
        buf_format(&b, "%u\n", y[i]);
    }
    for (size_t i = many; i-- > 0;)
        for (size_t j = many, before = 0; j-- > 0;) {
            size_t below = common[j];
            if (x[i] == y[j])
                common[j] = (uint32_t)before + 1;
            else if (common[j + 1] > common[j])
                common[j] = common[j + 1];
            before = below;
        }
    ck_assert_int_eq(text_diff(buf_view(&a), buf_view(&b), &diff, NULL), 0);
    ck_assert_uint_eq(diff.removed, many - common[0]);
    ck_assert_uint_eq(diff.added, many - common[0]);
    text_diff_release(&diff);
    buf_release(&a);
    buf_release(&b);
}
END_TEST

/* The same lines turned around, and moved. */
START_TEST(test_large_texts_in_another_order)
{
    enum { MANY = 100000 };
    struct buf a = BUF_INIT, b = BUF_INIT, c = BUF_INIT;
    struct text_diff diff;
    for (unsigned i = 0; i < MANY; i++) {
        buf_format(&a, "%u\n", i);
        buf_format(&b, "%u\n", MANY - i);
        buf_format(&c, "%u\n", (i + MANY / 2) % MANY);
    }
    ck_assert_int_eq(text_diff(buf_view(&a), buf_view(&b), &diff, NULL), 0);
    expect_edits_make(buf_view(&a), buf_view(&b), &diff);
    text_diff_release(&diff);
    ck_assert_int_eq(text_diff(buf_view(&a), buf_view(&c), &diff, NULL), 0);
    expect_edits_make(buf_view(&a), buf_view(&c), &diff);
    text_diff_release(&diff);
    buf_release(&a);
    buf_release(&b);
    buf_release(&c);
}
END_TEST

/* A large text with few edits has few edits. */
START_TEST(test_few_edits_of_a_large_text)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    struct text_diff diff;
    for (unsigned i = 0; i < 300000; i++) {
        buf_format(&a, "%u\n", i % 1000);
        if (i % 10000 != 5000)
            buf_format(&b, "%u\n", i % 1000);
        if (i % 10000 == 7000)
            buf_text(&b, "new\n");
    }
    ck_assert_int_eq(text_diff(buf_view(&a), buf_view(&b), &diff, NULL), 0);
    expect_edits_make(buf_view(&a), buf_view(&b), &diff);
    ck_assert_uint_eq(diff.removed, 30);
    ck_assert_uint_eq(diff.added, 30);
    text_diff_release(&diff);
    buf_release(&a);
    buf_release(&b);
}
END_TEST

/* With as many lines between the first and the last edit, and with one more. */
static size_t edits_among(size_t many)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    struct text_diff diff;
    buf_text(&a, "same\n");
    buf_text(&b, "same\n");
    size_t in_a = many / 2, in_b = many - in_a;
    for (size_t i = 0; i < in_a; i++)
        buf_text(&a, i == 0 || i == in_a - 1 ? "a\n" : "\n");
    for (size_t i = 0; i < in_b; i++)
        buf_text(&b, i == 0 || i == in_b - 1 ? "b\n" : "\n");
    buf_text(&a, "same\n");
    buf_text(&b, "same\n");
    ck_assert_int_eq(text_diff(buf_view(&a), buf_view(&b), &diff, NULL), 0);
    expect_edits_make(buf_view(&a), buf_view(&b), &diff);
    size_t n = diff.n;
    text_diff_release(&diff);
    buf_release(&a);
    buf_release(&b);
    return n;
}

START_TEST(test_too_many_lines_are_one_edit)
{
    ck_assert_uint_eq(edits_among(TEXT_LINES_MOST), 2);
    ck_assert_uint_eq(edits_among(TEXT_LINES_MOST + 1), 1);
}
END_TEST

START_TEST(test_binary)
{
    char bytes[8001];
    memset(bytes, 'a', sizeof bytes);
    bytes[8000] = 0;
    ck_assert(!text_is_binary((struct str){bytes, 8001}));
    bytes[7999] = 0;
    ck_assert(text_is_binary((struct str){bytes, 8001}));
    ck_assert(!text_is_binary((struct str){bytes, 7999}));
    ck_assert(!text_is_binary((struct str){NULL, 0}));
    ck_assert(text_is_binary(STR("\0")));
}
END_TEST

struct visit {
    struct buf said;
    int calls; /* until one fails */
};

static int say_hunk(void *context, const struct text_hunk *hunk,
                    struct cairn_error *error)
{
    struct visit *visit = context;
    buf_format(&visit->said, "@%zu,%zu,%zu,%zu", hunk->a_first, hunk->a_lines,
               hunk->b_first, hunk->b_lines);
    return --visit->calls ? 0 : error_set(error, CAIRN_EIO, "enough");
}

static int say_line(void *context, enum text_line kind, struct str line,
                    struct cairn_error *error)
{
    struct visit *visit = context;
    buf_byte(&visit->said, (uint8_t)kind);
    buf_byte(&visit->said, (uint8_t)line.ptr[0]);
    return --visit->calls ? 0 : error_set(error, CAIRN_EIO, "enough");
}

static int visit_texts(const char *a, const char *b, size_t around, struct visit *visit,
                       struct cairn_error *error)
{
    const struct text_visitor visitor = {visit, say_hunk, say_line};
    struct text_diff diff;
    ck_assert_int_eq(text_diff(str_of(a), str_of(b), &diff, NULL), 0);
    int rc = text_hunks(str_of(a), str_of(b), &diff, around, &visitor, error);
    text_diff_release(&diff);
    return rc;
}

static void expect_hunks(const char *a, const char *b, size_t around, const char *said)
{
    struct visit visit = {.calls = -1};
    ck_assert_int_eq(visit_texts(a, b, around, &visit, NULL), 0);
    ck_assert_str_eq(visit.said.data ? visit.said.data : "", said);
    buf_release(&visit.said);
}

START_TEST(test_hunks)
{
    const char *ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n0\n";
    expect_hunks(ten, ten, 3, "");
    expect_hunks("", "a\n", 3, "@0,0,1,1+a");
    expect_hunks("a\n", "", 3, "@1,1,0,0-a");
    expect_hunks(ten, "1\n2\n3\n4\nx\n6\n7\n8\n9\n0\n", 1, "@4,3,4,3 4-5+x 6");
    expect_hunks(ten, "1\n2\n3\n4\nx\n6\n7\n8\n9\n0\n", 0, "@5,1,5,1-5+x");
    expect_hunks(ten, "1\n2\n3\n4\n6\n7\n8\n9\n0\n", 0, "@5,1,4,0-5");
    expect_hunks(ten, "1\n2\n3\n4\n5\nx\n6\n7\n8\n9\n0\n", 0, "@5,0,6,1+x");
    expect_hunks(ten, "x\n2\n3\n4\ny\n6\n7\n8\n9\n0\n", 1,
                 "@1,2,1,2-1+x 2@4,3,4,3 4-5+y 6");
    expect_hunks(ten, "x\n2\n3\ny\n5\n6\n7\n8\n9\n0\n", 1, "@1,5,1,5-1+x 2 3-4+y 5");
    expect_hunks(ten, "x\n2\n3\n4\n5\n6\n7\n8\n9\nx", SIZE_MAX,
                 "@1,10,1,10-1+x 2 3 4 5 6 7 8 9-0+x");
}
END_TEST

START_TEST(test_an_error_of_the_visitor_ends_the_visit)
{
    for (int calls = 1; calls <= 5; calls++) {
        struct visit visit = {.calls = calls};
        struct cairn_error error = {0};
        int rc = visit_texts("1\n2\n3\n", "1\nx\n3\n", 1, &visit, &error);
        ck_assert_int_eq(rc, CAIRN_EIO);
        ck_assert_str_eq(error.text, "enough");
        ck_assert_int_eq(visit.calls, 0);
        buf_release(&visit.said);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_diff");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, test_random_texts);
    tcase_add_test(c, test_edits);
    tcase_add_test(c, test_what_comes_stands_as_late_as_it_can);
    tcase_add_test(c, test_what_touches_is_joined);
    tcase_add_test(c, test_large_texts_take_a_bounded_time);
    tcase_add_test(c, test_the_least_of_many_lines);
    tcase_add_test(c, test_large_texts_in_another_order);
    tcase_add_test(c, test_few_edits_of_a_large_text);
    tcase_add_test(c, test_too_many_lines_are_one_edit);
    tcase_add_test(c, test_binary);
    tcase_add_test(c, test_hunks);
    tcase_add_test(c, test_an_error_of_the_visitor_ends_the_visit);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
