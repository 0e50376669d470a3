/* SPDX-License-Identifier: MIT */
/* Lines of an exported file: what is written is read back, and nothing else than JSON
 * objects of texts and numbers is read. */
#include "session/transfer/line.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <string.h>

static struct line line;
static char bytes[4096];

static bool parse(const char *text)
{
    size_t n = strlen(text);
    ck_assert_uint_lt(n, sizeof bytes);
    memcpy(bytes, text, n);
    return line_parse(bytes, n, &line);
}

static void expect_text(const char *key, const char *wanted)
{
    struct str found;
    ck_assert(line_get_text(&line, key, &found));
    ck_assert_msg(str_equal(found, str_of(wanted)), "%.*s, not %s", (int)found.len,
                  found.ptr, wanted);
}

START_TEST(test_written_is_read)
{
    struct buf out = BUF_INIT, content = BUF_INIT;
    struct digest digest, found;
    uint64_t number;
    int64_t time_ns;
    memset(&digest, 0xa5, sizeof digest);
    line_begin(&out, "thing");
    line_text(&out, "name", STR("a \"b\" \\ \n\t\x01 caf\xc3\xa9 {},:"));
    line_number(&out, "most", UINT64_MAX);
    line_time(&out, "time", -17);
    line_digest(&out, "digest", &digest);
    line_bytes(&out, "content", STR("\0\xff\x10 any"));
    line_end(&out);
    ck_assert_int_eq(buf_check(&out, NULL), 0);
    ck_assert_ptr_eq(memchr(out.data, '\n', out.size), out.data + out.size - 1);
    ck_assert(line_parse(out.data, out.size - 1, &line));
    expect_text("type", "thing");
    expect_text("name", "a \"b\" \\ \n\t\x01 caf\xc3\xa9 {},:");
    ck_assert(line_get_number(&line, "most", &number) && number == UINT64_MAX);
    ck_assert(line_get_time(&line, "time", &time_ns) && time_ns == -17);
    ck_assert(line_get_digest(&line, "digest", &found) &&
              digest_equal(&found, &digest));
    ck_assert(line_get_bytes(&line, "content", &content));
    ck_assert(str_equal(buf_view(&content), STR("\0\xff\x10 any")));
    ck_assert(!line_get_number(&line, "name", &number));
    ck_assert(!line_get_time(&line, "most", &time_ns));
    ck_assert(!line_get_digest(&line, "name", &found));
    ck_assert(!line_get_text(&line, "nothing", &(struct str){NULL, 0}));
    buf_release(&out);
    buf_release(&content);
}
END_TEST

START_TEST(test_bytes_of_each_length)
{
    uint64_t seed = 1;
    for (size_t n = 0; n < 200; n++) {
        struct buf out = BUF_INIT, back = BUF_INIT;
        char random[200];
        for (size_t i = 0; i < n; i++)
            random[i] = (char)help_below(&seed, 256);
        line_begin(&out, "x");
        line_bytes(&out, "b", (struct str){random, n});
        line_end(&out);
        ck_assert(line_parse(out.data, out.size - 1, &line));
        ck_assert(line_get_bytes(&line, "b", &back));
        ck_assert(str_equal(buf_view(&back), (struct str){random, n}));
        buf_release(&out);
        buf_release(&back);
    }
}
END_TEST

/* What other programs write that keep the content. */
START_TEST(test_other_spellings)
{
    ck_assert(parse(" { \"a\" : \"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\/\\b\\f\\r\" ,"
                    "\t\"b\":12 } "));
    expect_text("a", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80/\b\f\r");
    ck_assert(parse("{\"a\":\"1\",\"a\":\"2\"}"));
    expect_text("a", "1");
}
END_TEST

START_TEST(test_what_is_refused)
{
    static const char *const wrong[] = {"",
                                        "{",
                                        "{}",
                                        "[]",
                                        "null",
                                        "{\"a\"}",
                                        "{\"a\":}",
                                        "{\"a\":1",
                                        "{\"a\":1,}",
                                        "{\"a\":1}x",
                                        "{\"a\":-1}",
                                        "{\"a\":1.5}",
                                        "{\"a\":true}",
                                        "{\"a\":{}}",
                                        "{\"a\":[1]}",
                                        "{\"a\":\"b}",
                                        "{\"a\":\"\\x\"}",
                                        "{\"a\":\"\\u12\"}",
                                        "{\"a\":\"\\u0000\"}",
                                        "{\"a\":\"\\ud800\"}",
                                        "{\"a\":\"\\ud800\\u0041\"}",
                                        "{\"a\":\"\\udc00\"}",
                                        "{\"a\":\"\t\"}",
                                        "{\"a\":\"\\",
                                        "{\"a\":18446744073709551616}",
                                        "{a:1}"};
    static const char *const no_base64[] = {"A",        "AA",   "AAA",  "AA=A",
                                            "A===",     "====", "AAB=", "AB==",
                                            "AA==AAAA", "A A=", "AA-_", "AAA\xc3"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(!parse(wrong[i]), "%s", wrong[i]);
    for (size_t i = 0; i < sizeof no_base64 / sizeof no_base64[0]; i++) {
        char text[64];
        struct buf out = BUF_INIT;
        snprintf(text, sizeof text, "{\"b\":\"%s\"}", no_base64[i]);
        ck_assert(parse(text));
        ck_assert_msg(!line_get_bytes(&line, "b", &out), "%s", no_base64[i]);
        buf_release(&out);
    }
}
END_TEST

START_TEST(test_too_many_members)
{
    char text[1024] = "{";
    for (int i = 0; i <= LINE_MEMBERS_MOST; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s\"k%d\":%d", i ? "," : "", i, i);
        n = strlen(text);
        snprintf(text + n, sizeof text - n, "}");
        ck_assert(parse(text) == (i < LINE_MEMBERS_MOST));
        text[n] = 0;
    }
}
END_TEST

/* Any change of a line is read as something else, or not at all, within its bounds
 * (which the sanitizers look at). */
START_TEST(test_damage)
{
    static const char sound[] = "{\"type\":\"object\",\"size\":19,\"text\":"
                                "\"\\u00e9\\n\",\"content\":\"AQE=\"}";
    uint64_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        struct buf out = BUF_INIT;
        size_t n = sizeof sound - 1 - help_below(&seed, 3);
        char *copy = malloc(n);
        ck_assert(copy);
        memcpy(copy, sound, n);
        for (uint32_t k = help_below(&seed, 3); k > 0; k--)
            copy[help_below(&seed, (uint32_t)n)] = (char)help_below(&seed, 256);
        if (line_parse(copy, n, &line))
            line_get_bytes(&line, "content", &out);
        buf_release(&out);
        free(copy);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("line");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_written_is_read);
    tcase_add_test(c, test_bytes_of_each_length);
    tcase_add_test(c, test_other_spellings);
    tcase_add_test(c, test_what_is_refused);
    tcase_add_test(c, test_too_many_members);
    tcase_add_test(c, test_damage);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
