/* SPDX-License-Identifier: MIT */
/* Expressions: what they mean, numbers, the names in them. check_expression_errors.c
 * has what is refused. */
#include "tests/support/expression.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

/* ---- Meaning ---- */

START_TEST(test_values)
{
    expect("'a'", "ta");
    expect("''", "t");
    expect("'it''s'", "tit's");
    expect("''''", "t'");
    expect("''''''", "t''");
    expect("'}} \" ${{ \xff\n'", "t}} \" ${{ \xff\n");
    expect(" \t\r\n5 ", "n5");
    expect("true", "btrue");
    expect("false", "bfalse");
    expect("(((5)))", "n5");
    expect("part", "tpart");
    expect("trueish", "ttrueish");
    expect("params.day", "tday");
    expect("env.HOME_2", "tHOME_2");
    expect("run.id", "t");
    expect("run.status", "t");
    expect("run.attempt", "n3");
    expect("tasks.a-b_2.status", "ta-b_2");
    expect("tasks.3.outputs.rows", "trows");
    expect("tasks['a.b'].status", "ta.b");
    expect("tasks['a.b'].outputs.rows", "trows");
    expect("tasks.status.status", "tstatus");
    expect("tasks.outputs.outputs.outputs", "toutputs");
    expect("gone", "m");
    /* Words of the language are only that where they can be. */
    expect("run", "trun");
    expect("params", "tparams");
    expect("tasks", "ttasks");
    expect("contains == 'contains' && default == 'default'", "btrue");
}
END_TEST

START_TEST(test_precedence)
{
    expect("false && false || true", "btrue");
    expect("true || false && false", "btrue");
    expect("(true || false) && false", "bfalse");
    expect("1 == 2 || 2 == 2", "btrue");
    expect("1 == 1 && 2 == 1", "bfalse");
    expect("!true || true", "btrue");
    expect("!(true || true)", "bfalse");
    expect("!'' == true", "btrue"); /* (!'') == true; !('' == true) is true, too */
    expect("!5 == 5", "bfalse");    /* (!5) == 5; !(5 == 5) is false, too */
    expect("!5 == false", "btrue"); /* !(5 == false) is true; (!5) == false as well */
    expect("!0 == 0", "bfalse");    /* (!0) == 0: true == 0 */
    expect("!0 != 0", "btrue");     /* !(0 != 0) is true */
    expect("!5 != 5", "btrue");     /* (!5) != 5; !(5 != 5) is true */
    expect("5 == !true", "bfalse");
    expect("!!'x'", "btrue");
    expect("! ! !'x'", "bfalse");
    expect("(1 < 2) == true", "btrue");
    expect("true == (2 < 1)", "bfalse");
    expect("1<2&&2<3||'a'=='b'", "btrue");
    expect("default(gone, 1) < default(gone, 2)", "btrue");
}
END_TEST

/* Beyond what a double tells apart. */
START_TEST(test_large_whole_numbers)
{
    expect("'1234567890123456789' == 1234567890123456788", "bfalse");
    expect("1234567890123456789 > 1234567890123456788", "btrue");
    expect("'-1234567890123456789' < -1234567890123456788", "btrue");
    expect("'98765432109876543210' != 98765432109876543211", "btrue");
    expect("9007199254740993 <= 9007199254740992", "bfalse");
    expect("'007' == 7 && '-0' == 0 && '00' <= -0", "btrue");
    expect("-1 < 0 && -10 < -9 && 10 > 9 && 1 > -2", "btrue");
    expect("contains(1234567890123456789, '6789')", "btrue");
    expect("contains(-09007199254740993, '-9007199254740993')", "btrue");
    expect("'1.0' == 1 && 1e3 == 1000 && '0.5' < 1", "btrue");
}
END_TEST

START_TEST(test_truth)
{
    expect("'' || ''", "bfalse");
    expect("'false' || 0", "bfalse");
    expect("0.0 || -0", "bfalse");
    expect("false || 'False'", "btrue");
    expect("false || '0'", "btrue");
    expect("false || -0.5", "btrue");
    expect("!''", "btrue");
    expect("!'false'", "btrue");
    expect("!0", "btrue");
    expect("!'true'", "bfalse");
}
END_TEST

