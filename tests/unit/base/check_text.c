/* SPDX-License-Identifier: MIT */
/* The small modules about texts and pauses: UTF-8, identifiers, words of a shell,
 * backoff. */
#include "base/clock.h"
#include "base/utf8.h"
#include "base/words.h"

#include "tests/support/suite.h"

/* 0: refused. */
static uint32_t decode(struct str bytes, size_t length)
{
    uint32_t code = 0;
    size_t n = utf8_next(bytes.ptr, bytes.ptr + bytes.len, &code);
    ck_assert_uint_eq(n, length);
    return code;
}

START_TEST(test_utf8)
{
    ck_assert_uint_eq(decode(STR("a\xc3"), 1), 'a');
    ck_assert_uint_eq(decode(STR("\xc2\x80"), 2), 0x80);
    ck_assert_uint_eq(decode(STR("\xef\xbf\xbf"), 3), 0xffff);
    ck_assert_uint_eq(decode(STR("\xf4\x8f\xbf\xbf"), 4), 0x10ffff);
    static const struct str refused[] = {
        STR(""),                 /* the end */
        STR("\x80"),             /* no first byte */
        STR("\xc3"),             /* cut */
        STR("\xe2\x82"),         /* cut */
        STR("\xc3("),            /* no second byte */
        STR("\xc1\xbf"),         /* overlong, 2 bytes */
        STR("\xe0\x9f\xbf"),     /* overlong, 3 bytes */
        STR("\xf0\x8f\xbf\xbf"), /* overlong, 4 bytes */
        STR("\xed\xa0\x80"),     /* a surrogate */
        STR("\xf4\x90\x80\x80"), /* above U+10FFFF */
        STR("\xff")};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        decode(refused[i], 0);
}
END_TEST

START_TEST(test_utf8_fit)
{
    struct str text = STR("a\xc3\xa9\xe2\x82\xac!"); /* 1, 2, 3 and 1 bytes */
    static const size_t fit[] = {0, 1, 1, 3, 3, 3, 6, 7, 7};
    for (size_t max = 0; max < sizeof fit / sizeof *fit; max++)
        ck_assert_uint_eq(utf8_fit(text, max), fit[max]);
    /* Bytes that are no UTF-8 are cut anywhere. */
    ck_assert_uint_ge(utf8_fit(STR("\x80\x80\x80\x80\x80\x80\x80\x80"), 6), 2);
}
END_TEST

START_TEST(test_utf8_skip_rest)
{
    struct str text = STR("a\xc3\xa9\xe2\x82\xac!");
    static const size_t left[] = {0, 1, 1, 1, 4, 4, 6, 7}; /* of the last n bytes */
    for (size_t n = 0; n <= text.len; n++) {
        struct str end = {text.ptr + text.len - n, n};
        ck_assert_uint_eq(utf8_skip_rest(end).len, left[n]);
    }
    /* Bytes that are no UTF-8 are not all skipped. */
    ck_assert_uint_eq(utf8_skip_rest(STR("\x80\x80\x80\x80\x80")).len, 2);
}
END_TEST

START_TEST(test_shell_words)
{
    static const struct str cases[][2] = {{STR("--level=3"), STR("--level=3")},
                                          {STR(""), STR("''")},
                                          {STR("a b"), STR("'a b'")},
                                          {STR("$HOME"), STR("'$HOME'")},
                                          {STR("~"), STR("'~'")},
                                          {STR("it's"), STR("'it'\\''s'")},
                                          {STR("a\nb"), STR("'a\nb'")},
                                          {STR("\xc3\xa9"), STR("'\xc3\xa9'")}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf word = BUF_INIT;
        char out[SHELL_WORD_ROOM(10)];
        buf_shell_word(&word, cases[i][0]);
        ck_assert(!word.failed && str_equal(buf_view(&word), cases[i][1]));
        ck_assert_str_eq(shell_word_in(out, sizeof out, cases[i][0]), word.data);
        buf_release(&word);
    }
    char out[SHELL_WORD_ROOM(4)];
    ck_assert_str_eq(shell_word_in(out, sizeof out, STR("a''b")), "'a'\\'''\\''b'");
    ck_assert_str_eq(shell_word_in(out, sizeof out, STR("longer")), "NAME");
}
END_TEST

START_TEST(test_identifiers)
{
    static const struct {
        struct str text;
        bool id, key, env_name;
    } cases[] = {
        {STR("a_1"), true, true, true},        {STR("_"), true, true, true},
        {STR("A"), true, false, true},         {STR("1a"), true, false, false},
        {STR("a.b-c"), true, false, false},    {STR(".a"), false, false, false},
        {STR("-a"), false, false, false},      {STR(""), false, false, false},
        {STR("a b"), false, false, false},     {STR("a\0b"), false, false, false},
        {STR("\xc3\xa9"), false, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(str_is_id(cases[i].text), cases[i].id);
        ck_assert_int_eq(str_is_key(cases[i].text), cases[i].key);
        ck_assert_int_eq(str_is_env_name(cases[i].text), cases[i].env_name);
    }
}
END_TEST

START_TEST(test_backoff)
{
    enum { DAY_MS = 86400000 };
    struct backoff same = {.delay_ms = 100, .factor_permille = 1000},
                   twice = {.delay_ms = 100, .factor_permille = 2000},
                   random = {.delay_ms = 100, .factor_permille = 1000, .jitter = true};
    ck_assert_int_eq(backoff_delay_ms(&same, 1), 100);
    ck_assert_int_eq(backoff_delay_ms(&same, 9), 100);
    ck_assert_int_eq(backoff_delay_ms(&twice, 1), 100);
    ck_assert_int_eq(backoff_delay_ms(&twice, 4), 800);
    ck_assert_int_eq(backoff_delay_ms(&twice, UINT32_MAX), DAY_MS);
    int64_t least = DAY_MS, most = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t delay = backoff_delay_ms(&random, 1);
        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
    }
    ck_assert(least >= 50 && most <= 150 && least < 75 && most > 125);
}
END_TEST

START_TEST(test_pauses_double)
{
    int64_t pause_ns = 1;
    backoff_sleep(&pause_ns, 3);
    ck_assert_int_eq(pause_ns, 2);
    backoff_sleep(&pause_ns, 3);
    ck_assert_int_eq(pause_ns, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *c = tcase_create("text");
    tcase_add_test(c, test_utf8);
    tcase_add_test(c, test_utf8_fit);
    tcase_add_test(c, test_utf8_skip_rest);
    tcase_add_test(c, test_shell_words);
    tcase_add_test(c, test_identifiers);
    tcase_add_test(c, test_backoff);
    tcase_add_test(c, test_pauses_double);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
