/* SPDX-License-Identifier: MIT */
/* Taking secrets out of text: the forms, overlaps, streams. What comes out is compared
 * with a slow oracle that knows nothing of automata and makes base64 by encoding. */
#include "secrets/redact.h"

#include "base/json_scan.h"
#include "base/limits.h"
#include "base/memory.h"
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

static size_t below(uint64_t *seed, size_t n)
{
    return (size_t)(next(seed) % n);
}

/* ---- Encodings, written once more ---- */

static void base64(struct str text, bool for_urls, bool pad, struct buf *out)
{
    const char *letters =
        for_urls ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                 : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < text.len; i += 3) {
        uint32_t three = 0;
        size_t n = text.len - i < 3 ? text.len - i : 3;
        for (size_t j = 0; j < 3; j++)
            three = three << 8 | (j < n ? (uint8_t)text.ptr[i + j] : 0);
        for (size_t j = 0; j < 4; j++)
            if (j <= n)
                buf_byte(out, (uint8_t)letters[three >> (18 - 6 * j) & 63]);
            else if (pad)
                buf_byte(out, '=');
    }
}

static void percent(struct str text, bool upper, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned c = (uint8_t)text.ptr[i];
        if (c < 0x80 && c > 0x20 &&
            strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~",
                   (int)c))
            buf_byte(out, (uint8_t)c);
        else
            buf_format(out, upper ? "%%%02X" : "%%%02x", c);
    }
}

/* ---- The oracle ---- */

enum { FORMS = 24 + 12 }; /* 12 lines of at most 24 bytes */
struct oracle {
    struct buf forms[64 * FORMS];
    size_t n;
};

/* base64 of the value behind `before` bytes: the characters that are the same whatever
 * stands around it. */
static void fixed_base64(struct str value, size_t before, bool for_urls,
                         struct buf *out)
{
    struct buf plain[2] = {BUF_INIT, BUF_INIT}, coded[2] = {BUF_INIT, BUF_INIT};
    for (int i = 0; i < 2; i++) {
        for (size_t j = 0; j < before; j++)
            buf_byte(&plain[i], i ? 0xff : 0);
        buf_str(&plain[i], value);
        for (size_t j = 0; j < 3; j++)
            buf_byte(&plain[i], i ? 0xff : 0);
        base64(buf_view(&plain[i]), for_urls, true, &coded[i]);
    }
    for (size_t i = 0; i < coded[0].size; i++)
        if (coded[0].data[i] == coded[1].data[i] && coded[0].data[i] != '=')
            buf_byte(out, (uint8_t)coded[0].data[i]);
    for (int i = 0; i < 2; i++) {
        buf_release(&plain[i]);
        buf_release(&coded[i]);
    }
}

static struct str without_blanks(struct str text)
{
    while (text.len && strchr(" \t\n\v\f\r", text.ptr[text.len - 1]))
        text.len--;
    while (text.len && strchr(" \t\n\v\f\r", *text.ptr))
        text = (struct str){text.ptr + 1, text.len - 1};
    return text;
}

static void oracle_encoded(struct oracle *oracle, struct str value)
{
    buf_str(&oracle->forms[oracle->n++], value);
    for (size_t i = 0; i < 6; i++)
        fixed_base64(value, i / 2, i % 2, &oracle->forms[oracle->n++]);
    percent(value, false, &oracle->forms[oracle->n++]);
    percent(value, true, &oracle->forms[oracle->n++]);
    for (int upper = 0; upper < 2 && memchr(value.ptr, ' ', value.len); upper++) {
        struct buf coded = BUF_INIT, *form = &oracle->forms[oracle->n++];
        percent(value, upper, &coded);
        for (size_t i = 0; i < coded.size; i++) /* as forms are sent */
            if (coded.size - i >= 3 && memcmp(coded.data + i, "%20", 3) == 0) {
                buf_byte(form, '+');
                i += 2;
            } else {
                buf_byte(form, (uint8_t)coded.data[i]);
            }
        buf_release(&coded);
    }
    json_escape(value, &oracle->forms[oracle->n++]);
}

