/* SPDX-License-Identifier: MIT */
/* $CAIRN_OUTPUT, and answers of checks. */
#include "runs/values.h"

#include "base/limits.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct cairn_error failure;

static uint64_t next(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u); /* splitmix64, S. Vigna */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- $CAIRN_OUTPUT ---- */

/* Parses an exact heap copy, so that reading past the end is seen. */
static int parse(struct arena *arena, struct str text, struct key_value **out,
                 uint32_t *n)
{
    char *copy = malloc(text.len + 1);
    ck_assert_ptr_nonnull(copy);
    char *exact = text.len ? realloc(copy, text.len) : copy;
    ck_assert_ptr_nonnull(exact);
    if (text.len)
        memcpy(exact, text.ptr, text.len);
    int code = values_parse(arena, (struct str){exact, text.len}, out, n, &failure);
    memset(exact, 'X', text.len); /* what came out is a copy */
    free(exact);
    return code;
}

/* `expected` is key=value| for each. */
static void expect_values(struct str text, const char *expected)
{
    struct arena arena = ARENA_INIT;
    struct key_value *values = NULL;
    struct buf got = BUF_INIT;
    uint32_t n = 77;
    ck_assert_msg(parse(&arena, text, &values, &n) == 0, "%.*s: %s", (int)text.len,
                  text.ptr, failure.text);
    for (uint32_t i = 0; i < n; i++) {
        buf_format(&got, "%s=", values[i].key.ptr);
        buf_str(&got, values[i].value);
        buf_byte(&got, '|');
        ck_assert_uint_eq(strlen(values[i].value.ptr), values[i].value.len);
        ck_assert_ptr_eq(values_find(values, n, values[i].key), &values[i]);
    }
    ck_assert_msg(str_equal(buf_view(&got), str_of(expected)), "%.*s gives %s",
                  (int)text.len, text.ptr, got.data);
    ck_assert_ptr_null(values_find(values, n, STR("no_such_key")));
    ck_assert_ptr_null(values_find(values, n, STR("")));
    buf_release(&got);
    arena_release(&arena);
}

START_TEST(test_values)
{
    expect_values(STR(""), "");
    expect_values((struct str){NULL, 0}, "");
    expect_values(STR("\n\n"), "");
    expect_values(STR("a=1"), "a=1|");
    expect_values(STR("a=1\n"), "a=1|");
    expect_values(STR("b=2\n\na=1\n"), "a=1|b=2|");
    expect_values(STR("a=\n"), "a=|");
    expect_values(STR("a==b=c\n"), "a==b=c|");
    expect_values(STR("a= x \t\r\n"), "a= x \t|");
    expect_values(STR("\r\na=1\r\r\nb=2\r\n\r\n"), "a=1\r|b=2|");
    expect_values(STR("a=1\r"), "a=1\r|");
    expect_values(STR("a=x<<y\n"), "a=x<<y|");
    expect_values(STR("_A9z=1\n"), "_A9z=1|");
    expect_values(STR("a=\xff\x80$(rm)`x`'\"\n"), "a=\xff\x80$(rm)`x`'\"|");
    expect_values(STR("ab=1\na=2\nB=3\n"), "B=3|a=2|ab=1|");
}
END_TEST

START_TEST(test_last_one_counts)
{
    expect_values(STR("a=1\nb=9\na=2\na=3\n"), "a=3|b=9|");
    expect_values(STR("a<<E\n1\nE\na=2\n"), "a=2|");
    expect_values(STR("a=2\na<<E\n1\n2\nE\n"), "a=1\n2|");
}
END_TEST

