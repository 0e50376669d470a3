/* SPDX-License-Identifier: MIT */
/* Expressions and templates: what they mean, what is refused and where, limits. */
#include "graph/expression/expression_int.h"
#include "tests/support/suite.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct arena arena;
static struct cairn_error error;
static char looked_up[256]; /* names, in the order in which they were asked for */

static void setup(void)
{
    arena = ARENA_INIT;
    error = (struct cairn_error){0};
    looked_up[0] = 0;
}

static void teardown(void)
{
    arena_release(&arena);
}

static void note(struct str word)
{
    size_t n = strlen(looked_up);
    snprintf(looked_up + n, sizeof looked_up - n, "%s%.*s", n ? " " : "", (int)word.len,
             word.ptr);
}

/* Keys: `gone` is missing, `broken` an error, others have their own name as value.
 * params.N is N, env.E "E", outputs the key, and so on. */
static int lookup(void *context, const struct name *name, struct value *out,
                  struct cairn_error *wrong)
{
    ck_assert_ptr_eq(context, looked_up);
    struct str text = name->first;
    note(text);
    if (name->kind == NAME_TASK_OUTPUT)
        text = name->second;
    if (str_equal(text, STR("broken")))
        return error_set(wrong, CAIRN_EIO, "broken");
    *out = (struct value){.type = VALUE_TEXT, .text = text};
    if (str_equal(text, STR("gone")))
        *out = (struct value){.type = VALUE_MISSING};
    else if (str_equal(text, STR("empty")))
        out->text = STR("");
    else if (name->kind == NAME_RUN_ATTEMPT)
        *out = (struct value){.type = VALUE_NUMBER, .number = 3};
    return 0;
}

static int parse(struct str text, const struct expression **out,
                 struct expression_error *wrong)
{
    memset(wrong, 0x55, sizeof *wrong);
    char *exact = malloc(text.len ? text.len : 1); /* so that ASan sees a byte more */
    ck_assert_ptr_nonnull(exact);
    if (text.len)
        memcpy(exact, text.ptr, text.len);
    int result = expression_parse(&arena, (struct str){exact, text.len}, out, wrong);
    free(exact);
    return result;
}

static const struct expression *parsed(const char *text)
{
    const struct expression *expression = NULL;
    struct expression_error wrong;
    int result = parse(str_of(text), &expression, &wrong);
    ck_assert_msg(result == 0, "%s: refused at %zu: %s", text, wrong.at, wrong.text);
    return expression;
}

/* `expected` begins with t, n, b or m for the type. */
static void expect(const char *text, const char *expected)
{
    static const char types[] = "tnbm";
    struct value value;
    struct buf out = BUF_INIT;
    looked_up[0] = 0;
    int result = expression_evaluate(parsed(text), lookup, looked_up, &value, &error);
    ck_assert_msg(result == 0, "%s: %s", text, error.text);
    buf_byte(&out, (uint8_t)types[value.type]);
    value_append(&value, &out);
    ck_assert_msg(strcmp(out.data, expected) == 0, "%s gives %s, not %s", text,
                  out.data, expected);
    buf_release(&out);
}

static void expect_error(const char *text, const char *words)
{
    struct value value;
    looked_up[0] = 0;
    int result = expression_evaluate(parsed(text), lookup, looked_up, &value, &error);
    ck_assert_msg(result == CAIRN_EWORKFLOW, "%s: %d", text, result);
    ck_assert_msg(strstr(error.text, words) != NULL, "%s: %s", text, error.text);
}

static void expect_refused(struct str text, size_t at, size_t length, const char *words)
{
    const struct expression *expression;
    struct expression_error wrong;
    ck_assert_msg(parse(text, &expression, &wrong) == CAIRN_EWORKFLOW, "%.*s",
                  (int)text.len, text.ptr);
    ck_assert_msg(strstr(wrong.text, words) != NULL, "%.40s: %s", text.ptr, wrong.text);
    ck_assert_msg(wrong.at == at && wrong.length == length, "%.40s: %s at %zu, %zu",
                  text.ptr, wrong.text, wrong.at, wrong.length);
}

static void refused(const char *text, size_t at, size_t length, const char *words)
{
    expect_refused(str_of(text), at, length, words);
}

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

