/* SPDX-License-Identifier: MIT */
/* What a session remembers of the thresholds of an agent's context, in the bytes of its
 * settings. */
#include "session/settings.h"

#include "tests/support/suite.h"

static int decode(struct str bytes, struct session_settings *out)
{
    struct cairn_error error = {0};
    return settings_decode(bytes, out, &error);
}

START_TEST(test_crossed)
{
    static const uint8_t percents[] = {25, 50, 75, 90};
    struct session_settings settings = session_settings_default(), found;
    struct buf bytes = BUF_INIT, again = BUF_INIT;
    ck_assert_uint_eq(settings_crossed(&settings), 0);
    settings_cross(&settings, 30); /* there is none */
    ck_assert_uint_eq(settings_crossed(&settings), 0);
    settings_encode(&settings, &bytes);
    ck_assert_int_eq(decode(buf_view(&bytes), &found), 0);
    ck_assert_uint_eq(settings_crossed(&found), 0);
    for (size_t i = 0; i < sizeof percents; i++) {
        settings_cross(&settings, percents[i]);
        buf_clear(&bytes);
        buf_clear(&again);
        settings_encode(&settings, &bytes);
        ck_assert_int_eq(decode(buf_view(&bytes), &found), 0);
        ck_assert_uint_eq(settings_crossed(&found), percents[i]);
        settings_encode(&found, &again);
        ck_assert(str_equal(buf_view(&bytes), buf_view(&again)));
    }
    buf_release(&bytes);
    buf_release(&again);
}
END_TEST

START_TEST(test_damage)
{
    struct session_settings settings = session_settings_default(), found;
    struct buf bytes = BUF_INIT;
    settings_cross(&settings, 75);
    settings_encode(&settings, &bytes);
    for (size_t i = 0; i < bytes.size; i++)
        ck_assert_int_eq(decode((struct str){bytes.data, i}, &found), CAIRN_EDAMAGED);
    /* At the end: how many later ones, the number, the length, "75". */
    char *at = bytes.data + bytes.size - 5;
    ck_assert_mem_eq(at,
                     "\1\6\2"
                     "75",
                     5);
    memcpy(at + 3, "76", 2);
    ck_assert_int_eq(decode(buf_view(&bytes), &found), CAIRN_EDAMAGED);
    memcpy(at + 3, "50", 2);
    ck_assert_int_eq(decode(buf_view(&bytes), &found), 0);
    ck_assert_uint_eq(settings_crossed(&found), 50);
    at[1] = SETTINGS_LATER_END;
    ck_assert_int_eq(decode(buf_view(&bytes), &found), CAIRN_EDAMAGED);
    buf_release(&bytes);
}
END_TEST

/* Nobody sets it, by whatever name. */
START_TEST(test_no_name)
{
    static const char *const names[] = {"crossed", "threshold", "", "context"};
    struct session_settings settings = session_settings_default();
    struct cairn_error error = {0};
    ck_assert_ptr_null(later_name(SETTING_CROSSED));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_int_eq(settings_set(&settings, str_of(names[i]), STR("25"), &error),
                         CAIRN_EUSAGE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, test_crossed);
    tcase_add_test(tests, test_damage);
    tcase_add_test(tests, test_no_name);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