START_TEST(test_lazy)
{
    expect_lazy("a && b", "btrue", "a b");
    expect_lazy("empty && broken", "bfalse", "empty");
    expect_lazy("a || broken", "btrue", "a");
    expect_lazy("empty || a", "btrue", "empty a");
    expect_lazy("empty && broken && broken || a", "btrue", "empty a");
    expect_lazy("a || broken && gone < 3", "btrue", "a");
    expect_lazy("default(a, broken)", "ta", "a");
    expect_lazy("default(gone, a)", "ta", "gone a");
    expect_lazy("default(gone, default(gone, 'x'))", "tx", "gone gone");
    expect_lazy("default(a && empty, broken)", "bfalse", "a empty");
    expect_lazy("a == b", "bfalse", "a b");
    struct value value;
    int result = expression_evaluate(parsed("a == broken"), lookup, looked_up, &arena,
                                     &value, &error);
    ck_assert_int_eq(result, CAIRN_EIO);
    ck_assert_str_eq(error.text, "broken");
}
END_TEST

/* Rows: the left side; columns: the right one. t, f, or e: an error. */
static const char *const operands[] = {"'5'", "'true'", "5", "7", "true", "gone"};
enum { OPERANDS = sizeof operands / sizeof operands[0] };
static const struct table {
    const char *before, *between, *after;
    const char *rows[OPERANDS];
} tables[] = {
    {"", "==", "", {"tftfff", "ftfftf", "tftfff", "ffftff", "ftfftf", "ffffft"}},
    {"", "!=", "", {"ftfttt", "tfttft", "ftfttt", "tttftt", "tfttft", "tttttf"}},
    {"", "<", "", {"feftee", "eeeeee", "feftee", "feffee", "eeeeee", "eeeeee"}},
    {"", ">", "", {"feffee", "eeeeee", "feffee", "tetfee", "eeeeee", "eeeeee"}},
    {"", "<=", "", {"tettee", "eeeeee", "tettee", "feftee", "eeeeee", "eeeeee"}},
    {"", ">=", "", {"tetfee", "eeeeee", "tetfee", "tettee", "eeeeee", "eeeeee"}},
    {"", "&&", "", {"ttttte", "ttttte", "ttttte", "ttttte", "ttttte", "eeeeee"}},
    {"", "||", "", {"tttttt", "tttttt", "tttttt", "tttttt", "tttttt", "eeeeee"}},
    {"contains(",
     ",",
     ")",
     {"tftffe", "ftffte", "tftffe", "ffftfe", "ftffte", "eeeeee"}},
};

START_TEST(test_pairs)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (size_t left = 0; left < OPERANDS; left++)
            for (size_t right = 0; right < OPERANDS; right++) {
                const struct table *table = &tables[i];
                char text[80], wanted = table->rows[left][right];
                snprintf(text, sizeof text, "%s%s%s%s%s", table->before, operands[left],
                         table->between, operands[right], table->after);
                if (wanted == 'e')
                    expect_error(text, "");
                else
                    expect(text, wanted == 't' ? "btrue" : "bfalse");
            }
}
END_TEST

START_TEST(test_compare)
{
    expect("'a' == 'a'", "btrue");
    expect("'a' == 'A'", "bfalse");
    expect("'5' == '5.0'", "bfalse"); /* texts: byte by byte */
    expect("'5.0' == 5", "btrue");
    expect("'5e0' == 5", "btrue");
    expect("' 5' == 5", "bfalse");
    expect("'' == 0", "bfalse");
    expect("'x' != 0", "btrue");
    expect("'0x5' == 5", "bfalse");
    expect("'inf' == 'nan'", "bfalse");
    expect("'9' < '10'", "btrue");
    expect("'-1' < 0", "btrue");
    expect("0.1 <= 0.1", "btrue");
    expect("-0 == 0", "btrue");
    expect("'false' == false", "btrue");
    expect("'' == false", "bfalse");
    expect("0 == false", "bfalse");
    expect("gone == gone", "btrue");
    expect("gone != ''", "btrue");
}
END_TEST