START_TEST(test_blocks)
{
    expect_values(STR("a<<END\none\ntwo\nEND\n"), "a=one\ntwo|");
    expect_values(STR("a<<END\r\none\r\nt\rwo\r\nEND\r\nb=2"), "a=one\nt\rwo|b=2|");
    expect_values(STR("a<<END\none\r\ntwo\r\nEND\r\n"), "a=one\r\ntwo\r|");
    expect_values(STR("a<<END\r\nEND\r\nb=2"), "a=|b=2|");
    expect_values(STR("\xef\xbb\xbf"
                      "a=1\nb=\xef\xbb\xbf\n"),
                  "a=1|b=\xef\xbb\xbf|");
    expect_values(STR("a<<END\none\nEND"), "a=one|");
    expect_values(STR("a<<END\nEND\n"), "a=|");
    expect_values(STR("a<<END\n\nEND\n"), "a=|");
    expect_values(STR("a<<END\n\n\nEND\n"), "a=\n|");
    expect_values(STR("a<<END\none\n\nEND\n"), "a=one\n|");
    expect_values(STR("a<<END\nENDE\n END\nb=1\nEND\nc=2\n"), "a=ENDE\n END\nb=1|c=2|");
    expect_values(STR("a<<=\nx\n=\n"), "a=x|");
    expect_values(STR("a<< E F \nx\n E F \n"), "a=x|");
}
END_TEST

static void expect_refused(struct str text, int code, const char *reason)
{
    struct arena arena = ARENA_INIT;
    struct key_value *values = NULL;
    uint32_t n = 77;
    int got = parse(&arena, text, &values, &n);
    ck_assert_msg(got == code && failure.code == code, "%.*s: %d", (int)text.len,
                  text.ptr, got);
    ck_assert_msg(strncmp(failure.text, reason, strlen(reason)) == 0, "%s, not %s",
                  failure.text, reason);
    ck_assert(values == NULL && n == 77);
    arena_release(&arena);
}

START_TEST(test_values_refused)
{
    static const char *const first[] = {"a",      "=1",    "1a=1",     " a=1",   "a =1",
                                        "a-b=1",  "\r",    "\xc3\xa4", "a<1",    "a<",
                                        "a<<\nx", "<<E\n", "a.b=1",    "\x1b[2J"};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        expect_refused(str_of(first[i]), CAIRN_EWORKFLOW, "line 1: ");
        for (const char *p = failure.text; *p; p++)
            ck_assert_int_ge(*p, ' '); /* nothing of the file in the message */
    }
    expect_refused(STR("a=1\n\nb\n"), CAIRN_EWORKFLOW, "line 3: expected name=value");
    expect_refused(STR("a<<E\nx\nE\nb\n"), CAIRN_EWORKFLOW, "line 4: ");
    expect_refused(STR("a=1\nb<<E\nx\ny\n"), CAIRN_EWORKFLOW,
                   "line 2: the line that ends this value is missing");
    expect_refused(STR("a<<E"), CAIRN_EWORKFLOW, "line 1: the line that ends");
    expect_refused(STR("a=1\nb=\0\n"), CAIRN_EWORKFLOW, "line 2: a NUL byte");
    expect_refused(STR("a<<E\n\n\0\nE\n"), CAIRN_EWORKFLOW, "line 3: a NUL byte");
}
END_TEST

START_TEST(test_values_limits)
{
    struct arena arena = ARENA_INIT;
    struct buf text = BUF_INIT;
    struct key_value *values;
    uint32_t n;
    for (int i = 0; i < LIMIT_VALUES; i++)
        buf_format(&text, "k%d=%d\n", i, i);
    buf_text(&text, "k0=again\n"); /* not one more */
    ck_assert_int_eq(parse(&arena, buf_view(&text), &values, &n), 0);
    ck_assert_uint_eq(n, LIMIT_VALUES);
    buf_text(&text, "one_more=\n");
    expect_refused(buf_view(&text), CAIRN_ELIMIT, "1001 values");

    for (size_t length = LIMIT_NAME_BYTES; length <= LIMIT_NAME_BYTES + 1; length++) {
        buf_clear(&text);
        for (size_t i = 0; i < length; i++)
            buf_byte(&text, 'k');
        buf_text(&text, "=1");
        if (length == LIMIT_NAME_BYTES)
            ck_assert_int_eq(parse(&arena, buf_view(&text), &values, &n), 0);
        else
            expect_refused(buf_view(&text), CAIRN_ELIMIT, "line 1: a name of more");
    }
    buf_clear(&text);
    buf_text(&text, "a=");
    memset(buf_grow(&text, LIMIT_VALUES_BYTES - 2), 'x', LIMIT_VALUES_BYTES - 2);
    ck_assert_int_eq(parse(&arena, buf_view(&text), &values, &n), 0);
    ck_assert_uint_eq(values[0].value.len, LIMIT_VALUES_BYTES - 2);
    buf_byte(&text, '\n');
    expect_refused(buf_view(&text), CAIRN_ELIMIT, "1048577 bytes");
    buf_release(&text);
    arena_release(&arena);
}
END_TEST

