/* SPDX-License-Identifier: MIT */
/* Expressions that are refused, with the place and the words; and the limits. */
#include "tests/support/expression.h"

/* ---- What is refused ---- */

START_TEST(test_refused)
{
    refused("", 0, 0, "the expression is empty");
    refused("  ", 2, 0, "the expression is empty");
    refused("a b", 2, 1, "an operator is missing");
    refused("a ==", 4, 0, "ends too early");
    refused("a == == b", 5, 1, "a value is missing before `=`");
    refused("&& a", 0, 1, "a value is missing before `&`");
    refused("()", 1, 1, "a value is missing before `)`");
    refused("(a", 0, 1, "has no `)`");
    refused("a)", 1, 1, "`)` without `(`");
    refused("a, b", 1, 1, "`,` is only allowed");
    refused("(a, b)", 2, 1, "`,` is only allowed");
    refused("a < b < c", 6, 1, "not chained");
    refused("a == b != c", 7, 2, "not chained");
    refused("a == !b == c", 8, 2, "not chained");
    refused("a = b", 2, 1, "is written ==");
    refused("a & b", 2, 1, "is written &&");
    refused("a and b", 2, 3, "is written &&");
    refused("a | b", 2, 1, "is written ||");
    refused("a or b", 2, 2, "is written ||");
    refused("a ! b", 2, 1, "is written !=");
    refused("a + b", 2, 1, "do not calculate");
    refused("a -1", 2, 1, "do not calculate");
    refused("a-b", 1, 1, "do not calculate");
    refused("\"a\"", 0, 1, "single quotes");
    refused("a == 'b", 5, 1, "no ' at its end");
    refused("'a''", 0, 1, "no ' at its end");
    refused("'", 0, 1, "no ' at its end");
    refused("a == \xc3\xa4", 5, 1, "the byte 0xc3");
    refused("a \x01", 2, 1, "the byte 0x01");
    refused("{a}", 0, 1, "a value is missing before `{`");
    refused("contains(a)", 0, 8, "two arguments");
    refused("default(a)", 0, 7, "two arguments: default(VALUE, INSTEAD)");
    refused("default()", 8, 1, "a value is missing");
    refused("contains(a,)", 11, 1, "a value is missing");
    refused("contains(a,b,c)", 12, 1, "two arguments");
    refused("contains(a, b", 0, 8, "has no `)`");
    refused("stem(a, b)", 6, 1, "one argument");
    refused("stem()", 5, 1, "a value is missing");
    refused("dirname(a", 0, 7, "has no `)`");
    refused("suffix(a)", 0, 6,
            "no function `suffix`: there are contains(TEXT, PART), default(VALUE, "
            "INSTEAD), "
            "basename(PATH), dirname(PATH), stem(PATH), replace(TEXT, FROM, TO), "
            "split(TEXT, AT), join(LIST, BETWEEN), sort(LIST) and len(LIST)");
    refused("replace(a,b)", 0, 7, "three arguments: replace(TEXT, FROM, TO)");
    refused("replace(a,b,c,d)", 13, 1, "three arguments");
    refused("len(a,b)", 5, 1, "one argument: len(LIST)");
    refused("1 < format(a)", 4, 6, "no function `format`");
    refused("true.x", 4, 1, "an operator is missing");
    refused("'a' 'b'", 4, 1, "an operator is missing");
    refused("'a'b", 3, 1, "an operator is missing");
}
END_TEST

START_TEST(test_refused_names)
{
    refused("params.", 0, 6, "needs a name");
    refused("params.3", 0, 6, "needs a name");
    refused("env. A", 0, 3, "needs a name");
    refused("params.a.b", 0, 8, "has nothing further");
    refused("part.a", 0, 4, "names begin with");
    refused("secrets.TOKEN", 0, 7, "`secrets` has nothing in it");
    refused("1 == run.foo", 5, 7, "`run.foo` is not known: there are run.id");
    refused("run.", 0, 3, "is not known");
    refused("run.id.x", 0, 6, "has nothing further");
    refused("tasks.a", 0, 7, "tasks.X.status, tasks.X.outputs.KEY or tasks.X.files");
    refused("tasks.a.b.status", 0, 9, "tasks['a.b']");
    refused("tasks.a.outputs", 0, 15, "the name of an output");
    refused("tasks.a.ports", 0, 13, "the name of a port");
    refused("tasks.a.port.x", 0, 12, "has nothing further");
    refused("tasks.a.outputs.9", 0, 15, "the name of an output");
    refused("tasks.a.outputs.k.x", 0, 17, "has nothing further");
    refused("tasks.a.outputs['k']", 0, 15, "the name of an output");
    refused("tasks.", 0, 5, "needs a task");
    refused("tasks[a].status", 0, 5, "needs a task");
    refused("tasks['a].status", 0, 5, "needs a task");
    refused("tasks[''].status", 0, 5, "needs a task");
    refused("tasks['", 0, 5, "needs a task");
    refused("tasks['a'", 0, 5, "needs a task");
    refused("tasks['a']", 0, 10, "must continue with");
    refused("tasks['a'].foo", 0, 14, "must continue with");
}
END_TEST

/* ---- Limits ---- */

/* before^n middle after^n */
static void nest(struct buf *out, const char *const parts[3], size_t n)
{
    buf_clear(out);
    for (size_t i = 0; i < n; i++)
        buf_text(out, parts[0]);
    buf_text(out, parts[1]);
    for (size_t i = 0; i < n; i++)
        buf_text(out, parts[2]);
}