START_TEST(test_contains)
{
    expect("contains('abc', 'bc')", "btrue");
    expect("contains ( 'abc' , 'cb' )", "bfalse");
    expect("contains('abc', '')", "btrue");
    expect("contains('', '')", "btrue");
    expect("contains('', 'a')", "bfalse");
    expect("contains('a', 'aa')", "bfalse");
    expect("contains(12.5, '.')", "btrue");
    expect("contains(run.attempt, 3)", "btrue");
    expect("contains('it''s', '''')", "btrue");
    expect("contains(1 < 2, 'ru')", "btrue");
    expect("contains(default(gone, 'xyz'), 'y') && true", "btrue");
}
END_TEST

START_TEST(test_paths)
{
    static const struct {
        const char *path, *base, *dir, *stem;
    } paths[] = {
        {"src/a.c", "a.c", "src", "a"},
        {"a.c", "a.c", ".", "a"},
        {"/a.c", "a.c", "/", "a"},
        {"//a", "a", "/", "a"},
        {"x//y///a.tar.gz", "a.tar.gz", "x//y", "a.tar"},
        {"x.d/Makefile", "Makefile", "x.d", "Makefile"},
        {"x.d/a.b/", "a.b", "x.d", "a"},
        {".bashrc", ".bashrc", ".", ".bashrc"},
        {"..a", "..a", ".", "..a"},
        {".a.b", ".a.b", ".", ".a"},
        {"..", "..", ".", ".."},
        {"x/..", "..", "x", ".."},
        {"a.", "a.", ".", "a."},
        {"a..", "a..", ".", "a.."},
        {"a..b", "a..b", ".", "a."},
        {"/", "/", "/", "/"},
        {"///", "/", "/", "/"},
        {"", "", ".", ""},
        {" / b .c", " b .c", " ", " b "},
        {"\xff/\xfe.\xfd", "\xfe.\xfd", "\xff", "\xfe"},
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char text[100], value[100];
        const char *const parts[] = {paths[i].base, paths[i].dir, paths[i].stem};
        const char *const names[] = {"basename", "dirname", "stem"};
        for (size_t k = 0; k < 3; k++) {
            snprintf(text, sizeof text, "%s('%s')", names[k], paths[i].path);
            snprintf(value, sizeof value, "t%s", parts[k]);
            expect(text, value);
        }
    }
    expect("stem ( basename('x/it''s.c') ) == 'it''s' && true", "btrue");
    expect("basename(dirname('a/b/c'))", "tb");
    expect("stem(default(gone, 'x/y.z'))", "ty");
    expect("default(stem(''), 'x')", "t");
    expect("stem == 'stem'", "btrue");
    expect_error("stem(gone)", "gone was not set; give a default: default(gone, 'x')");
    expect_error("stem(1.5)", "`stem` needs a path, which is a text: 1.5 is a number");
    expect_error("dirname(1 < 2)", "`dirname` needs a path");
    expect_error("basename(true)", "true is a truth value");
    expect_error("stem( 'a/b.c' ) < 3", "`<` needs numbers: stem( 'a/b.c' ) is `b`");
}
END_TEST

START_TEST(test_missing)
{
    expect("default(gone, 'x')", "tx");
    expect("default('', 'x')", "t");
    expect("default(gone, gone)", "m");
    expect("default(gone == gone, 'x')", "btrue");
    expect("default(gone, 1 == 2)", "bfalse");
    expect_error("tasks.a.outputs.gone && true",
                 "tasks.a.outputs.gone was not set; give a default: "
                 "default(tasks.a.outputs.gone, 'x')");
    expect_error("true && (gone)", "gone was not set");
    expect_error("false || gone", "gone was not set");
    expect_error("!gone", "gone was not set");
    expect_error("1 < gone", "gone was not set");
    expect_error("gone < 1", "gone was not set");
    expect_error("contains(gone, 'a')", "gone was not set");
    expect_error("contains('a', params.gone)", "params.gone was not set");
    expect_error("default(gone, env.gone) < 3", "env.gone was not set");
}
END_TEST