/* Whatever the bytes: no crash, sorted, no doubles, found again. */
START_TEST(test_values_random)
{
    static const char letters[] = "ab1_=<<<E\n\n\n=x\r";
    uint64_t seed = (uint64_t)time(NULL);
    unsigned good = 0;
    printf("values: seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 20000; round++) {
        struct arena arena = ARENA_INIT;
        struct key_value *values;
        char text[24];
        uint32_t n;
        size_t length = next(&seed) % sizeof text;
        for (size_t i = 0; i < length; i++)
            text[i] = letters[next(&seed) % (sizeof letters - 1)];
        int code = parse(&arena, (struct str){text, length}, &values, &n);
        ck_assert(code == 0 || code == CAIRN_EWORKFLOW);
        for (uint32_t i = 0; code == 0 && i < n; i++, good++)
            ck_assert(i == 0 || str_compare(values[i - 1].key, values[i].key) < 0);
        arena_release(&arena);
    }
    ck_assert_uint_gt(good, 100);
}
END_TEST

/* ---- Checks ---- */

static struct verdict judge(int exit_code, struct str out)
{
    struct verdict v;
    char *exact = malloc(out.len ? out.len : 1);
    ck_assert_ptr_nonnull(exact);
    if (out.len)
        memcpy(exact, out.ptr, out.len);
    memset(&v, 0xff, sizeof v);
    verdict_of(exit_code, (struct str){exact, out.len}, 700, 850, &v);
    free(exact);
    return v;
}

static void expect_confidence(const char *out, double confidence)
{
    struct verdict v = judge(0, str_of(out));
    ck_assert_msg(v.confidence == confidence, "%s: %g (%s)", out, v.confidence, v.text);
    ck_assert_msg(v.passed == (confidence >= 0.7), "%s", out);
    ck_assert_msg(v.warned == (v.passed && confidence < 0.85), "%s", out);
    ck_assert_msg((v.text[0] == 0) == (confidence >= 0.85), "%s: %s", out, v.text);
}

START_TEST(test_exit_codes)
{
    struct verdict v = judge(3, STR("{\"confidence\": 1}"));
    ck_assert(!v.passed && !v.warned && v.confidence == 0);
    ck_assert_str_eq(v.text, "its check ended with exit code 3");
    ck_assert(!judge(-1, STR("")).passed);
    expect_confidence("", 1);
    expect_confidence("\n\n", 1);
    expect_confidence("fine\n", 1);
    expect_confidence("0.1\n", 1);         /* no object */
    expect_confidence("[0.1]\n", 1);       /* no object */
    expect_confidence("looks {bad}\n", 1); /* does not begin with it */
}
END_TEST

