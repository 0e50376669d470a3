/* SPDX-License-Identifier: MIT */
/* The context of an agent: what it may be, and its bytes. */
#include "session/outside.h"

#include "tests/support/suite.h"

#include <stdlib.h>

static const char commit[] = "0123456789abcdef0123456789abcdef01234567";

static int encode(struct context *context, struct buf *out)
{
    struct cairn_error error = {0};
    buf_clear(out);
    return context_encode(context, out, &error);
}

static int decode(struct arena *arena, struct str bytes, struct context *out)
{
    struct cairn_error error = {0};
    int rc = context_decode(arena, bytes, out, &error);
    ck_assert(rc == 0 || error.code == rc);
    return rc;
}

static struct context whole(struct context_pair pairs[2])
{
    pairs[0] = (struct context_pair){STR("next"), STR("run the tests")};
    pairs[1] = (struct context_pair){STR("error"), STR("")};
    return (struct context){.summary = STR("a summary"),
                            .description = STR("two\nlines"),
                            .state = STR("{}"),
                            .pairs = pairs,
                            .n_pairs = 2,
                            .has_tokens = true,
                            .tokens = 1200,
                            .has_usage = true,
                            .usage = 780000,
                            .threshold = 75,
                            .branch = STR("main"),
                            .commit = STR("0123456789abcdef0123456789abcdef01234567")};
}

START_TEST(test_round_trip)
{
    struct context_pair pairs[2];
    struct context given = whole(pairs), found;
    struct arena arena = ARENA_INIT;
    struct buf bytes = BUF_INIT, again = BUF_INIT;
    ck_assert_int_eq(encode(&given, &bytes), 0);
    ck_assert_int_eq(decode(&arena, buf_view(&bytes), &found), 0);
    ck_assert_str_eq(found.summary.ptr, "a summary");
    ck_assert_str_eq(found.description.ptr, "two\nlines");
    ck_assert_str_eq(found.state.ptr, "{}");
    ck_assert_uint_eq(found.n_pairs, 2);
    ck_assert_str_eq(found.pairs[0].key.ptr, "error");
    ck_assert_str_eq(found.pairs[0].value.ptr, "");
    ck_assert_str_eq(found.pairs[1].key.ptr, "next");
    ck_assert(found.has_tokens && found.tokens == 1200);
    ck_assert(found.has_usage && found.usage == 780000 && found.threshold == 75);
    ck_assert_str_eq(found.branch.ptr, "main");
    ck_assert_str_eq(found.commit.ptr, commit);
    ck_assert_uint_eq(context_given(&found), 5);
    /* 9 + 9 + 2 + 4 + 13 + 5 bytes, by four. */
    ck_assert_uint_eq(context_estimate(&found), 11);
    ck_assert_int_eq(encode(&found, &again), 0);
    ck_assert(str_equal(buf_view(&bytes), buf_view(&again)));
    arena_release(&arena);
    buf_release(&bytes);
    buf_release(&again);
}
END_TEST

/* What a reader takes, it would write as the very same bytes. */
static void must_be_canonical(struct str bytes)
{
    struct arena arena = ARENA_INIT;
    struct buf again = BUF_INIT;
    struct context found;
    int rc = decode(&arena, bytes, &found);
    ck_assert(rc == 0 || rc == CAIRN_EDAMAGED);
    if (rc == 0) {
        ck_assert_int_eq(encode(&found, &again), 0);
        ck_assert(str_equal(buf_view(&again), bytes));
    }
    arena_release(&arena);
    buf_release(&again);
}

START_TEST(test_damage)
{
    struct context_pair pairs[2];
    struct context given = whole(pairs), found;
    struct arena arena = ARENA_INIT;
    struct buf bytes = BUF_INIT;
    ck_assert_int_eq(encode(&given, &bytes), 0);
    for (size_t i = 0; i < bytes.size; i++)
        ck_assert_int_eq(decode(&arena, (struct str){bytes.data, i}, &found),
                         CAIRN_EDAMAGED);
    for (size_t i = 0; i < bytes.size; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes.data[i] = (char)(bytes.data[i] ^ 1 << bit);
            must_be_canonical(buf_view(&bytes));
            bytes.data[i] = (char)(bytes.data[i] ^ 1 << bit);
        }
    buf_byte(&bytes, 0);
    ck_assert_int_eq(decode(&arena, buf_view(&bytes), &found), CAIRN_EDAMAGED);
    arena_release(&arena);
    buf_release(&bytes);
}
END_TEST

