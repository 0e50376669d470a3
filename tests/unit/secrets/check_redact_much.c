/* SPDX-License-Identifier: MIT */
/* Taking secrets out of much text: how long it takes. */
#include "secrets/redact.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <time.h>

static struct cairn_error failure;

static struct redactor *redactor_of(const struct str *values, size_t n)
{
    struct redactor *redactor = NULL;
    struct secret secrets[2];
    ck_assert_uint_le(n, 2);
    for (size_t i = 0; i < n; i++)
        secrets[i] = (struct secret){STR("NAME"), values[i]};
    ck_assert_msg(redactor_new(&redactor, secrets, n, &failure) == 0, "%s",
                  failure.text);
    return redactor;
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) +
           (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* A megabyte that nearly matches everywhere, in parts of one byte up: anything that is
 * not linear takes minutes, and the test is ended. */
START_TEST(test_much)
{
    enum { SIZE = 1 << 20, LONG = 100000 };
    struct buf text = BUF_INIT, value = BUF_INIT, out = BUF_INIT;
    memset(buf_grow(&value, LONG), 'a', LONG);
    buf_byte(&value, 'b'); /* so it is nearly found, all the time */
    struct str values[] = {buf_view(&value), STR("aaaaaaaaaaaa")};
    for (size_t n = 1; n <= 2; n++) {
        struct redactor *redactor = redactor_of(values, n);
        buf_clear(&text);
        memset(buf_grow(&text, SIZE), 'a', SIZE);
        for (size_t part = 1; part <= SIZE; part *= 1024) {
            struct redact_stream stream;
            struct timespec start;
            clock_gettime(CLOCK_MONOTONIC, &start);
            buf_clear(&out);
            redact_begin(&stream, redactor);
            for (size_t at = 0; at < SIZE; at += part)
                redact_add(&stream, (struct str){text.data + at, part}, &out);
            if (n == 1)
                ck_assert_uint_eq(out.size, SIZE - LONG);
            redact_end(&stream, &out);
            printf("%zu secrets, parts of %zu: %.3f s\n", n, part,
                   seconds_since(&start));
            ck_assert(str_equal(buf_view(&out),
                                n == 1 ? buf_view(&text) : STR("[REDACTED]")));
        }
        redactor_free(redactor);
    }
    buf_release(&text);
    buf_release(&value);
    buf_release(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("redact_much");
    TCase *c = tcase_create("much");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, test_much);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