START_TEST(test_confidence)
{
    expect_confidence("{\"confidence\":0.5}", 0.5);
    expect_confidence(" \t{ \"confidence\" : 0.9 } \r\n\n \n", 0.9);
    expect_confidence("{\"confidence\": 0.1}\n{\"confidence\": 0.9}\n", 0.9);
    expect_confidence("{broken\n{\"confidence\": 0.9}\n", 0.9);
    expect_confidence("{\"confidence\": 0.1}\ndone\n", 1); /* not the last line */
    expect_confidence("{\"confidence\":0}", 0);
    expect_confidence("{\"confidence\":-0.0}", 0);
    expect_confidence("{\"confidence\":1}", 1);
    expect_confidence("{\"confidence\":1.000}", 1);
    expect_confidence("{\"confidence\":9e-1}", 0.9);
    expect_confidence("{\"confidence\":90E-2}", 0.9);
    expect_confidence("{\"confidence\":0.09e+1}", 0.9);
    expect_confidence("{\"confidence\":1e-999}", 0);
    expect_confidence("{\"c\\u006Fnfidence\":0.9}", 0.9);
    expect_confidence("{\"a\":{\"confidence\":2},\"confidence\":0.9}", 0.9);
    expect_confidence("{\"Confidence\":2,\"confidenc\":2,\"confidencee\":2,"
                      "\"confidence\":0.9}",
                      0.9);
    expect_confidence("{\"a\":[],\"b\":{},\"c\":[[],[{}],{\"d\":[1,-2.5e3,true]}],"
                      "\"confidence\":0.9,\"e\":null,\"f\":false,\"g\":\"\\\"}\xff\","
                      "\"\":\"\\ud800\\/\\b\\f\\n\\r\\t\\\\\"}",
                      0.9);
    ck_assert(!__builtin_signbit(
        judge(0, STR("{\"confidence\":-0.0}")).confidence)); /* one encoding of 0 */
}
END_TEST

static void expect_bad(struct str line)
{
    struct verdict v = judge(0, line);
    ck_assert_msg(!v.passed && !v.warned && v.confidence == 0, "%.*s", (int)line.len,
                  line.ptr);
    ck_assert_msg(strstr(v.text, "its check"), "%.*s: %s", (int)line.len, line.ptr,
                  v.text);
}

START_TEST(test_hostile_answers)
{
    static const char *const bad[] = {"{",
                                      "{}",
                                      "{]",
                                      "{\"confidence\"}",
                                      "{\"confidence\":}",
                                      "{\"confidence\":0.9",
                                      "{\"confidence\":0.9}}",
                                      "{\"confidence\":0.9} x",
                                      "{\"confidence\":0.9,}",
                                      "{,\"confidence\":0.9}",
                                      "{\"confidence\":NaN}",
                                      "{\"confidence\":nan}",
                                      "{\"confidence\":Infinity}",
                                      "{\"confidence\":1e999}",
                                      "{\"confidence\":1.0001}",
                                      "{\"confidence\":-0.1}",
                                      "{\"confidence\":-1e-300}",
                                      "{\"confidence\":\"0.9\"}",
                                      "{\"confidence\":true}",
                                      "{\"confidence\":null}",
                                      "{\"confidence\":[0.9]}",
                                      "{\"confidence\":.9}",
                                      "{\"confidence\":0.}",
                                      "{\"confidence\":00.9}",
                                      "{\"confidence\":+0.9}",
                                      "{\"confidence\":0x1p-1}",
                                      "{\"confidence\":0,9}",
                                      "{\"confidence\":1e}",
                                      "{\"confidence\":-}",
                                      "{\"confidence\":0.9 0.9}",
                                      "{\"confidence\":0.9,\"confidence\":0.9}",
                                      "{\"other\":0.9}",
                                      "{\"a\":{\"confidence\":0.9}}",
                                      "{'confidence':0.9}",
                                      "{confidence:0.9}",
                                      "{\"confidence\":0.9,\"a\":[1,]}",
                                      "{\"confidence\":0.9,\"a\":[,1]}",
                                      "{\"confidence\":0.9,\"a\":[1}}",
                                      "{\"confidence\":0.9,\"a\":{1:2}}",
                                      "{\"confidence\":0.9,\"a\":{\"b\"}}",
                                      "{\"confidence\":0.9,\"a\":{\"b\":1,}}",
                                      "{\"confidence\":0.9,\"a\":truefalse}",
                                      "{\"confidence\":0.9,\"a\":tru}",
                                      "{\"confidence\":0.9,\"a\":\"\\x\"}",
                                      "{\"confidence\":0.9,\"a\":\"\\u12g4\"}",
                                      "{\"confidence\":0.9,\"a\":\"\\u12\"}",
                                      "{\"confidence\":0.9,\"a\":\"\t\"}",
                                      "{\"confidence\":0.9,\"a\":\"}",
                                      "{\"confidence\":0.9,\"a\":\"\\",
                                      "{\"",
                                      "{\"confidence\":0.9,\"a\":]}",
                                      "{\"confidence\":0.9;\"a\":1}",
                                      "{\"a\":[[[["};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_bad(str_of(bad[i]));
    expect_bad(STR("{\"confidence\":0.9}\0"));
    expect_bad(STR("{\"confidence\":0.9,\"a\":\"\0\"}"));
    expect_bad(STR("{\"confidence\0\":0.9}"));
}
END_TEST