START_TEST(test_needs_numbers)
{
    expect_error("tasks.a.outputs.n < 3",
                 "`<` needs numbers: tasks.a.outputs.n is `n`");
    expect_error("3 >= 'x'", "`>=` needs numbers: 'x' is `x`");
    expect_error("3 > (1 == 2)", "`>` needs numbers: 1 == 2 is `false`");
    expect_error("!0 <= 3", "`<=` needs numbers: !0 is `true`");
    expect_error("'a\nb' < 3", "is `a?b`");
    char text[300] = "3 < '";
    for (size_t i = strlen(text); i < 200; i += 2)
        memcpy(text + i, "\xc3\xa4", 3);
    memcpy(text + strlen(text), "'", 2);
    expect_error(text, "\xa4...`");
    /* Cut, and not through a character: 60 bytes are 30 of these. */
    const char *is = strstr(error.text, "is `");
    ck_assert_ptr_nonnull(is);
    ck_assert_uint_eq(strlen(is), 4 + 60 + 3 + 1);
}
END_TEST

/* ---- Numbers ---- */

START_TEST(test_numbers)
{
    static const char *const same[] = {
        "0",         "1",      "-1",      "0.5",      "-2.25",
        "123456789", "0.1",    "0.0001",  "0.00012",  "1e-05",
        "1.5e-07",   "1e+17",  "1.5e+17", "1234.5",   "10000000000000000",
        "1e+300",    "5e-324", "100.25",  "-1e+100",  "9007199254740992",
        "1e+22",     "0.3",    "1000000", "12345.67", "1.7976931348623157e+308",
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "n%s", same[i]);
        expect(same[i], expected);
    }
    expect("007", "n7");
    expect("-0", "n0");
    expect("-0.0", "n0");
    expect("1E3", "n1000");
    expect("2.50", "n2.5");
    expect("1e-400", "n0");
    expect("0e99999999999", "n0");
    expect("12345678901234567890", "n12345678901234567890");
    refused("5x", 0, 2, "numbers look like");
    refused("1.", 0, 2, "numbers look like");
    refused("1.e3", 0, 2, "numbers look like");
    refused("1e", 0, 2, "numbers look like");
    refused("1e+", 0, 2, "numbers look like");
    refused("1.2.3", 0, 4, "numbers look like");
    refused("0x10", 0, 4, "numbers look like");
    refused("1e309", 0, 5, "too large");
    refused("-", 0, 1, "do not calculate");
    refused("--1", 0, 1, "do not calculate");
    refused(".5", 0, 1, "a value is missing before `.`");
    refused("+5", 0, 1, "a value is missing before `+`");
}
END_TEST

START_TEST(test_number_length)
{
    char text[NUMBER_BYTES + 2];
    double number;
    memset(text, '0', sizeof text);
    text[NUMBER_BYTES - 1] = '7';
    ck_assert(number_parse((struct str){text, NUMBER_BYTES}, &number));
    ck_assert(number > 6.5 && number < 7.5);
    ck_assert(!number_parse((struct str){text, NUMBER_BYTES + 1}, &number));
    text[NUMBER_BYTES + 1] = 0;
    refused(text, 0, NUMBER_BYTES + 1, "too long");
    for (size_t n = 0; n < 60; n++)
        memcpy(text + n, n == 1 ? "." : "9", 1);
    ck_assert(number_parse((struct str){text, 60}, &number));
    ck_assert(number > 9.9 && number <= 10);
}
END_TEST

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u); /* splitmix64, S. Vigna */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void round_trips(uint64_t rounds, uint64_t seed)
{
    struct buf out = BUF_INIT;
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t bits = next_random(&seed);
        double number, again;
        memcpy(&number, &bits, sizeof number);
        if (i % 2)
            number = (double)(int64_t)bits / (double)(1 + next_random(&seed) % 1000);
        if (!isfinite(number))
            continue;
        buf_clear(&out);
        number_append(number, &out);
        ck_assert_msg(number_parse(buf_view(&out), &again), "%s", out.data);
        ck_assert_msg(!(again < number) && !(again > number), "%s for %.17g", out.data,
                      number);
        ck_assert_uint_le(out.size, 24);
    }
    buf_release(&out);
}

START_TEST(test_number_round_trip)
{
    round_trips(20000, 1);
}
END_TEST