static void oracle_add(struct oracle *oracle, struct str value)
{
    oracle_encoded(oracle, value);
    value = without_blanks(value);
    if (value.len >= 6)
        oracle_encoded(oracle, value);
    for (size_t i = 0; i < value.len; i++) {
        size_t n = 0;
        while (i + n < value.len && !strchr("\n\r", value.ptr[i + n]))
            n++;
        struct str line = without_blanks((struct str){value.ptr + i, n});
        if (line.len >= 6)
            buf_str(&oracle->forms[oracle->n++], line);
        i += n;
    }
}

/* What the first `limit` bytes of the text become. */
static void oracle_text(const struct oracle *oracle, struct str text, size_t limit,
                        struct buf *out)
{
    char *secret = calloc(1, text.len + 1);
    ck_assert_ptr_nonnull(secret);
    for (size_t f = 0; f < oracle->n; f++) {
        struct str form = buf_view(&oracle->forms[f]);
        for (size_t i = 0; i + form.len <= text.len; i++)
            if (memcmp(text.ptr + i, form.ptr, form.len) == 0)
                memset(secret + i, 1, form.len);
    }
    for (size_t i = 0; i < limit; i++)
        if (!secret[i])
            buf_byte(out, (uint8_t)text.ptr[i]);
        else if (i == 0 || !secret[i - 1])
            buf_text(out, "[REDACTED]");
    free(secret);
}

/* How many bytes at the end of the text begin a form, and are not all of it. */
static size_t oracle_open(const struct oracle *oracle, struct str text)
{
    size_t most = 0;
    for (size_t f = 0; f < oracle->n; f++) {
        struct str form = buf_view(&oracle->forms[f]);
        for (size_t n = most + 1; n <= form.len && n <= text.len; n++)
            if (memcmp(text.ptr + text.len - n, form.ptr, n) == 0)
                most = n;
    }
    return most;
}

static void oracle_release(struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->n; i++)
        buf_release(&oracle->forms[i]);
}

/* ---- Single cases ---- */

static struct redactor *redactor_of(const struct str *values, size_t n)
{
    struct redactor *redactor = NULL;
    struct secret secrets[1000];
    ck_assert_uint_le(n, 1000);
    for (size_t i = 0; i < n; i++)
        secrets[i] = (struct secret){STR("NAME"), values[i]};
    ck_assert_msg(redactor_new(&redactor, secrets, n, &failure) == 0, "%s",
                  failure.text);
    return redactor;
}

/* At once, and byte by byte. */
static void expect_text(const struct redactor *redactor, struct str text,
                        struct str expected)
{
    struct redact_stream stream;
    struct buf out = BUF_INIT;
    redact_text(redactor, text, &out);
    ck_assert_msg(str_equal(buf_view(&out), expected), "%.*s gives %s", (int)text.len,
                  text.ptr, out.data);
    ck_assert(redactor_finds(redactor, text) == !str_equal(text, expected));
    buf_clear(&out);
    redact_begin(&stream, redactor);
    for (size_t i = 0; i < text.len; i++) {
        char *byte = malloc(1);
        ck_assert_ptr_nonnull(byte);
        *byte = text.ptr[i];
        redact_add(&stream, (struct str){byte, 1}, &out);
        free(byte);
    }
    redact_end(&stream, &out);
    ck_assert_msg(str_equal(buf_view(&out), expected), "%.*s gives %s byte by byte",
                  (int)text.len, text.ptr, out.data);
    buf_release(&out);
}

/* `values` separated by |. */
static void expect(const char *values, const char *text, const char *expected)
{
    struct str list[8];
    size_t n = 0;
    for (const char *p = values;; p++) {
        size_t length = strcspn(p, "|");
        list[n++] = (struct str){p, length};
        p += length;
        if (!*p)
            break;
    }
    struct redactor *redactor = redactor_of(list, n);
    expect_text(redactor, str_of(text), str_of(expected));
    redactor_free(redactor);
}