static void add_times(struct buf *text, char c, int n)
{
    while (n-- > 0)
        buf_byte(text, (uint8_t)c);
}

START_TEST(test_deep_and_long_answers)
{
    struct buf text = BUF_INIT;
    for (int depth = 64; depth <= 1000000; depth = depth == 64 ? 65 : depth * 1000) {
        buf_clear(&text);
        buf_text(&text, "{\"a\":");
        add_times(&text, '[', depth);
        add_times(&text, ']', depth);
        buf_text(&text, ",\"confidence\":0.9}");
        if (depth == 64)
            expect_confidence(text.data, 0.9);
        else
            expect_bad(buf_view(&text));
    }
    for (int digits = 300; digits <= 500; digits += 200) {
        buf_clear(&text);
        buf_text(&text, "{\"confidence\":0.9");
        add_times(&text, '0', digits);
        buf_byte(&text, '}');
        if (digits == 300)
            expect_confidence(text.data, 0.9);
        else
            expect_bad(buf_view(&text));
    }
    buf_clear(&text);
    add_times(&text, '\n', 1 << 20);
    expect_confidence(text.data, 1);
    buf_release(&text);
}
END_TEST

/* Each cut of a good answer is a bad one; changed bytes crash nothing. */
START_TEST(test_damaged_answers)
{
    static const char good[] =
        "{\"a\":[{},[\"\\u0041\\n\",-1.5e+3,null]],\"confidence\":0.9,\"b\":true}";
    uint64_t seed = (uint64_t)time(NULL);
    printf("verdict: seed %llu\n", (unsigned long long)seed);
    expect_confidence(good, 0.9);
    for (size_t n = 1; n < sizeof good - 1; n++)
        expect_bad((struct str){good, n});
    for (int round = 0; round < 20000; round++) {
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        for (uint64_t i = 1 + next(&seed) % 3; i > 0; i--)
            text[next(&seed) % (sizeof good - 1)] =
                "{}[]\",:\\0e.u\n "[next(&seed) % 14];
        struct verdict v = judge(0, (struct str){text, sizeof good - 1});
        ck_assert(v.confidence >= 0 && v.confidence <= 1);
        ck_assert(v.passed == (v.confidence >= 0.7));
    }
}
END_TEST

static void expect_text(const char *out, uint32_t min, uint32_t warn, const char *text)
{
    struct verdict v;
    verdict_of(0, str_of(out), min, warn, &v);
    ck_assert_str_eq(v.text, text);
    ck_assert(v.passed == (strstr(text, "minimum") == NULL));
    ck_assert(v.warned == (strstr(text, "which passes") != NULL));
}

START_TEST(test_bounds)
{
    expect_text("{\"confidence\":0.85}", 700, 850, "");
    expect_text("{\"confidence\":0.8499}", 700, 850,
                "the confidence of its check is 84 %, which passes, but is below 85 %");
    expect_text("{\"confidence\":0.7}", 700, 850,
                "the confidence of its check is 70 %, which passes, but is below 85 %");
    expect_text("{\"confidence\":0.6999}", 700, 850,
                "the confidence of its check is 69 %, below the minimum of 70 %");
    expect_text("{\"confidence\":0.9994}", 1000, 1000,
                "the confidence of its check is 99 %, below the minimum of 100 %");
    expect_text("{\"confidence\":0}", 0, 0, "");
    expect_text("{\"confidence\":0}", 1, 1,
                "the confidence of its check is 0 %, below the minimum of 0.1 %");
    expect_text("{\"confidence\":0.5}", 505, 505,
                "the confidence of its check is 50 %, below the minimum of 50.5 %");
    expect_text("yes", 1000, 1000, "");
}
END_TEST

