/* SPDX-License-Identifier: MIT */
/* The values of secrets: where they come from, which are missing, what marks a change.
 */
#include "secrets/secrets.h"

#include "base/limits.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static struct str names[] = {STR("API_KEY"), STR("TOKEN")};
static struct task_def tasks[] = {
    {.id = STR("plain")}, {.id = STR("upload"), .secrets = names, .n_secrets = 2}};
static const struct definition definition = {
    .secrets = names, .n_secrets = 2, .defs = tasks, .n_defs = 2};
static struct secrets secrets;
static struct cairn_error failure;

static int load(const struct cairn_param *given, size_t n)
{
    struct cairn_run_options options = {.secrets = given, .n_secrets = n};
    return secrets_load(&secrets, &definition, &options, &failure);
}

static void setup_environment(void)
{
    setenv("API_KEY", "from the environment", 1);
    unsetenv("TOKEN");
}

static void expect_value(const char *name, const char *value)
{
    struct str found = secrets_value(&secrets, str_of(name));
    ck_assert_int_eq(found.ptr != NULL, value != NULL);
    ck_assert(str_equal(found, str_of(value)));
}

START_TEST(test_sources)
{
    static const struct cairn_param given[] = {{"API_KEY", "first value"},
                                               {"API_KEY", "last value"}};
    ck_assert_int_eq(load(NULL, 0), 0);
    expect_value("API_KEY", "from the environment");
    expect_value("TOKEN", NULL);
    expect_value("OTHER", NULL);
    ck_assert(str_equal(secrets_missing(&secrets), STR("TOKEN")));
    secrets_release(&secrets);
    ck_assert_int_eq(load(given, 2), 0);
    expect_value("API_KEY", "last value");
    secrets_release(&secrets);
    setenv("TOKEN", "another value", 1);
    ck_assert_int_eq(load(NULL, 0), 0);
    ck_assert_uint_eq(secrets_missing(&secrets).len, 0);
    secrets_release(&secrets);
}
END_TEST

START_TEST(test_length)
{
    char text[LIMIT_SECRET_LEAST + 1] = {0};
    struct cairn_param given = {"TOKEN", text};
    memset(text, 'x', LIMIT_SECRET_LEAST);
    ck_assert_int_eq(load(&given, 1), 0);
    secrets_release(&secrets);
    text[LIMIT_SECRET_LEAST - 1] = 0;
    ck_assert_int_eq(load(&given, 1), CAIRN_EUSAGE);
    ck_assert_ptr_nonnull(strstr(failure.text, "TOKEN"));
}
END_TEST

/* The same value has the same mark under one key, and under no other one. */
START_TEST(test_marks)
{
    static const struct cairn_param given[] = {{"API_KEY", "one value"},
                                               {"TOKEN", "one value"}};
    struct digest first, second;
    ck_assert_int_eq(load(given, 2), 0);
    ck_assert_int_eq(secrets_mark(&secrets, names[0], &first, &failure), 0);
    ck_assert_int_eq(secrets_mark(&secrets, names[1], &second, &failure), 0);
    ck_assert(digest_equal(&first, &second));
    secrets.key[0] ^= 1;
    ck_assert_int_eq(secrets_mark(&secrets, names[1], &second, &failure), 0);
    ck_assert(!digest_equal(&first, &second));
    secrets_release(&secrets);
}
END_TEST

START_TEST(test_no_secrets)
{
    static const struct definition none = {.defs = tasks, .n_defs = 1};
    struct cairn_run_options options = {0};
    ck_assert_int_eq(secrets_load(&secrets, &none, &options, &failure), 0);
    ck_assert_ptr_null(secrets.redactor);
    ck_assert_uint_eq(secrets_missing(&secrets).len, 0);
    secrets_release(&secrets);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("secrets");
    TCase *c = tcase_create("secrets");
    tcase_add_checked_fixture(c, setup_environment, NULL);
    tcase_add_test(c, test_sources);
    tcase_add_test(c, test_length);
    tcase_add_test(c, test_marks);
    tcase_add_test(c, test_no_secrets);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