#define R "[REDACTED]"

START_TEST(test_literal)
{
    expect("secret1", "", "");
    expect("secret1", "nothing here", "nothing here");
    expect("secret1", "secret1", R);
    expect("secret1", "a secret1 b", "a " R " b");
    expect("secret1", "ends with secret1", "ends with " R);
    expect("secret1", "secret", "secret");
    expect("secret1", "secresecret1secret", "secre" R "secret");
    expect("secret1", "Secret1", "Secret1");
    expect("aabaac", "aabaabaac", "aab" R);
}
END_TEST

START_TEST(test_adjacent_and_overlapping)
{
    expect("secret1", "secret1secret1", R);
    expect("secret1", "secret1 secret1", R " " R);
    expect("secret1|abcdef", "secret1abcdef.", R ".");
    expect("secret1|abcdef", "abcdefsecret1abcdef", R);
    expect("abcabc", "abcabcabcabca", R "a");
    expect("abcdef|defghi|ghijkl", "xabcdefghijklx", "x" R "x");
    expect("aaaaaa", "aaaaa", "aaaaa");
    expect("aaaaaa", "baaaaaaaaaaab", "b" R "b");
}
END_TEST

START_TEST(test_contained)
{
    expect("secret|secret-longer", "secret-long secret-longer", R "-long " R);
    expect("secret-longer|longer", "secret-longe longer secret-longer",
           "secret-longe " R " " R);
    expect("prefix-middle-suffix|middle", "prefix-middle-suffi prefix-middle-suffix",
           "prefix-" R "-suffi " R);
    /* Two finished ones inside of one that is not: the bytes between them are kept. */
    expect("x aaaaaa y bbbbbb z|aaaaaa|bbbbbb", "x aaaaaa y bbbbbb zx aaaaaa y bbbbbb",
           R "x " R " y " R);
    expect("secret|secret", "a secret", "a " R);
}
END_TEST

/* What is sure to be secret is put out, even if it may be the beginning of more. */
START_TEST(test_put_out_early)
{
    static const struct str values[] = {{"secret", 6}, {"secret-longer", 13}};
    struct redactor *redactor = redactor_of(values, 2);
    struct redact_stream stream;
    struct buf out = BUF_INIT;
    redact_begin(&stream, redactor);
    redact_add(&stream, STR("xsecre"), &out);
    ck_assert(str_equal(buf_view(&out), STR("x")));
    redact_add(&stream, STR("t"), &out);
    ck_assert(str_equal(buf_view(&out), STR("x" R)));
    redact_add(&stream, STR("-longe"), &out);
    ck_assert(str_equal(buf_view(&out), STR("x" R)));
    redact_add(&stream, STR("r."), &out);
    ck_assert(str_equal(buf_view(&out), STR("x" R ".")));
    redact_end(&stream, &out);
    ck_assert(str_equal(buf_view(&out), STR("x" R ".")));
    redact_begin(&stream, redactor); /* once more, and left in the middle */
    redact_add(&stream, STR("secret-secre"), &out);
    redact_release(&stream);
    ck_assert(str_equal(buf_view(&out), STR("x" R "." R "-")));
    redactor_free(redactor);
    buf_release(&out);
}
END_TEST

START_TEST(test_base64)
{
    /* The last character of base64 holds bits of the padding. */
    expect("secret1", "c2VjcmV0MQ==", R "Q==");
    expect("secret", "c2VjcmV0", R);
    expect("secret", "user: dXNlcjpzZWNyZXQ=", "user: dXNlcjp" R "Q=");
    /* of "xxxsecretyyy", "xsecretyy" and "xxsecrety" */
    expect("secret", "eHh4c2VjcmV0eXl5", "eHh4" R "eXl5");
    expect("secret", "eHNlY3JldHl5", "eH" R "Hl5");
    expect("secret", "eHhzZWNyZXR5", "eHh" R "R5");
    expect("\xfb\xff\xfe\xfb\xff\xfe", "+//++//+ -__--__-", R " " R);
}
END_TEST

