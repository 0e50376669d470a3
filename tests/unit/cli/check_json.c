/* SPDX-License-Identifier: MIT */
/* Strings of JSON documents: byte for byte what jansson writes, except for characters
 * that a terminal would obey, and base64 for what is not UTF-8. */
#include "cli/json.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* What the document has for these bytes: heap. */
static char *written(const char *bytes, size_t n)
{
    struct doc doc;
    doc_begin(&doc);
    doc_array(&doc, "a");
    doc_bytes(&doc, NULL, bytes, n);
    doc_end(&doc);
    doc_end(&doc);
    ck_assert(!doc.failed && fflush(doc.file) == 0);
    char *text = strdup(doc.text);
    ck_assert(text);
    doc_discard(&doc);
    return text;
}

static bool hidden(unsigned code)
{
    return code == 0x7f || (code >= 0x80 && code < 0xa0) ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f);
}

static size_t encode(char *out, unsigned code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00 >> n & 0xff) | code);
    return n;
}

static unsigned decode(const unsigned char *s, size_t *n)
{
    *n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    unsigned code = *n == 1 ? s[0] : s[0] & (0x7fu >> *n);
    for (size_t i = 1; i < *n; i++)
        code = code << 6 | (s[i] & 0x3fu);
    return code;
}

/* jansson's text, NULL if it refuses the bytes, with hidden characters escaped. */
static char *expected(const char *bytes, size_t n)
{
    json_t *array = json_pack("{s:[o*]}", "a", json_stringn(bytes, n));
    char *dumped = json_dumps(array, JSON_COMPACT);
    bool refused = json_array_size(json_object_get(array, "a")) == 0;
    json_decref(array);
    char *out = calloc(6, strlen(dumped) + 1), *to = out;
    ck_assert(out);
    for (const char *at = dumped; *at;) {
        size_t length;
        unsigned code = decode((const unsigned char *)at, &length);
        if (hidden(code))
            to += snprintf(to, 7, "\\u%04x", code);
        else
            to = (char *)memcpy(to, at, length) + length;
        at += length;
    }
    free(dumped);
    if (!refused)
        return out;
    free(out);
    return NULL;
}

static void compare(const char *bytes, size_t n)
{
    char *ours = written(bytes, n), *theirs = expected(bytes, n);
    if (theirs)
        ck_assert_str_eq(ours, theirs);
    else
        ck_assert_msg(strncmp(ours, "{\"a\":[{\"base64\":\"", 17) == 0, "%s", ours);
    json_t *read = json_loads(ours, JSON_ALLOW_NUL, NULL);
    ck_assert(read);
    if (theirs) {
        json_t *string = json_array_get(json_object_get(read, "a"), 0);
        ck_assert_uint_eq(json_string_length(string), n);
        ck_assert(n == 0 || memcmp(json_string_value(string), bytes, n) == 0);
    }
    json_decref(read);
    free(ours);
    free(theirs);
}

START_TEST(test_every_character)
{
    char text[4096 + 4];
    size_t n = 0;
    for (unsigned code = 0; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        n += encode(text + n, code);
        if (n >= 4096 || code == 0x10ffff) {
            compare(text, n);
            n = 0;
        }
    }
}
END_TEST

START_TEST(test_every_pair_of_bytes)
{
    for (unsigned a = 0; a < 256; a++) {
        char one = (char)a;
        compare(&one, 1);
        for (unsigned b = 0; b < 256; b++) {
            char two[2] = {(char)a, (char)b};
            compare(two, 2);
        }
    }
}
END_TEST

/* Some of them valid, some not, and NUL anywhere. */
START_TEST(test_random)
{
    uint64_t seed = 20261122;
    printf("check_json: seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 20000; round++) {
        char text[80];
        size_t n = 0;
        uint32_t characters = help_below(&seed, 16);
        for (uint32_t i = 0; i < characters; i++) {
            uint32_t bits = 1 + help_below(&seed, 21);
            unsigned code = help_below(&seed, 1u << bits) % 0x110000;
            if (help_below(&seed, 40) == 0)
                text[n++] = (char)help_below(&seed, 256);
            else /* surrogates are among them, which UTF-8 does not have */
                n += encode(text + n, code);
        }
        compare(text, n);
    }
}
END_TEST

/* `text`: as it must be written; NULL: any way. */
static void check_number(double number, const char *text)
{
    struct doc doc;
    doc_begin(&doc);
    doc_exact(&doc, "a", number);
    doc_end(&doc);
    ck_assert(!doc.failed && fflush(doc.file) == 0);
    json_t *read = json_loads(doc.text, 0, NULL);
    double got = json_number_value(json_object_get(read, "a"));
    ck_assert_msg(memcmp(&got, &number, sizeof got) == 0, "%s", doc.text);
    if (text) {
        char want[64];
        snprintf(want, sizeof want, "{\"a\":%s}", text);
        ck_assert_str_eq(doc.text, want);
    }
    json_decref(read);
    doc_discard(&doc);
}

START_TEST(test_base64)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } samples[] = {{"\xff", 1, "/w=="},
                   {"\xff\0", 2, "/wA="},
                   {"\xff\xfe\xfd", 3, "//79"},
                   {"caf\xe9", 4, "Y2Fm6Q=="}};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        char want[64];
        snprintf(want, sizeof want, "{\"a\":[{\"base64\":\"%s\"}]}", samples[i].text);
        char *ours = written(samples[i].bytes, samples[i].n);
        ck_assert_str_eq(ours, want);
        free(ours);
    }
}
END_TEST

/* A number reads back as the same one, in no more digits than that takes. */
START_TEST(test_exact_numbers)
{
    static const struct {
        double number;
        const char *text;
    } samples[] = {{0, "0"},         {1, "1"},         {0.5, "0.5"},     {-0.1, "-0.1"},
                   {0.972, "0.972"}, {1e-07, "1e-07"}, {1e300, "1e+300"}};
    uint64_t seed = 20261123;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        check_number(samples[i].number, samples[i].text);
    for (int round = 0; round < 20000; round++)
        check_number((double)help_below(&seed, 1u << 31) /
                         (1 + help_below(&seed, 1u << 30)),
                     NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *c = tcase_create("json");
    tcase_add_test(c, test_every_character);
    tcase_add_test(c, test_every_pair_of_bytes);
    tcase_add_test(c, test_random);
    tcase_add_test(c, test_base64);
    tcase_add_test(c, test_exact_numbers);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