/* Every bound is met by its own decimal text, and missed by the one before it. */
START_TEST(test_all_bounds)
{
    for (unsigned permille = 0; permille <= 1000; permille++) {
        char out[64];
        struct verdict v;
        snprintf(out, sizeof out, "{\"confidence\":%u.%03u}", permille / 1000,
                 permille % 1000);
        verdict_of(0, str_of(out), permille, permille, &v);
        ck_assert_msg(v.passed && !v.warned && !v.text[0], "%s: %s", out, v.text);
        verdict_of(0, str_of(out), permille + 1, permille + 1, &v);
        ck_assert_msg(!v.passed, "%s", out);
        char percent[32];
        snprintf(percent, sizeof percent, " is %u %%,", permille / 10);
        ck_assert_msg(strstr(v.text, percent), "%s: %s", out, v.text);
    }
}
END_TEST

/* ---- Stored pairs ---- */

START_TEST(test_unpack)
{
    static const struct {
        const char *what;
        struct str bytes;
    } wrong[] = {
        {"a key without a value", STR("\x01"
                                      "a")},
        {"cut", STR("\x01"
                    "a\x02"
                    "1")},
        {"no key", STR("\x00\x01"
                       "1")},
        {"a key of other letters", STR("\x02"
                                       "a-\x01"
                                       "1")},
        {"NUL", STR("\x01"
                    "a\x02"
                    "1\0")},
        {"twice", STR("\x01"
                      "a\x00\x01"
                      "a\x00")},
        {"not sorted", STR("\x01"
                           "b\x00\x01"
                           "a\x00")},
    };
    struct arena arena = ARENA_INIT;
    struct key_value *values = NULL;
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(values_unpack(&arena, wrong[i].bytes, &values, &n, &failure) ==
                          CAIRN_EDAMAGED,
                      "%s", wrong[i].what);
    struct str fine = STR("\x01"
                          "a\x02"
                          "1\n\x02"
                          "b2\x00");
    ck_assert_int_eq(values_unpack(&arena, fine, &values, &n, &failure), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert(str_equal(values[0].value, STR("1\n")));
    ck_assert(str_equal(values[1].key, STR("b2")) && values[1].value.len == 0);
    struct buf many = BUF_INIT;
    for (int i = 0; i <= LIMIT_VALUES; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%04d", i);
        ck_assert_int_eq(values_unpack(&arena, buf_view(&many), &values, &n, &failure),
                         0);
        buf_lstr(&many, str_of(key));
        buf_lstr(&many, STR("v"));
    }
    ck_assert_uint_eq(n, LIMIT_VALUES);
    ck_assert_int_eq(values_unpack(&arena, buf_view(&many), &values, &n, &failure),
                     CAIRN_EDAMAGED);
    buf_release(&many);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("values");
    TCase *c = tcase_create("values");
    tcase_add_test(c, test_values);
    tcase_add_test(c, test_last_one_counts);
    tcase_add_test(c, test_blocks);
    tcase_add_test(c, test_values_refused);
    tcase_add_test(c, test_values_limits);
    tcase_add_test(c, test_values_random);
    tcase_add_test(c, test_unpack);
    suite_add_tcase(suite, c);
    c = tcase_create("verdict");
    tcase_add_test(c, test_exit_codes);
    tcase_add_test(c, test_confidence);
    tcase_add_test(c, test_hostile_answers);
    tcase_add_test(c, test_deep_and_long_answers);
    tcase_add_test(c, test_damaged_answers);
    tcase_add_test(c, test_bounds);
    tcase_add_test(c, test_all_bounds);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