/* A C library whose decimal point is a comma, if it has such a locale. */
START_TEST(test_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                        "de_DE", "ru_RU.UTF-8"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !found; i++)
        found = setlocale(LC_ALL, names[i]) != NULL;
    printf("a locale with a decimal comma: %s\n", found ? "yes" : "not installed");
    expect("1.5", "n1.5");
    expect("'2.5e-7' == 0.00000025", "btrue");
    expect("'1,5' == 1.5", "bfalse");
    round_trips(1000, 2);
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(test_names)
{
    const struct expression *e =
        parsed(" a==tasks['x.y'].outputs.k || default(params.p, env.E) && run.id<1");
    ck_assert_uint_eq(expression_names(e), 5);
    static const struct {
        enum name_kind kind;
        const char *first, *second;
        size_t at, length;
    } expected[] = {{NAME_KEY, "a", "", 1, 1},
                    {NAME_TASK_OUTPUT, "x.y", "k", 4, 22},
                    {NAME_PARAM, "p", "", 38, 8},
                    {NAME_ENV, "E", "", 48, 5},
                    {NAME_RUN_ID, "", "", 58, 6}};
    for (uint32_t i = 0; i < 5; i++) {
        const struct name *name = expression_name(e, i);
        ck_assert_int_eq(name->kind, expected[i].kind);
        ck_assert(str_equal(name->first, str_of(expected[i].first)));
        ck_assert(str_equal(name->second, str_of(expected[i].second)));
        ck_assert_uint_eq(name->at, expected[i].at);
        ck_assert_uint_eq(name->length, expected[i].length);
    }
    ck_assert_uint_eq(expression_names(parsed("'a' == 'b'")), 0);
}
END_TEST

START_TEST(test_lists)
{
    expect("replace('a-b-c', '-', '')", "tabc");
    expect("replace('aaa', 'aa', 'b')", "tba");
    expect("replace('', 'a', 'b')", "t");
    expect("replace(replace(key, 'k', 'm'), 'ey', 'ap')", "tmap");
    expect("replace('x', 'y', default(gone, 'z')) == 'x'", "btrue");
    expect("replace(1.50, 5, true)", "t1.true");
    expect("split('a,b', ',')", "ta\nb");
    expect("join('a\nb\n', ', ')", "ta, b");
    expect("join('', ',')", "t");
    expect("join(sort(split('b,c,a,b', ',')), ' ')", "ta b b c");
    expect("sort('b\nB\n\na\n')", "t\nB\na\nb");
    expect("sort('')", "t");
    expect("len('')", "n0");
    expect("len('a')", "n1");
    expect("len('a\n')", "n1");
    expect("len('a\n\n')", "n2");
    expect("len('\n')", "n1");
    expect("len(split('a b c', ' ')) > 2 && len(1) == 1", "btrue");
    expect("sort == 'sort' && len == 'len'", "btrue");
    expect_lazy("len(sort(a)) < len(b)", "bfalse", "a b");
    expect_error("len(gone)", "gone was not set; give a default");
    expect_error("replace('a', 'b', gone)", "gone was not set");
    expect_error("replace('a', '', 'b')", "the text to look for is empty");
    expect_error("1 < split('a', '')",
                 "`split('a', '')`: the text to look for is empty");
    expect_error("sort('b\na') < 3", "`<` needs numbers: sort('b?a') is `a?b`");
    /* No text grows without bounds. */
    struct buf text = BUF_INIT;
    static const char four[] = "ab..............................................b"
                               "ab..............................................b"
                               "ab..............................................b"
                               "ab..............................................b";
    for (int i = 0; i < 20; i++)
        buf_text(&text, "replace(");
    buf_text(&text, "'a'");
    for (int i = 0; i < 20; i++)
        buf_format(&text, ",'a','%s')", four);
    expect_error(text.data, "makes a text of more than");
    buf_release(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expression");
    TCase *tests = tcase_create("expression");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_values);
    tcase_add_test(tests, test_precedence);
    tcase_add_test(tests, test_large_whole_numbers);
    tcase_add_test(tests, test_truth);
    tcase_add_test(tests, test_lazy);
    tcase_add_test(tests, test_pairs);
    tcase_add_test(tests, test_compare);
    tcase_add_test(tests, test_contains);
    tcase_add_test(tests, test_paths);
    tcase_add_test(tests, test_missing);
    tcase_add_test(tests, test_needs_numbers);
    tcase_add_test(tests, test_numbers);
    tcase_add_test(tests, test_number_length);
    tcase_add_test(tests, test_number_round_trip);
    tcase_add_test(tests, test_locale);
    tcase_add_test(tests, test_names);
    tcase_add_test(tests, test_lists);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
