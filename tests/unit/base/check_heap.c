/* SPDX-License-Identifier: MIT */
/* The heap, growing pauses, UTF-8. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

struct entry {
    uint32_t key, value;
};

static inline bool is_before(struct entry a, struct entry b)
{
    return a.key < b.key;
}

HEAP_OF(queue, struct entry, is_before)

/* Pushes and pops in random order: what comes out is never before what came out since
 * the last push, and nothing is lost or doubled. */
START_TEST(test_heap_sorts)
{
    enum { MOST = 300 };
    struct entry at[MOST];
    bool in[MOST] = {false};
    uint32_t n = 0, next = 0;
    unsigned seed = 42;
    for (int round = 0; round < 2000; round++) {
        seed = seed * 1103515245u + 12345u;
        if (next < MOST && seed >> 16 & 1) {
            queue_push(at, &n, (struct entry){seed >> 20 & 31, next});
            in[next++] = true;
        } else if (n) {
            struct entry top = queue_pop(at, &n);
            ck_assert(in[top.value]);
            in[top.value] = false;
            for (uint32_t i = 0; i < n; i++)
                ck_assert(!is_before(at[i], top));
        }
    }
    while (n)
        in[queue_pop(at, &n).value] = false;
    ck_assert_uint_eq(next, MOST);
    for (uint32_t i = 0; i < MOST; i++)
        ck_assert(!in[i]);
}
END_TEST

START_TEST(test_delays_grow_to_a_day)
{
    struct backoff doubled = {1000, 2000, false, 0}, same = {500, 1000, false, 0};
    ck_assert_int_eq(backoff_delay_ms(&doubled, 1), 1000);
    ck_assert_int_eq(backoff_delay_ms(&doubled, 4), 8000);
    ck_assert_int_eq(backoff_delay_ms(&doubled, UINT32_MAX), 86400000);
    ck_assert_int_eq(backoff_delay_ms(&same, 9), 500);
    struct backoff days = {3 * 86400000ll, 2000, false, 0};
    ck_assert_int_eq(backoff_delay_ms(&days, 1), 3 * 86400000ll);
    ck_assert_int_eq(backoff_delay_ms(&days, 5), 3 * 86400000ll);
    struct backoff random = {1000, 1000, true, 0};
    for (int i = 0; i < 1000; i++) {
        int64_t ms = backoff_delay_ms(&random, 1);
        ck_assert(ms >= 500 && ms < 1500);
    }
}
END_TEST

START_TEST(test_pauses_double_to_a_limit)
{
    int64_t pause_ns = 1000;
    backoff_sleep(&pause_ns, 3000);
    ck_assert_int_eq(pause_ns, 2000);
    backoff_sleep(&pause_ns, 3000);
    ck_assert_int_eq(pause_ns, 3000);
}
END_TEST

START_TEST(test_utf8_takes_shortest_forms_only)
{
    static const struct {
        const char *bytes;
        size_t length;
        uint32_t code;
    } cases[] = {
        {"a", 1, 'a'},
        {"\xc3\xa9", 2, 0xe9},
        {"\xe2\x82\xac", 3, 0x20ac},
        {"\xf0\x9f\x98\x80", 4, 0x1f600},
        {"\xc0\x80", 0, 0},
        {"\xe0\x80\x80", 0, 0},
        {"\xed\xa0\x80", 0, 0},
        {"\xf4\x90\x80\x80", 0, 0},
        {"\x80", 0, 0},
        {"\xe2\x82", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t code = 0;
        const char *at = cases[i].bytes;
        ck_assert_uint_eq(utf8_next(at, at + strlen(at), &code), cases[i].length);
        ck_assert_uint_eq(code, cases[i].code);
    }
}
END_TEST

START_TEST(test_utf8_fit_cuts_no_character)
{
    struct str euro = STR("a\xe2\x82\xac");
    ck_assert_uint_eq(utf8_fit(euro, 4), 4);
    ck_assert_uint_eq(utf8_fit(euro, 3), 1);
    ck_assert_uint_eq(utf8_fit(euro, 2), 1);
    ck_assert_uint_eq(utf8_fit(euro, 0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_heap_sorts);
    tcase_add_test(c, test_delays_grow_to_a_day);
    tcase_add_test(c, test_pauses_double_to_a_limit);
    tcase_add_test(c, test_utf8_takes_shortest_forms_only);
    tcase_add_test(c, test_utf8_fit_cuts_no_character);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
