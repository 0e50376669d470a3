/* SPDX-License-Identifier: MIT */
/* The environment of checkpoints: what it can be said to be, and its bytes. */
#include "session/outside.h"

#include "tests/support/suite.h"

#include <stdlib.h>

START_TEST(test_lists)
{
    static const char *const good[] = {"", "A", "_a1", "A,B", "A*", "A*,B,C_*"};
    static const char *const bad[] = {"*",  "A,",  ",A",  "A,,B", "1A",
                                      "A ", "A,A", "A**", "A*B",  "A,A*"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(is_pattern_list(str_of(good[i])), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!is_pattern_list(str_of(bad[i])), "%s", bad[i]);
}
END_TEST

static int decode(struct str bytes, struct environment *out)
{
    struct arena arena = ARENA_INIT;
    struct cairn_error error = {0};
    int rc = environment_decode(&arena, bytes, out, &error);
    arena_release(&arena);
    return rc;
}

START_TEST(test_bytes)
{
    struct buf bytes = BUF_INIT;
    struct environment found;
    struct cairn_error error = {0};
    uint32_t n = 0;
    setenv("CAIRN_UNIT_B", "two", 1);
    setenv("CAIRN_UNIT_A", "secret-one", 1);
    setenv("CAIRN_UNIT_SECRET", "secret", 1);
    const struct hidden_values hidden = {.names = STR("CAIRN_UNIT_SECRET")};
    ck_assert_int_eq(
        environment_encode(STR("CAIRN_UNIT_*"), &hidden, &bytes, &n, &error), 0);
    ck_assert_uint_eq(n, 3);
    struct arena arena = ARENA_INIT;
    ck_assert_int_eq(environment_decode(&arena, buf_view(&bytes), &found, &error), 0);
    ck_assert_uint_eq(found.n, 3);
    ck_assert_str_eq(found.at[0].name.ptr, "CAIRN_UNIT_A");
    ck_assert_str_eq(found.at[0].value.ptr, "[REDACTED]-one");
    ck_assert_str_eq(found.at[1].value.ptr, "two");
    ck_assert_str_eq(found.at[2].value.ptr, "[REDACTED]");
    arena_release(&arena);
    for (size_t i = 0; i < bytes.size; i++)
        ck_assert_int_eq(decode((struct str){bytes.data, i}, &found), CAIRN_EDAMAGED);
    buf_byte(&bytes, 0);
    ck_assert_int_eq(decode(buf_view(&bytes), &found), CAIRN_EDAMAGED);
    buf_release(&bytes);
}
END_TEST

START_TEST(test_declared)
{
    static const struct secret given[] = {{STR("GIVEN"), STR("from-elsewhere")},
                                          {STR("SHORT"), STR("x")}};
    const struct hidden_values hidden = {.declared =
                                             STR("CAIRN_KEY_LONG,CAIRN_KEY_SHORT"),
                                         .given = given,
                                         .n_given = 2};
    struct arena arena = ARENA_INIT;
    struct buf bytes = BUF_INIT;
    struct environment found;
    struct cairn_error error = {0};
    uint32_t n = 0;
    setenv("CAIRN_KEY_LONG", "declared-one", 1);
    setenv("CAIRN_KEY_SHORT", "x", 1);
    setenv("CAIRN_KEY_URL", "x://declared-one@from-elsewhere", 1);
    ck_assert_int_eq(
        environment_encode(STR("CAIRN_KEY_*"), &hidden, &bytes, &n, &error), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(environment_decode(&arena, buf_view(&bytes), &found, &error), 0);
    ck_assert_str_eq(found.at[0].name.ptr, "CAIRN_KEY_URL");
    ck_assert_str_eq(found.at[0].value.ptr, "x://[REDACTED]@[REDACTED]");
    arena_release(&arena);
    buf_release(&bytes);
}
END_TEST

static int decode_two(const char *first, const char *second)
{
    struct buf bytes = BUF_INIT;
    struct environment found;
    buf_byte(&bytes, 1);
    buf_lstr(&bytes, STR("/"));
    buf_varint(&bytes, 2);
    buf_lstr(&bytes, str_of(first));
    buf_lstr(&bytes, STR("x"));
    buf_lstr(&bytes, str_of(second));
    buf_lstr(&bytes, STR("y"));
    int rc = decode(buf_view(&bytes), &found);
    buf_release(&bytes);
    return rc;
}

START_TEST(test_order)
{
    ck_assert_int_eq(decode_two("A", "B"), 0);
    ck_assert_int_eq(decode_two("B", "A"), CAIRN_EDAMAGED);
    ck_assert_int_eq(decode_two("A", "A"), CAIRN_EDAMAGED);
    ck_assert_int_eq(decode_two("", "A"), CAIRN_EDAMAGED);
    ck_assert_int_eq(decode_two("A", "B\xff"), CAIRN_EDAMAGED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("environment");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, test_lists);
    tcase_add_test(tests, test_bytes);
    tcase_add_test(tests, test_declared);
    tcase_add_test(tests, test_order);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
