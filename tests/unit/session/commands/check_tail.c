/* SPDX-License-Identifier: MIT */
/* The end of an output: the same wherever it was cut into parts, without secrets, and
 * always text that an item can have. */
#include "base/utf8.h"
#include "session/commands/command_run.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

static struct cairn_error failure;
static struct redactor *redactor;

static void set_up(void)
{
    const struct secret secret = {STR("NAME"), STR("swordfish")};
    ck_assert_int_eq(redactor_new(&redactor, &secret, 1, &failure), 0);
}

static void tear_down(void)
{
    redactor_free(redactor);
}

/* In two parts, the first of `cut` bytes. */
static struct buf tail_of(struct str text, size_t cut)
{
    struct tail tail;
    struct buf out = BUF_INIT;
    tail_begin(&tail, redactor);
    tail_add(&tail, (struct str){text.ptr, cut});
    tail_add(&tail, (struct str){text.ptr + cut, text.len - cut});
    ck_assert_int_eq(tail_end(&tail, &out, &failure), 0);
    tail_release(&tail);
    return out;
}

static void expect(struct str text, size_t cut, struct str wanted)
{
    struct buf out = tail_of(text, cut);
    ck_assert_msg(str_equal(buf_view(&out), wanted), "cut at %zu: %.*s", cut,
                  (int)out.size, out.data ? out.data : "");
    buf_release(&out);
}

START_TEST(every_cut_gives_the_same)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"it is swordfish.\n", "it is [REDACTED].\n"},
        {"c3dvcmRmaXNo in base64", "[REDACTED] in base64"},
        {"key AKIAIOSFODNN7EXAMPLE, sk-proj-abcdefghijklmnopqrstuvwx",
         "key [REDACTED], [REDACTED]"},
        {"-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n",
         "[REDACTED]\n"},
        {"a\xc3\xa4\xff\xe2\x82", "a\xc3\xa4\\xff\\xe2\\x82"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str text = str_of(cases[i].text);
        for (size_t cut = 0; cut <= text.len; cut++)
            expect(text, cut, str_of(cases[i].wanted));
    }
    for (size_t cut = 0; cut <= 3; cut++)
        expect((struct str){"a\0b", 3}, cut, STR("a\\x00b"));
}
END_TEST

static bool is_text(struct str text)
{
    uint32_t code = 1;
    size_t n = 1;
    for (const char *at = text.ptr, *end = at + text.len; at < end && n && code;
         at += n)
        n = utf8_next(at, end, &code);
    return n && code;
}

/* A secret at any place before, at and behind the beginning of the tail. */
START_TEST(the_tail_has_no_rest_of_a_secret)
{
    static const char *const secrets[] = {"AKIAIOSFODNN7EXAMPLE", "swordfish"};
    static char text[TAIL_BYTES + 200];
    for (size_t i = 0; i < 2; i++)
        for (size_t place = 0; place < 170; place++) {
            size_t n = strlen(secrets[i]);
            memset(text, ' ', sizeof text);
            memcpy(text + place, secrets[i], n);
            struct buf out = tail_of((struct str){text, sizeof text}, place + 3);
            ck_assert_uint_le(out.size, TAIL_BYTES);
            for (size_t rest = 0; rest + 4 <= n; rest++)
                ck_assert(!memmem(out.data, out.size, secrets[i] + rest, 4));
            buf_release(&out);
        }
}
END_TEST

START_TEST(a_private_key_that_began_long_before_is_recognised)
{
    static char text[40 << 10];
    static const char begin[] = "-----BEGIN PRIVATE KEY-----\n";
    memset(text, 'M', sizeof text);
    memcpy(text, begin, sizeof begin - 1);
    struct buf out = tail_of((struct str){text, sizeof text}, 17);
    ck_assert(str_equal(buf_view(&out), STR("[REDACTED]")));
    buf_release(&out);
}
END_TEST

START_TEST(random_bytes_become_text)
{
    uint64_t seed = 7;
    static char text[200 << 10];
    for (int round = 0; round < 60; round++) {
        size_t n = help_below(&seed, sizeof text);
        bool wide = round % 2;
        for (size_t i = 0; i < n; i++)
            text[i] = wide ? "\xe2\x82\xac"[i % 3] : (char)help_below(&seed, 256);
        struct buf out =
            tail_of((struct str){text, n}, help_below(&seed, (uint32_t)n + 1));
        ck_assert_uint_le(out.size, TAIL_BYTES);
        ck_assert(!out.size || is_text(buf_view(&out)));
        ck_assert(n < 16 || out.size >= (n < 4000 ? n / 2 : 4000));
        buf_release(&out);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tail");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, every_cut_gives_the_same);
    tcase_add_test(tests, the_tail_has_no_rest_of_a_secret);
    tcase_add_test(tests, a_private_key_that_began_long_before_is_recognised);
    tcase_add_test(tests, random_bytes_become_text);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