START_TEST(test_percent)
{
    expect("se/ret+ 1", "x=se%2fret%2b%201&y", "x=" R "&y");
    expect("se/ret+ 1", "x=se%2Fret%2B%201&y", "x=" R "&y");
    expect("se/ret+ 1", "x=se%2Fret%2B+1&y", "x=" R "&y");
    expect("a-b.c_d~", "a-b.c_d~", R);
    expect("p\xc3\xa4ssword", "p%C3%A4ssword", R);
}
END_TEST

START_TEST(test_odd_bytes)
{
    expect("\xff\xfe\x80\x01\x7f\xc0", "a\xff\xfe\x80\x01\x7f\xc0z", "a" R "z");
    expect("line one\nline two", "<line one\nline two>", "<" R ">");
    /* a NUL in the text is a byte like others */
    struct str value = STR("secret1");
    struct redactor *redactor = redactor_of(&value, 1);
    expect_text(redactor, STR("\0secret1\0"), STR("\0" R "\0"));
    expect_text(redactor, STR("secre\0t1"), STR("secre\0t1"));
    redactor_free(redactor);
}
END_TEST

START_TEST(test_line_break_at_the_end)
{
    expect("secret1\n", "a secret1 b", "a " R " b");
    expect("secret1\n", "a secret1\nb", "a " R "b");
    expect("secret1\n\n", "secret1\n\nb secret1\nb secret1", R "b " R "\nb " R);
    expect("secret1\n", "c2VjcmV0MQ== c2VjcmV0MQo=", R "== " R "o=");
    expect("s/cret1\n", "s%2Fcret1 s%2Fcret1%0A", R " " R);
    expect("short\n", "short short\n", "short " R); /* 5 bytes are left of it */
    expect("short6\n", "short6", R);
}
END_TEST

START_TEST(test_blanks_and_lines)
{
    expect("secret1 ", "secret1. c2VjcmV0MQ==", R ". " R "Q==");
    expect(" \tse cret1\r\n", "se cret1 se%20cret1", R " " R);
    expect("   abcde ", "abcde    abcde  ", "abcde " R " "); /* 5 bytes are left */
    expect("first line\n  second\r\nlast\n\nthe end\n",
           "a first line\n    second; last\nthe end.",
           "a " R "\n    " R "; last\n" R ".");
    expect("line 1\nline 2", "line 1\nline 2 line 1 line 2", R " " R " " R);
    expect("say \"one\"", "{\"a\": \"say \\\"one\\\"\"}", "{\"a\": \"" R "\"}");
    expect("short\nlines", "short lines short\nlines", "short lines " R);
}
END_TEST

