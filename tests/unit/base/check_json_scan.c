/* SPDX-License-Identifier: MIT */
/* JSON token by token: what is JSON and what is not, how deep, and strings. */
#include "base/json_scan.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

static bool is_json(struct str text)
{
    struct json_scan in = json_scan_of(text);
    enum json_token token;
    while ((token = json_next(&in)) != JSON_END && token != JSON_BAD)
        ck_assert_uint_le(in.depth, JSON_DEPTH_MOST);
    ck_assert_int_eq(json_next(&in), token); /* it stays so */
    ck_assert(in.at <= in.end);
    return token == JSON_END;
}

static const char *const good[] = {
    "0",
    "-0.5e+10",
    " true ",
    "false",
    "null",
    "\"\"",
    "\"\\u00e4\\n\\\\\\\"\\/\"",
    "[]",
    "{}",
    "[[],{},[1,2]]",
    "{\"a\":1,\"b\":[{\"c\":null}],\"a\":2}",
    "\t[ 1 , \"x\" ]\r\n",
    "\"\xff\"",
};
static const char *const bad[] = {
    "",          " ",         "tru",  "nul",     "+1",       "01",          "1.",
    ".5",        "1e",        "-",    "\"",      "\"\\x\"",  "\"\\u12g4\"", "\"\\",
    "\"\\u12\"", "\"a\nb\"",  "[1,]", "[,1]",    "[1 2]",    "[1",          "]",
    "}",         "[}",        "{]",   "{\"a\"}", "{\"a\":}", "{\"a\":1,}",  "{1:2}",
    "{,}",       "{\"a\" 1}", "1 2",  "{} {}",   "[1]]",     "'a'",
};
enum { GOOD = sizeof good / sizeof good[0], BAD = sizeof bad / sizeof bad[0] };

START_TEST(is_one)
{
    ck_assert_msg(is_json(str_of(good[_i])), "%s", good[_i]);
}
END_TEST

START_TEST(is_none)
{
    ck_assert_msg(!is_json(str_of(bad[_i])), "%s", bad[_i]);
}
END_TEST

/* No start of an object is an object: a torn line never looks complete. */
START_TEST(torn)
{
    struct str text =
        STR("{\"a\":[1,{\"b\":\"\\u00e4\"},-2.5e1],\"c\":{\"d\":true},\"e\":null}");
    ck_assert(is_json(text));
    for (size_t n = 0; n < text.len; n++)
        ck_assert(!is_json((struct str){text.ptr, n}));
}
END_TEST

START_TEST(depth)
{
    struct buf text = BUF_INIT;
    for (int more = 0; more <= 1; more++) {
        buf_clear(&text);
        for (int i = 0; i < JSON_DEPTH_MOST + more; i++)
            buf_text(&text, i % 2 ? "{\"a\":" : "[");
        buf_byte(&text, '1');
        for (int i = JSON_DEPTH_MOST + more; i-- > 0;)
            buf_byte(&text, i % 2 ? '}' : ']');
        ck_assert_int_eq(is_json(buf_view(&text)), !more);
    }
    buf_release(&text);
}
END_TEST

START_TEST(tokens)
{
    static const struct {
        enum json_token token;
        const char *raw;
    } want[] = {{JSON_OBJECT, "{"},    {JSON_KEY, "k"},         {JSON_ARRAY, "["},
                {JSON_NUMBER, "-1.5"}, {JSON_STRING, "a\\\"b"}, {JSON_TRUE, "true"},
                {JSON_ARRAY_END, "]"}, {JSON_OBJECT_END, "}"},  {JSON_END, NULL}};
    struct json_scan in = json_scan_of(STR(" {\"k\" : [-1.5, \"a\\\"b\",true] } "));
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        ck_assert_int_eq(json_next(&in), want[i].token);
        if (want[i].raw)
            ck_assert(str_equal(in.raw, str_of(want[i].raw)));
    }
}
END_TEST

static void unescapes(const char *raw, struct str want)
{
    struct buf out = BUF_INIT;
    json_unescape(str_of(raw), &out);
    ck_assert_msg(str_equal(buf_view(&out), want), "%s", raw);
    buf_release(&out);
}

START_TEST(strings)
{
    unescapes("plain", STR("plain"));
    unescapes("", STR(""));
    unescapes("\\\"\\\\\\/\\b\\f\\n\\r\\t", STR("\"\\/\b\f\n\r\t"));
    unescapes("\\u0041\\u00e4\\u20ac", STR("A\xc3\xa4\xe2\x82\xac"));
    unescapes("\\ud83d\\ude00!", STR("\xf0\x9f\x98\x80!"));
    unescapes("\\ud83dx", STR("\xef\xbf\xbdx"));
    unescapes("\\ude00\\ud83d", STR("\xef\xbf\xbd\xef\xbf\xbd"));
    unescapes("\\ud83d\\u0041", STR("\xef\xbf\xbd"
                                    "A"));
    unescapes("\\u0000", (struct str){"", 1});
    ck_assert_uint_eq(json_count(STR("12")), 12);
    ck_assert_uint_eq(json_count(STR("-1")), 0);
    ck_assert_uint_eq(json_count(STR("1.5")), 0);
    ck_assert_uint_eq(json_count(STR("99999999999999999999999")), 0);
}
END_TEST

/* Any bytes, escaped, are the inside of a string that means them. */
START_TEST(there_and_back)
{
    struct buf bytes = BUF_INIT, escaped = BUF_INIT, again = BUF_INIT, text = BUF_INIT;
    uint64_t seed = 7;
    for (int i = 0; i < 2000; i++) {
        buf_clear(&bytes), buf_clear(&escaped), buf_clear(&again), buf_clear(&text);
        for (uint32_t n = help_below(&seed, 40); n > 0; n--)
            buf_byte(&bytes, (uint8_t)help_below(&seed, i % 2 ? 256 : 96));
        json_escape(buf_view(&bytes), &escaped);
        buf_byte(&text, '"');
        buf_str(&text, buf_view(&escaped));
        buf_byte(&text, '"');
        ck_assert(is_json(buf_view(&text)));
        json_unescape(buf_view(&escaped), &again);
        ck_assert(str_equal(buf_view(&bytes), buf_view(&again)));
    }
    buf_release(&bytes), buf_release(&escaped), buf_release(&again), buf_release(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_scan");
    TCase *tests = tcase_create("json_scan");
    tcase_add_loop_test(tests, is_one, 0, GOOD);
    tcase_add_loop_test(tests, is_none, 0, BAD);
    tcase_add_test(tests, torn);
    tcase_add_test(tests, depth);
    tcase_add_test(tests, tokens);
    tcase_add_test(tests, strings);
    tcase_add_test(tests, there_and_back);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