/* So many characters of two bytes, and one of another size in front. */
static struct str characters(size_t n)
{
    static char text[2 * 10001 + 4];
    memcpy(text, "\xe2\x82\xac", 3);
    for (size_t i = 0; i + 1 < n; i++)
        memcpy(text + 3 + 2 * i, "\xc3\xa4", 2);
    return (struct str){text, 3 + 2 * (n - 1)};
}

static int try_one(struct context *context)
{
    struct buf bytes = BUF_INIT;
    int rc = encode(context, &bytes);
    buf_release(&bytes);
    return rc;
}

START_TEST(test_limits)
{
    struct context_pair pair = {STR("k"), STR("v")};
    struct context one = {.summary = characters(500)};
    ck_assert_int_eq(try_one(&one), 0);
    one.summary = characters(501);
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    one = (struct context){.description = characters(10000)};
    ck_assert_int_eq(try_one(&one), 0);
    one.description = characters(10001);
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    one = (struct context){.pairs = &pair, .n_pairs = 1};
    pair.key = characters(50);
    ck_assert_int_eq(try_one(&one), 0);
    pair.key = characters(51);
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    pair.key = STR("a\nb");
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    pair.key = STR("");
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    pair = (struct context_pair){STR("k"), characters(500)};
    ck_assert_int_eq(try_one(&one), 0);
    pair.value = characters(501);
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    pair.value = STR("\xff");
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
}
END_TEST

START_TEST(test_pairs)
{
    struct context_pair pairs[CONTEXT_PAIRS + 1];
    char keys[CONTEXT_PAIRS + 1][4];
    for (unsigned i = 0; i <= CONTEXT_PAIRS; i++) {
        snprintf(keys[i], sizeof keys[i], "%u", i);
        pairs[i] = (struct context_pair){str_of(keys[i]), STR("")};
    }
    struct context many = {.pairs = pairs, .n_pairs = CONTEXT_PAIRS};
    ck_assert_int_eq(try_one(&many), 0);
    many.n_pairs++;
    ck_assert_int_eq(try_one(&many), CAIRN_EUSAGE);
    many.n_pairs = 2;
    pairs[0].key = pairs[1].key = STR("same");
    ck_assert_int_eq(try_one(&many), CAIRN_EUSAGE);
    many.n_pairs = 0;
    ck_assert_int_eq(try_one(&many), CAIRN_EUSAGE); /* nothing at all */
}
END_TEST

START_TEST(test_state)
{
    char *text = malloc(CONTEXT_STATE + 1);
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', CONTEXT_STATE + 1);
    struct context one = {.state = {text, CONTEXT_STATE}};
    ck_assert_int_eq(try_one(&one), 0);
    one.state.len++;
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    one.state = (struct str){"a\0b", 3};
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    free(text);
}
END_TEST

START_TEST(test_numbers)
{
    struct context one = {.has_tokens = true, .tokens = (UINT64_C(1) << 40) - 1};
    ck_assert_int_eq(try_one(&one), 0);
    one.tokens++;
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    one = (struct context){.has_usage = true, .usage = 1000000};
    ck_assert_int_eq(try_one(&one), 0);
    one.usage++;
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    one = (struct context){.has_usage = true, .usage = 749999, .threshold = 50};
    ck_assert_int_eq(try_one(&one), 0);
    one.threshold = 75; /* not reached */
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    one.threshold = 30; /* there is none */
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    one = (struct context){.summary = STR("s"), .threshold = 25}; /* of no usage */
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
}
END_TEST

START_TEST(test_git)
{
    struct context one = {.commit = {commit, 40}};
    ck_assert_int_eq(try_one(&one), 0);
    one.commit.len = 39;
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
    one.commit = STR("0123456789ABCDEF0123456789abcdef01234567");
    ck_assert_int_eq(try_one(&one), CAIRN_EUSAGE);
}
END_TEST

START_TEST(test_thresholds)
{
    static const struct {
        uint32_t usage;
        unsigned reached;
    } cases[] = {{0, 0},       {249999, 0},  {250000, 25}, {499999, 25}, {500000, 50},
                 {749999, 50}, {750000, 75}, {899999, 75}, {900000, 90}, {1000000, 90}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_uint_eq(context_threshold(cases[i].usage), cases[i].reached);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("context");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, test_round_trip);
    tcase_add_test(tests, test_damage);
    tcase_add_test(tests, test_limits);
    tcase_add_test(tests, test_pairs);
    tcase_add_test(tests, test_state);
    tcase_add_test(tests, test_numbers);
    tcase_add_test(tests, test_git);
    tcase_add_test(tests, test_thresholds);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