static const char *const nests[][3] = {
    {"(", "1", ")"},
    {"!", "1", ""},
    {"default(gone,", "1", ")"},
    {"default(", "gone", ",1)"},
    {"contains(1,", "1", ")"},
    {"stem(", "'a'", ")"},
    {"sort(", "'a'", ")"},
    {"replace('x', 'y', ", "'a'", ")"},
    {"'x' == replace('x', 'y', ", "'a'", ")"},
    /* As much as can wait, on both stacks, at each level. */
    {"0||1&&1==contains(1,", "0||1&&1==1", ")"},
    {"0||1&&1==(", "0||1&&1==1", ")"},
};

static void too_deep(struct str text)
{
    const struct expression *expression;
    struct expression_error wrong;
    ck_assert_int_eq(parse(text, &expression, &wrong), CAIRN_EWORKFLOW);
    ck_assert_str_eq(wrong.text, "nested more than 64 deep");
}

START_TEST(test_depth)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < sizeof nests / sizeof nests[0]; i++) {
        struct value value;
        nest(&text, nests[i], LIMIT_EXPRESSION_DEPTH);
        ck_assert_int_eq(expression_evaluate(parsed(text.data), lookup, looked_up,
                                             &arena, &value, &error),
                         0);
        nest(&text, nests[i], LIMIT_EXPRESSION_DEPTH + 1);
        too_deep(buf_view(&text));
        nest(&text, nests[i], LIMIT_EXPRESSION_BYTES / 30);
        too_deep(buf_view(&text));
    }
    nest(&text, (const char *const[]){"(", "", ""}, 10000);
    expect_refused(buf_view(&text), LIMIT_EXPRESSION_DEPTH, 1, "nested more than 64");
    nest(&text, (const char *const[]){"!", "1", ""}, 10000);
    expect_refused(buf_view(&text), LIMIT_EXPRESSION_DEPTH, 1, "nested more than 64");
    /* What was left again does not count. */
    nest(&text, nests[0], LIMIT_EXPRESSION_DEPTH);
    buf_text(&text, " == ");
    for (int i = 0; i < LIMIT_EXPRESSION_DEPTH; i++)
        buf_text(&text, "!");
    buf_text(&text, "true || ((1))");
    expect(text.data, "btrue");
    buf_release(&text);
}
END_TEST

/* The stack is never more than full, and would be too small by one. */
START_TEST(test_stack)
{
    struct buf text = BUF_INIT;
    size_t most = 0, n = 0;
    nest(&text, (const char *const[]){"'1'==replace(1,'1',", "1==1", ")"},
         LIMIT_EXPRESSION_DEPTH);
    const struct expression *e = parsed(text.data);
    for (uint32_t i = 0; i < e->n; i++) {
        uint8_t of = e->code[i].operation;
        n = of <= OP_NAME ? n + 1 : n - (of == OP_REPLACE ? 2 : 1);
        most = n > most ? n : most;
    }
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_le(most, EXPRESSION_STACK);
    ck_assert_uint_ge(most + 1, EXPRESSION_STACK);
    buf_release(&text);
}
END_TEST

START_TEST(test_wide)
{
    struct buf text = BUF_INIT;
    buf_text(&text, "''");
    for (int i = 0; i < 2000; i++)
        buf_text(&text, i % 2 ? "&&''" : "||''");
    expect(text.data, "bfalse");
    buf_text(&text, "||a");
    expect_lazy(text.data, "btrue", "a");
    buf_release(&text);
}
END_TEST

START_TEST(test_size)
{
    struct buf text = BUF_INIT;
    buf_text(&text, "'");
    while (text.size < LIMIT_EXPRESSION_BYTES - 1)
        buf_byte(&text, 'x');
    buf_text(&text, "'");
    struct value value;
    ck_assert_int_eq(expression_evaluate(parsed(text.data), lookup, looked_up, &arena,
                                         &value, &error),
                     0);
    ck_assert_uint_eq(value.text.len, LIMIT_EXPRESSION_BYTES - 2);
    buf_text(&text, " ");
    expect_refused(buf_view(&text), 0, 0, "longer than 16384 bytes");
    while (text.size < 100000)
        buf_byte(&text, '(');
    expect_refused(buf_view(&text), 0, 0, "longer than 16384 bytes");
    buf_release(&text);
}
END_TEST

START_TEST(test_hostile)
{
    expect_refused((struct str){"a\0b", 3}, 1, 1, "the byte 0x00");
    expect_refused((struct str){"\0", 1}, 0, 1, "the byte 0x00");
    expect_refused((struct str){NULL, 0}, 0, 0, "empty");
    const struct expression *e;
    struct expression_error wrong;
    struct value value;
    ck_assert_int_eq(parse((struct str){"'a\0b'", 5}, &e, &wrong), 0);
    ck_assert_int_eq(expression_evaluate(e, lookup, looked_up, &arena, &value, &error),
                     0);
    ck_assert(str_equal(value.text, (struct str){"a\0b", 3}));
    refused("\xff\xfe", 0, 1, "the byte 0xff");
    expect("'$(rm -rf /)`x`' == '$(rm -rf /)`x`'", "btrue");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expression_errors");
    TCase *tests = tcase_create("expression_errors");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_refused_names);
    tcase_add_test(tests, test_depth);
    tcase_add_test(tests, test_stack);
    tcase_add_test(tests, test_wide);
    tcase_add_test(tests, test_size);
    tcase_add_test(tests, test_hostile);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
