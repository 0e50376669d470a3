/* SPDX-License-Identifier: MIT */
/* When a log grew: noted, thinned out, as bytes and back. */
#include "base/log_times.h"

#include "tests/support/suite.h"

enum { MS = 1000000, START = 1000000000 };

static struct log_times times;
static struct log_time got[LOG_TIMES + 1];
static uint32_t n_got;

static int take(void *context, uint64_t bytes, int64_t time_ns)
{
    (void)context;
    ck_assert_uint_lt(n_got, LOG_TIMES + 1);
    got[n_got++] = (struct log_time){bytes, time_ns};
    return 0;
}

static void encode(struct buf *out)
{
    buf_clear(out);
    log_times_encode(&times, START, out);
    ck_assert(!out->failed);
}

static void decode(const struct buf *bytes)
{
    n_got = 0;
    ck_assert(log_times_decode(buf_view(bytes), START, take, NULL));
}

START_TEST(there_and_back)
{
    struct buf bytes = BUF_INIT;
    log_times_init(&times);
    encode(&bytes);
    ck_assert_uint_eq(bytes.size, 0);
    log_times_add(&times, 0, START); /* nothing yet */
    log_times_add(&times, 10, START + 5 * MS);
    log_times_add(&times, 10, START + 6 * MS); /* not grown */
    log_times_add(&times, 500, START + 200 * MS);
    log_times_add(&times, 501, START + 100 * MS); /* a clock that was set back */
    encode(&bytes);
    decode(&bytes);
    ck_assert_uint_eq(n_got, 2);
    ck_assert_uint_eq(got[0].bytes, 10);
    ck_assert_int_eq(got[0].time_ns, START + 5 * MS);
    ck_assert_uint_eq(got[1].bytes, 500);
    ck_assert_int_eq(got[1].time_ns, START + 200 * MS);
    buf_release(&bytes);
    log_times_release(&times);
}
END_TEST

/* However long it grows: never more than so many, in order, and each byte has a time
 * that is not before it was seen, and later by a thousandth of the duration at most. */
START_TEST(thinned_out)
{
    enum { LOOKS = 50000, TICK = 200 };
    struct buf bytes = BUF_INIT;
    log_times_init(&times);
    for (uint64_t i = 1; i <= LOOKS; i++)
        log_times_add(&times, i * 7, START + (int64_t)i * TICK * MS);
    ck_assert_uint_le(times.n, LOG_TIMES);
    ck_assert_uint_ge(times.n, LOG_TIMES / 4);
    encode(&bytes);
    decode(&bytes);
    ck_assert_uint_eq(n_got, times.n);
    int64_t most = (int64_t)LOOKS * TICK / (LOG_TIMES / 4) * MS;
    for (uint32_t i = 0; i < n_got; i++) {
        uint64_t first = i ? got[i - 1].bytes / 7 + 1 : 1;
        int64_t late = got[i].time_ns - (START + (int64_t)first * TICK * MS);
        ck_assert_int_ge(late, 0);
        ck_assert_int_le(late, most);
    }
    buf_release(&bytes);
    log_times_release(&times);
}
END_TEST

START_TEST(damage)
{
    static const char *const bad[] = {"", "\x02\x01\x01", "\x01\x00\x01", "\x01\x05",
                                      "\x01\x05\xff\xff\xff\xff\xff\xff\xff\xff\x7f"};
    static const size_t sizes[] = {0, 3, 3, 2, 11};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        n_got = 0;
        ck_assert(!log_times_decode((struct str){bad[i], sizes[i]}, START, take, NULL));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log_times");
    TCase *tests = tcase_create("log_times");
    tcase_add_test(tests, there_and_back);
    tcase_add_test(tests, thinned_out);
    tcase_add_test(tests, damage);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