static void expect_lazy(const char *text, const char *expected, const char *names)
{
    expect(text, expected);
    ck_assert_msg(strcmp(looked_up, names) == 0, "%s asks for %s", text, looked_up);
}

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
    int result =
        expression_evaluate(parsed("a == broken"), lookup, looked_up, &value, &error);
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
    expect("12345678901234567890", "n1.2345678901234567e+19");
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
    refused("a, b", 1, 1, "`,` only stands");
    refused("(a, b)", 2, 1, "`,` only stands");
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
    refused("tasks.a", 0, 7, "tasks.X.status or tasks.X.outputs.KEY");
    refused("tasks.a.b.status", 0, 9, "tasks['a.b']");
    refused("tasks.a.outputs", 0, 15, "the name of an output");
    refused("tasks.a.outputs.9", 0, 15, "the name of an output");
    refused("tasks.a.outputs.k.x", 0, 17, "has nothing further");
    refused("tasks.a.outputs['k']", 0, 15, "the name of an output");
    refused("tasks.", 0, 5, "needs a task");
    refused("tasks[a].status", 0, 5, "needs a task");
    refused("tasks['a].status", 0, 5, "needs a task");
    refused("tasks[''].status", 0, 5, "needs a task");
    refused("tasks['", 0, 5, "needs a task");
    refused("tasks['a'", 0, 5, "needs a task");
    refused("tasks['a']", 0, 10, "must go on with");
    refused("tasks['a'].foo", 0, 14, "must go on with");
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
        ck_assert_int_eq(
            expression_evaluate(parsed(text.data), lookup, looked_up, &value, &error),
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
    nest(&text, (const char *const[]){"1==contains(1,", "1==1", ")"},
         LIMIT_EXPRESSION_DEPTH);
    const struct expression *e = parsed(text.data);
    for (uint32_t i = 0; i < e->n; i++) {
        n = e->code[i].operation <= OP_NAME ? n + 1 : n - 1;
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
    ck_assert_int_eq(
        expression_evaluate(parsed(text.data), lookup, looked_up, &value, &error), 0);
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
    ck_assert_int_eq(expression_evaluate(e, lookup, looked_up, &value, &error), 0);
    ck_assert(str_equal(value.text, (struct str){"a\0b", 3}));
    refused("\xff\xfe", 0, 1, "the byte 0xff");
    expect("'$(rm -rf /)`x`' == '$(rm -rf /)`x`'", "btrue");
}
END_TEST

/* ---- Templates ---- */

static int expand(struct str text, struct buf *out)
{
    struct text_template template;
    struct expression_error wrong = {0};
    int result = template_parse(&arena, text, &template, &wrong);
    ck_assert_msg(result == 0, "%.*s: %s", (int)text.len, text.ptr, wrong.text);
    return template_expand(&template, lookup, looked_up, out, &error);
}

static void expands(const char *text, const char *expected)
{
    struct buf out = BUF_INIT;
    ck_assert_msg(expand(str_of(text), &out) == 0, "%s: %s", text, error.text);
    ck_assert_msg(str_equal(buf_view(&out), str_of(expected)), "%s gives %s", text,
                  out.data ? out.data : "");
    buf_release(&out);
}

START_TEST(test_templates)
{
    expands("", "");
    expands("plain } }} { {{ $ ${", "plain } }} { {{ $ ${");
    expands("${{ a }}", "a");
    expands("<${{a}}${{ b }}>", "<ab>");
    expands("${{ '}}' }}}}", "}}}}");
    expands("${{ 'it''s }}' }}", "it's }}");
    expands("${{ '${{' }}", "${{");
    expands("$${{ a }}}", "$a}");
    expands("it's ${{ a }} isn't ${{ 'b' }}", "it's a isn't b");
    expands("${{ 1 < 2 }} ${{ 2.50 }} ${{ run.attempt }}", "true 2.5 3");
    expands("${{ default(gone, '') }}", "");
    expands("${{ env.A\n==\n'A' }}", "true");
}
END_TEST

START_TEST(test_template_pieces)
{
    struct text_template template;
    struct str text = STR("ab${{ c }}${{ 1 == d }}e");
    ck_assert(template_has(text));
    ck_assert(!template_has(STR("$ {{ a }}")));
    ck_assert(!template_has(STR("")));
    ck_assert(!template_has((struct str){NULL, 0}));
    ck_assert_int_eq(template_parse(&arena, text, &template, NULL), 0);
    ck_assert_uint_eq(template.n, 4);
    static const size_t at[] = {0, 2, 10, 23};
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(template.pieces[i].at, at[i]);
    ck_assert_ptr_eq(template.pieces[0].text.ptr, text.ptr);
    ck_assert_ptr_null(template.pieces[3].expression);
    const struct expression *e = template.pieces[2].expression;
    size_t name = 10 + 3 + expression_name(e, 0)->at; /* as expression.h says */
    ck_assert_int_eq(text.ptr[name], 'd');
}
END_TEST

static void template_refused(const char *text, size_t at, size_t length,
                             const char *words)
{
    struct text_template template;
    struct expression_error wrong = {0};
    ck_assert_int_eq(template_parse(&arena, str_of(text), &template, &wrong),
                     CAIRN_EWORKFLOW);
    ck_assert_msg(strstr(wrong.text, words) != NULL, "%s: %s", text, wrong.text);
    ck_assert_msg(wrong.at == at && wrong.length == length, "%s: %zu %zu", text,
                  wrong.at, wrong.length);
}

START_TEST(test_template_refused)
{
    template_refused("a ${{", 2, 3, "`${{` without `}}`");
    template_refused("a ${{ b }", 2, 3, "`${{` without `}}`");
    template_refused("${{ a }} ${{ 'b }}", 9, 3, "a quote is open");
    template_refused("x ${{ }}", 6, 0, "empty");
    template_refused("x ${{ a b }}", 8, 1, "an operator is missing");
    template_refused("${{ a }}${{ ( }}", 14, 0, "ends too early");
    template_refused("${{ a ${{ b }} }}", 6, 1, "an operator is missing");
    struct buf out = BUF_INIT;
    ck_assert_int_eq(expand(STR("x ${{ tasks.a.outputs.gone }}"), &out),
                     CAIRN_EWORKFLOW);
    ck_assert_str_eq(error.text, "tasks.a.outputs.gone was not set; give a default: "
                                 "default(tasks.a.outputs.gone, 'x')");
    ck_assert_int_eq(expand(STR("${{ broken }}"), &out), CAIRN_EIO);
    buf_release(&out);
}
END_TEST

START_TEST(test_template_hostile)
{
    struct buf text = BUF_INIT, out = BUF_INIT;
    struct text_template template;
    while (text.size < 100000)
        buf_text(&text, "${{");
    ck_assert_int_eq(template_parse(&arena, buf_view(&text), &template, NULL),
                     CAIRN_EWORKFLOW);
    buf_clear(&text);
    while (text.size < 100000)
        buf_text(&text, "${{a}}");
    ck_assert_int_eq(expand(buf_view(&text), &out), 0);
    ck_assert_uint_eq(out.size, text.size / 6);
    buf_clear(&out);
    ck_assert_int_eq(expand((struct str){"\0\xff${{ '\0\xfe' }}\0", 14}, &out), 0);
    ck_assert(str_equal(buf_view(&out), (struct str){"\0\xff\0\xfe\0", 5}));
    buf_release(&text);
    buf_release(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expression");
    TCase *tests = tcase_create("expression");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_values);
    tcase_add_test(tests, test_precedence);
    tcase_add_test(tests, test_truth);
    tcase_add_test(tests, test_lazy);
    tcase_add_test(tests, test_pairs);
    tcase_add_test(tests, test_compare);
    tcase_add_test(tests, test_contains);
    tcase_add_test(tests, test_missing);
    tcase_add_test(tests, test_needs_numbers);
    tcase_add_test(tests, test_numbers);
    tcase_add_test(tests, test_number_length);
    tcase_add_test(tests, test_number_round_trip);
    tcase_add_test(tests, test_locale);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_refused_names);
    tcase_add_test(tests, test_names);
    tcase_add_test(tests, test_depth);
    tcase_add_test(tests, test_stack);
    tcase_add_test(tests, test_wide);
    tcase_add_test(tests, test_size);
    tcase_add_test(tests, test_hostile);
    tcase_add_test(tests, test_templates);
    tcase_add_test(tests, test_template_pieces);
    tcase_add_test(tests, test_template_refused);
    tcase_add_test(tests, test_template_hostile);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