START_TEST(test_where)
{
    struct redactor *redactor = NULL;
    struct secret secrets[] = {{STR("ONE"), STR("abcdef")},
                               {STR("TWO"), STR("xabcdefy")},
                               {STR("KEY"), STR("line one\nline two")}};
    struct secret_place place;
    ck_assert_int_eq(redactor_new(&redactor, secrets, 3, &failure), 0);
    ck_assert(!redactor_where(redactor, STR("xabcde line"), &place));
    static const struct {
        const char *text, *name;
        size_t from, to;
    } cases[] = {{"a xabcdefy", "ONE", 3, 9},
                 {"YWJjZGVm", "ONE", 0, 8},
                 {"see line two", "KEY", 4, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert(redactor_where(redactor, str_of(cases[i].text), &place));
        ck_assert(str_equal(place.name, str_of(cases[i].name)));
        ck_assert_uint_eq(place.from, cases[i].from);
        ck_assert_uint_eq(place.to, cases[i].to);
    }
    redactor_free(redactor);
}
END_TEST

START_TEST(test_refused)
{
    struct redactor *redactor = NULL;
    struct secret secrets[1001];
    secrets[0] = (struct secret){STR("GOOD"), STR("123456")};
    secrets[1] = (struct secret){STR("SHORT"), STR("12345")};
    ck_assert_int_eq(redactor_new(&redactor, secrets, 2, &failure), CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(failure.text, "SHORT"));
    ck_assert_ptr_null(strstr(failure.text, "12345"));
    secrets[1].value = (struct str){NULL, 0};
    ck_assert_int_eq(redactor_new(&redactor, secrets, 2, &failure), CAIRN_EUSAGE);
    secrets[1] = (struct secret){STR("WITH_NUL"), STR("abc\0def")};
    ck_assert_int_eq(redactor_new(&redactor, secrets, 2, &failure), CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(failure.text, "WITH_NUL"));
    ck_assert_ptr_null(strstr(failure.text, "abc"));
    for (size_t i = 0; i < 1001; i++)
        secrets[i] = secrets[0];
    ck_assert_int_eq(redactor_new(&redactor, secrets, LIMIT_SECRETS + 1, &failure),
                     CAIRN_ELIMIT);
    ck_assert_ptr_null(redactor);
    ck_assert_int_eq(redactor_new(&redactor, secrets, LIMIT_SECRETS, &failure), 0);
    redactor_free(redactor);
}
END_TEST

START_TEST(test_no_secrets)
{
    struct redact_stream stream;
    struct buf out = BUF_INIT;
    struct redactor *redactor = redactor_of(NULL, 0);
    expect_text(redactor, STR("as it is"), STR("as it is"));
    expect_text(NULL, STR("as it is"), STR("as it is"));
    redactor_free(redactor);
    redactor_free(NULL);
    redact_begin(&stream, NULL);
    redact_end(&stream, &out);
    redact_begin(&stream, NULL);
    redact_release(&stream);
    ck_assert_uint_eq(out.size, 0);
    buf_release(&out);
}
END_TEST

/* Memory that runs out must not let anything through. */
START_TEST(test_failed_stream)
{
    struct str value = STR("secret1");
    struct redactor *redactor = redactor_of(&value, 1);
    for (int i = 0; i < 2; i++) {
        struct redact_stream stream;
        struct buf out = BUF_INIT;
        redact_begin(&stream, redactor);
        redact_add(&stream, STR("secre"), &out);
        *(i ? &stream.held.failed : &stream.ranges.failed) = true;
        redact_add(&stream, STR("t1 and more"), &out);
        ck_assert(out.failed && out.size == 0);
        buf_clear(&out);
        redact_add(&stream, STR("more"), &out);
        ck_assert(out.failed && out.size == 0);
        buf_clear(&out);
        redact_end(&stream, &out);
        ck_assert(out.failed && out.size == 0);
        buf_release(&out);
    }
    redactor_free(redactor);
}
END_TEST

/* ---- Against the oracle ---- */

struct trial {
    struct arena arena;
    struct str values[8];
    size_t n;
    struct oracle oracle;
    struct redactor *redactor;
    struct buf text;
};

/* Few letters, so that secrets overlap, contain and begin each other; or any bytes. */
static char any_byte(uint64_t *seed, int style)
{
    static const char few[] = "ab", some[] = "ab\n/% \xff";
    return style == 0   ? few[below(seed, 2)]
           : style == 1 ? some[below(seed, sizeof some - 1)]
                        : (char)(1 + below(seed, 255));
}

static void plant(struct trial *t, uint64_t *seed)
{
    struct str value = t->values[below(seed, t->n)];
    struct buf plain = BUF_INIT;
    if (below(seed, 3) == 0) /* some real base64 of more than the secret */
        for (size_t i = below(seed, 5); i > 0; i--)
            buf_byte(&plain, (uint8_t)below(seed, 256));
    buf_str(&plain, value);
    if (below(seed, 3) == 0)
        buf_byte(&plain, (uint8_t)below(seed, 256));
    switch (below(seed, 6)) {
    case 0:
        base64(buf_view(&plain), below(seed, 2), below(seed, 2), &t->text);
        break;
    case 1:
        percent(buf_view(&plain), below(seed, 2), &t->text);
        break;
    case 2: /* only a part */
        buf_add(&t->text, value.ptr, below(seed, value.len));
        break;
    case 3: {
        struct str form = buf_view(&t->oracle.forms[below(seed, t->oracle.n)]);
        buf_add(&t->text, form.ptr, form.len - below(seed, 2));
        break;
    }
    default:
        buf_str(&t->text, value);
    }
    buf_release(&plain);
}

static void trial_init(struct trial *t, uint64_t *seed)
{
    *t = (struct trial){.n = 1 + below(seed, 8)};
    int style = (int)below(seed, 3);
    for (size_t i = 0; i < t->n; i++) {
        char value[24];
        size_t n = 6 + below(seed, sizeof value - 8);
        if (i && below(seed, 3) == 0) { /* a longer one of the one before */
            n = t->values[i - 1].len;
            memcpy(value, t->values[i - 1].ptr, n);
            if (n < sizeof value)
                value[n++] = any_byte(seed, style);
        } else
            for (size_t j = 0; j < n; j++)
                value[j] = any_byte(seed, style);
        if (below(seed, 4) == 0)
            value[n - 1] = '\n';
        t->values[i] = arena_str(&t->arena, (struct str){value, n});
        oracle_add(&t->oracle, t->values[i]);
    }
    t->redactor = redactor_of(t->values, t->n);
    for (size_t i = below(seed, 12); i > 0; i--) {
        for (size_t j = below(seed, 10); j > 0 && below(seed, 2); j--)
            buf_byte(&t->text, (uint8_t)any_byte(seed, style));
        plant(t, seed);
    }
}

static void trial_release(struct trial *t)
{
    redactor_free(t->redactor);
    oracle_release(&t->oracle);
    buf_release(&t->text);
    arena_release(&t->arena);
}

/* Random cuts. After each everything is out but what may still become a secret. */
static void run_cuts(const struct trial *t, struct str expected, uint64_t *seed)
{
    struct redact_stream stream;
    struct buf out = BUF_INIT, before = BUF_INIT;
    redact_begin(&stream, t->redactor);
    for (size_t at = 0; at < t->text.size;) {
        size_t most = below(seed, 2) ? 4 : t->text.size;
        size_t n = below(seed, most + 1);
        if (n > t->text.size - at)
            n = t->text.size - at;
        redact_add(&stream, (struct str){t->text.data + at, n}, &out);
        at += n;
        struct str seen = {t->text.data, at};
        size_t open = oracle_open(&t->oracle, seen);
        ck_assert_uint_le(stream.held.size - stream.held_start, open);
        buf_clear(&before);
        oracle_text(&t->oracle, seen, at - open, &before);
        ck_assert_uint_ge(out.size, before.size);
        ck_assert(before.size == 0 || memcmp(out.data, before.data, before.size) == 0);
    }
    redact_end(&stream, &out);
    ck_assert_msg(str_equal(buf_view(&out), expected), "a stream gives something else");
    buf_release(&out);
    buf_release(&before);
}

START_TEST(test_against_oracle)
{
    uint64_t seed = (uint64_t)time(NULL);
    unsigned found = 0, rounds = 1500;
    printf("redact: seed %llu\n", (unsigned long long)seed);
    for (unsigned round = 0; round < rounds; round++) {
        struct trial t;
        struct buf expected = BUF_INIT, out = BUF_INIT;
        uint64_t start = seed;
        trial_init(&t, &seed);
        struct str text = buf_view(&t.text);
        oracle_text(&t.oracle, text, text.len, &expected);
        redact_text(t.redactor, text, &out);
        ck_assert_msg(str_equal(buf_view(&out), buf_view(&expected)),
                      "round %u, state %llu: `%s` gives `%s`, not `%s`", round,
                      (unsigned long long)start, text.ptr, out.data, expected.data);
        bool finds = !str_equal(text, buf_view(&expected));
        ck_assert(redactor_finds(t.redactor, text) == finds);
        found += finds;
        for (int i = 0; i < 3; i++)
            run_cuts(&t, buf_view(&expected), &seed);
        buf_release(&expected);
        buf_release(&out);
        trial_release(&t);
    }
    ck_assert_uint_gt(found, rounds / 4);
    ck_assert_uint_lt(found, rounds);
}
END_TEST

/* ---- Many ---- */

START_TEST(test_thousand_secrets)
{
    uint64_t seed = (uint64_t)time(NULL);
    struct arena arena = ARENA_INIT;
    struct str *values = arena_take(&arena, 1000, sizeof *values);
    struct buf text = BUF_INIT, expected = BUF_INIT;
    printf("thousand: seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < 1000; i++) {
        char value[48];
        int n = snprintf(value, sizeof value, "%zu/%016llx+", i,
                         (unsigned long long)next(&seed));
        values[i] = arena_str(&arena, (struct str){value, (size_t)n});
    }
    struct redactor *redactor = redactor_of(values, 1000);
    for (size_t i = 0; i < 1000; i++) {
        buf_format(&text, "(%zu: ", i);
        buf_format(&expected, "(%zu: ", i);
        if (i % 3 == 0)
            buf_str(&text, values[i]);
        else if (i % 3 == 1)
            percent(values[i], i % 2, &text);
        else
            fixed_base64(values[i], i % 5 % 3, i % 2, &text);
        buf_text(&text, ")\n");
        buf_text(&expected, R ")\n");
    }
    expect_text(redactor, buf_view(&text), buf_view(&expected));
    redactor_free(redactor);
    buf_release(&text);
    buf_release(&expected);
    arena_release(&arena);
}
END_TEST

static void expect_quoted(const char *text, const char *expected)
{
    struct secret secret = {STR("A"), STR("0123456789abcdef")};
    struct redactor *redactor;
    struct buf out = BUF_INIT;
    ck_assert_int_eq(redactor_new(&redactor, &secret, 1, &failure), 0);
    redact_quoted(redactor, str_of(text), &out);
    buf_byte(&out, 0);
    ck_assert_str_eq(out.data, expected);
    redactor_free(redactor);
    buf_release(&out);
}

START_TEST(test_quoted)
{
    expect_quoted("'0123456789abcdef'", "'" R "'");
    expect_quoted("'0123456789abcde' is none", "'" R "' is none");
    expect_quoted("x0123456789ab", "x" R);
    expect_quoted("'0123456789a' is too short", "'0123456789a' is too short");
    expect_quoted("0123456789ab0123456789abcdef", R);
    expect_quoted("456789abcdef", "456789abcdef");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("redact");
    TCase *c = tcase_create("cases");
    tcase_add_test(c, test_literal);
    tcase_add_test(c, test_adjacent_and_overlapping);
    tcase_add_test(c, test_contained);
    tcase_add_test(c, test_put_out_early);
    tcase_add_test(c, test_base64);
    tcase_add_test(c, test_percent);
    tcase_add_test(c, test_odd_bytes);
    tcase_add_test(c, test_line_break_at_the_end);
    tcase_add_test(c, test_blanks_and_lines);
    tcase_add_test(c, test_where);
    tcase_add_test(c, test_quoted);
    tcase_add_test(c, test_refused);
    tcase_add_test(c, test_no_secrets);
    tcase_add_test(c, test_failed_stream);
    suite_add_tcase(suite, c);
    c = tcase_create("many");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, test_against_oracle);
    tcase_add_test(c, test_thousand_secrets);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
