/* SPDX-License-Identifier: MIT */
/* base/: views and buffers, the byte cursor, arena, map, errors, SHA-256. */
#include "base/memory.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/words.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <openssl/crypto.h>

static struct cairn_error failure;

/* ---- Views ---- */

START_TEST(test_str_compare)
{
    ck_assert_int_eq(str_compare(STR("a"), STR("a")), 0);
    ck_assert_int_lt(str_compare(STR("a"), STR("b")), 0);
    ck_assert_int_gt(str_compare(STR("b"), STR("ab")), 0);
    ck_assert_int_lt(str_compare(STR("a"), STR("ab")), 0);
    ck_assert_int_gt(str_compare(STR("ab"), STR("a")), 0);
    ck_assert_int_lt(str_compare(STR("\x7f"), STR("\x80")), 0); /* bytes, not chars */
    ck_assert_int_eq(str_compare(STR(""), (struct str){NULL, 0}), 0);
    ck_assert_int_lt(str_compare(STR("a"), STR("a\0")), 0);
    ck_assert(str_equal(STR(""), (struct str){NULL, 0}));
    ck_assert(!str_equal(STR("a"), STR("a\0")));
    ck_assert(str_equal(str_of(NULL), STR("")));
}
END_TEST

static void expect_nearest(const char *word, const char *expected)
{
    static const struct str keys[] = {{"needs", 5}, {"retries", 7}, {"run", 3},
                                      {"env", 3},   {"outputs", 7}, {"priority", 8}};
    struct str got = str_nearest(str_of(word), keys, sizeof keys / sizeof keys[0]);
    ck_assert_msg(str_equal(got, str_of(expected)), "%s: %.*s", word, (int)got.len,
                  got.ptr ? got.ptr : "");
}

START_TEST(test_str_nearest)
{
    char longest[300];
    expect_nearest("neds", "needs");
    expect_nearest("need", "needs");
    expect_nearest("eneds", "needs");
    expect_nearest("retires", "retries");
    expect_nearest("retrys", NULL);
    expect_nearest("only", NULL);
    expect_nearest("completion", NULL);
    expect_nearest("ruin", "run");
    expect_nearest("envs", "env");
    expect_nearest("needs", "needs");
    expect_nearest("completely", NULL);
    expect_nearest("zzzzz", NULL);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    expect_nearest(longest, NULL); /* longer than what is compared at all */
    ck_assert_ptr_null(str_nearest(STR("a"), NULL, 0).ptr);
}
END_TEST

START_TEST(test_durations)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } cases[] = {{"1m30s500ms", 90500},
                 {"1.5m0.5s", 90500},
                 {"0.001s", 1},
                 {"0.0001s", -1},
                 {"36500d", 36500 * INT64_C(86400000)},
                 {"36500.000000001d", -1},
                 {"36500.5d", -1},
                 {"0.25d", 21600000},
                 {"1.5ms", -1},
                 {"1.s", -1},
                 {".5s", -1},
                 {"1s1m", -1},
                 {"1s1s", -1},
                 {"-1s", -1},
                 {"", -1},
                 {"5", -1},
                 {"5 s", -1},
                 {"1.0000000000s", -1},
                 {"99999999999999999999d", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ms = -1;
        bool good = str_to_duration_ms(str_of(cases[i].text), &ms);
        ck_assert_msg(good == (cases[i].ms >= 0) && (!good || ms == cases[i].ms),
                      "%s: %lld", cases[i].text, (long long)ms);
    }
}
END_TEST

START_TEST(test_str_to_u64)
{
    static const char *const bad[] = {"",    " 1",
                                      "1 ",  "-1",
                                      "+1",  "0x1",
                                      "1.0", "18446744073709551616",
                                      "1e3", "99999999999999999999"};
    uint64_t value = 7;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!str_to_u64(str_of(bad[i]), &value) && value == 7, "%s", bad[i]);
    ck_assert(str_to_u64(STR("18446744073709551615"), &value));
    ck_assert_uint_eq(value, UINT64_MAX);
    ck_assert(str_to_u64(STR("007"), &value));
    ck_assert_uint_eq(value, 7);
    ck_assert(!str_to_u64((struct str){"1\0", 2}, &value));
}
END_TEST

/* ---- Buffers ---- */

START_TEST(test_str_decimal)
{
    static const int64_t numbers[] = {0,  1,   9,         10,        -1,
                                      -9, 100, INT64_MAX, INT64_MIN, -INT64_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char out[24], expected[32];
        struct str text = str_decimal(numbers[i], out);
        int n = snprintf(expected, sizeof expected, "%lld", (long long)numbers[i]);
        ck_assert_uint_eq(text.len, (size_t)n);
        ck_assert_int_eq(memcmp(text.ptr, expected, text.len), 0);
    }
}
END_TEST

START_TEST(test_buf_grows)
{
    struct buf b = BUF_INIT;
    struct buf expected = BUF_INIT;
    for (int i = 0; i < 5000; i++) {
        buf_format(&b, "%d,", i);
        ck_assert_int_eq(b.data[b.size], 0);
    }
    for (int i = 0; i < 5000; i++) {
        char text[16];
        int n = snprintf(text, sizeof text, "%d,", i);
        buf_add(&expected, text, (size_t)n);
    }
    ck_assert(str_equal(buf_view(&b), buf_view(&expected)));
    ck_assert_int_eq(buf_check(&b, &failure), 0);
    buf_clear(&b);
    ck_assert_uint_eq(b.size, 0);
    ck_assert_str_eq(b.data, "");
    buf_add(&b, NULL, 0);
    buf_str(&b, (struct str){NULL, 0});
    ck_assert_uint_eq(b.size, 0);
    buf_release(&b);
    ck_assert_ptr_null(b.data);
    buf_release(&b);
    buf_clear(&b);
    buf_release(&expected);
}
END_TEST

START_TEST(test_buf_error_sticks)
{
    struct buf b = BUF_INIT;
    buf_text(&b, "kept");
    ck_assert_ptr_null(buf_grow(&b, SIZE_MAX));
    buf_text(&b, "lost");
    buf_format(&b, "%s", "lost");
    buf_u64(&b, 1);
    ck_assert_ptr_null(buf_grow(&b, 1));
    ck_assert(b.failed);
    ck_assert_str_eq(b.data, "kept");
    ck_assert_int_eq(buf_check(&b, &failure), CAIRN_ENOMEM);
    ck_assert_int_eq(failure.code, CAIRN_ENOMEM);
    buf_clear(&b);
    buf_text(&b, "new");
    ck_assert_str_eq(b.data, "new");
    ck_assert_int_eq(buf_check(&b, NULL), 0);
    buf_release(&b);
    ck_assert_ptr_null(buf_grow(&b, (size_t)1 << 40));
    buf_release(&b);
}
END_TEST

START_TEST(test_bytes_of_numbers)
{
    static const uint8_t expected[] = {0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 0xef, 0xcd,
                                       0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 0x7f, 0x80,
                                       0x01, 0xac, 0x02, 0x02, 'h',  'i'};
    struct buf b = BUF_INIT;
    buf_u16(&b, 0x1234);
    buf_u32(&b, 0x12345678);
    buf_u64(&b, 0x0123456789abcdef);
    buf_varint(&b, 127);
    buf_varint(&b, 128);
    buf_varint(&b, 300);
    buf_lstr(&b, STR("hi"));
    ck_assert_uint_eq(b.size, sizeof expected);
    ck_assert_mem_eq(b.data, expected, sizeof expected);
    buf_release(&b);
}
END_TEST

/* ---- The cursor ---- */

START_TEST(test_reader_round_trip)
{
    struct buf b = BUF_INIT;
    for (unsigned bit = 0; bit < 64; bit++) {
        buf_varint(&b, (uint64_t)1 << bit);
        buf_varint(&b, ((uint64_t)1 << bit) - 1);
    }
    buf_varint(&b, UINT64_MAX);
    buf_byte(&b, 0xfe);
    buf_u16(&b, 0xfffe);
    buf_u32(&b, 0xfffffffe);
    buf_u64(&b, UINT64_MAX - 1);
    buf_lstr(&b, STR("text"));
    buf_lstr(&b, STR(""));
    struct reader r = reader_of(b.data, b.size);
    for (unsigned bit = 0; bit < 64; bit++) {
        ck_assert_uint_eq(read_varint(&r), (uint64_t)1 << bit);
        ck_assert_uint_eq(read_varint(&r), ((uint64_t)1 << bit) - 1);
    }
    ck_assert_uint_eq(read_varint(&r), UINT64_MAX);
    ck_assert_uint_eq(read_byte(&r), 0xfe);
    ck_assert_uint_eq(read_u16(&r), 0xfffe);
    ck_assert_uint_eq(read_u32(&r), 0xfffffffe);
    ck_assert_uint_eq(read_u64(&r), UINT64_MAX - 1);
    ck_assert(str_equal(read_lstr(&r), STR("text")));
    ck_assert(!reader_done(&r));
    ck_assert_uint_eq(reader_left(&r), 1);
    ck_assert_uint_eq(read_lstr(&r).len, 0);
    ck_assert(reader_done(&r));
    buf_release(&b);
}
END_TEST

/* Cut at every byte: never past the end, always noticed, and it stays noticed. */
START_TEST(test_reader_cut_short)
{
    struct buf b = BUF_INIT;
    buf_u32(&b, 1);
    buf_lstr(&b, STR("some text"));
    buf_varint(&b, 1u << 20);
    buf_u64(&b, 2);
    for (size_t n = 0; n < b.size; n++) {
        char *copy =
            malloc(n + 1); /* its own block, so that sanitizers see an overrun */
        memcpy(copy, b.data, n);
        struct reader r = reader_of(copy, n);
        read_u32(&r);
        read_lstr(&r);
        read_varint(&r);
        read_u64(&r);
        ck_assert(r.failed && !reader_done(&r));
        ck_assert_uint_eq(read_byte(&r), 0);
        ck_assert_uint_eq(read_u16(&r), 0);
        ck_assert_uint_eq(read_varint(&r), 0);
        ck_assert_uint_eq(read_bytes(&r, 0).len, 0);
        ck_assert(r.failed);
        free(copy);
    }
    buf_release(&b);
}
END_TEST

static void expect_bad_varint(const char *bytes, size_t n)
{
    struct reader r = reader_of(bytes, n);
    ck_assert_uint_eq(read_varint(&r), 0);
    ck_assert(r.failed);
}

START_TEST(test_reader_hostile)
{
    struct reader r = reader_of(NULL, 0);
    ck_assert(reader_done(&r));
    expect_bad_varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10); /* 2^64 */
    expect_bad_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    expect_bad_varint("\x80", 1);
    expect_bad_varint("\x80\x00", 2); /* 0 */
    expect_bad_varint("\x85\x00", 2);
    expect_bad_varint("\x80\x81\x80\x00", 4);
    /* A length that would wrap round a pointer. */
    struct buf b = BUF_INIT;
    buf_varint(&b, UINT64_MAX);
    buf_text(&b, "x");
    r = reader_of(b.data, b.size);
    ck_assert_ptr_null(read_lstr(&r).ptr);
    ck_assert(r.failed);
    buf_release(&b);
}
END_TEST

/* ---- Arena ---- */

static bool all_bytes(const uint8_t *at, size_t n, uint8_t byte)
{
    while (n > 0 && at[n - 1] == byte)
        n--;
    return n == 0;
}

START_TEST(test_arena)
{
    static const size_t sizes[] = {1, 16, 17, 4000, 5000, 0, 1 << 20, 3 << 20, 8};
    enum { N = sizeof sizes / sizeof sizes[0], ROUNDS = 20 };
    struct arena a = ARENA_INIT;
    uint8_t *at[N * ROUNDS];
    char *text[N * ROUNDS];
    for (size_t i = 0; i < N * ROUNDS; i++) {
        size_t n = i < N ? sizes[i] : sizes[i % N] % 5001;
        at[i] = arena_take(&a, n, 1);
        ck_assert_ptr_nonnull(at[i]);
        ck_assert_uint_eq((uintptr_t)at[i] % 16, 0);
        ck_assert(all_bytes(at[i], n, 0));
        memset(at[i], (int)i, n);
        text[i] = arena_text(&a, (struct str){"abcdef", i % 7});
    }
    for (size_t i = 0; i < N * ROUNDS; i++) { /* nothing overlaps */
        size_t n = i < N ? sizes[i] : sizes[i % N] % 5001;
        ck_assert(all_bytes(at[i], n, (uint8_t)i));
        ck_assert_uint_eq(strlen(text[i]), i % 7);
        ck_assert(memcmp(text[i], "abcdef", i % 7) == 0);
    }
    ck_assert_uint_ge(a.total, (size_t)4 << 20);
    ck_assert(!a.failed);
    arena_release(&a);
    ck_assert_ptr_null(a.blocks);
    arena_release(&a);
}
END_TEST

START_TEST(test_arena_failure_sticks)
{
    struct arena a = ARENA_INIT;
    ck_assert_ptr_null(arena_take(&a, SIZE_MAX / 2, 4));
    ck_assert(a.failed);
    ck_assert_ptr_null(arena_take(&a, 1, 1));
    ck_assert_ptr_null(arena_text(&a, STR("x")));
    ck_assert_uint_eq(arena_str(&a, STR("x")).len, 0);
    arena_release(&a);
    ck_assert_ptr_null(arena_take(&a, SIZE_MAX / 2 + 2, 1));
    arena_release(&a);
    struct str copy = arena_str(&a, STR("a\0b"));
    ck_assert(str_equal(copy, STR("a\0b")));
    ck_assert_int_eq(copy.ptr[3], 0);
    ck_assert_str_eq(arena_join(&a, STR("a/"), STR("b")).ptr, "a/b");
    ck_assert_str_eq(arena_path(&a, STR("a"), STR("b")).ptr, "a/b");
    ck_assert_str_eq(arena_path(&a, STR("/"), STR("b")).ptr, "/b");
    ck_assert_str_eq(arena_path(&a, STR(""), STR("b")).ptr, "b");
    ck_assert_str_eq(arena_path(&a, STR("a"), STR("/b")).ptr, "/b");
    arena_release(&a);
}
END_TEST

/* ---- Map ---- */

START_TEST(test_map_many)
{
    enum { N = 20000 };
    struct map m = MAP_INIT;
    struct arena a = ARENA_INIT;
    ck_assert_uint_eq(map_get(&m, STR("1")), MAP_NONE);
    for (uint32_t i = 0; i < N; i++) {
        char text[32];
        int n = snprintf(text, sizeof text, "task-%u", i);
        struct str key = arena_str(&a, (struct str){text, (size_t)n});
        uint32_t existing = 77;
        ck_assert_int_eq(map_add(&m, key, i, &existing), 1);
        ck_assert_uint_eq(existing, 77);
        ck_assert_int_eq(map_add(&m, key, i + 1, &existing), 0);
        ck_assert_uint_eq(existing, i);
        ck_assert_uint_le(2 * m.count, m.capacity);
    }
    ck_assert_uint_eq(m.count, N);
    for (uint32_t i = 0; i < 2 * N; i++) {
        char text[32];
        int n = snprintf(text, sizeof text, "task-%u", i);
        uint32_t got = map_get(&m, (struct str){text, (size_t)n});
        ck_assert_uint_eq(got, i < N ? i : MAP_NONE);
    }
    map_release(&m);
    ck_assert_uint_eq(map_get(&m, STR("task-1")), MAP_NONE);
    arena_release(&a);
}
END_TEST

/* Keys that differ only in length, in NULs or past a word's end are different keys. */
START_TEST(test_map_keys)
{
    static const char zeros[40];
    struct map m = MAP_INIT;
    ck_assert_int_eq(map_reserve(&m, 100), 0);
    size_t capacity = m.capacity;
    for (uint32_t n = 0; n < sizeof zeros; n++)
        ck_assert_int_eq(map_add(&m, (struct str){zeros, n}, n, NULL), 1);
    ck_assert_uint_eq(m.capacity, capacity);
    for (uint32_t n = 0; n < sizeof zeros; n++)
        ck_assert_uint_eq(map_get(&m, (struct str){zeros, n}), n);
    ck_assert_uint_eq(map_get(&m, (struct str){NULL, 0}), 0);
    ck_assert_int_eq(map_add(&m, (struct str){NULL, 0}, 9, NULL), 0);
    map_release(&m);
    ck_assert_int_eq(map_add(&m, (struct str){NULL, 0}, 9, NULL), 1);
    ck_assert_uint_eq(map_get(&m, STR("")), 9);
    map_release(&m);
}
END_TEST

/* ---- Errors ---- */

START_TEST(test_error_texts)
{
    struct cairn_error e = {0};
    ck_assert_int_eq(error_set(&e, CAIRN_EUSAGE, "bad %s", "word"), CAIRN_EUSAGE);
    ck_assert_int_eq(e.code, CAIRN_EUSAGE);
    ck_assert_int_eq(e.sys, 0);
    ck_assert_str_eq(e.text, "bad word");
    error_context(&e, "line %d", 3);
    ck_assert_int_eq(e.code, CAIRN_EUSAGE);
    ck_assert_str_eq(e.text, "line 3: bad word");
    ck_assert_int_eq(error_sys(&e, ENOSPC, "cannot write %s", "x"), CAIRN_EIO);
    ck_assert_int_eq(e.sys, ENOSPC);
    ck_assert_str_eq(e.text, "cannot write x: No space left on device");
    ck_assert_int_eq(error_sys(&e, ENOMEM, "x"), CAIRN_ENOMEM);
    ck_assert_int_eq(error_nomem(&e), CAIRN_ENOMEM);
    ck_assert_int_eq(e.sys, 0);
    ck_assert_int_eq(error_set(NULL, CAIRN_EBUSY, "x"), CAIRN_EBUSY);
    ck_assert_int_eq(error_sys(NULL, EIO, "x"), CAIRN_EIO);
    ck_assert_int_eq(error_nomem(NULL), CAIRN_ENOMEM);
    error_context(NULL, "x");
}
END_TEST

START_TEST(test_error_text_too_long)
{
    struct cairn_error e = {0};
    char text[2 * sizeof e.text];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    error_set(&e, CAIRN_EIO, "%s", text);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    error_context(&e, "in %s", "y");
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    ck_assert_int_eq(strncmp(e.text, "in y: xxx", 9), 0);
    error_context(&e, "%s", text);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    error_sys(&e, EIO, "%s", text);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
}
END_TEST

START_TEST(test_codes)
{
    static const int status[] = {0, 2, 3, 4, 5, 6, 10, 75, 75, 75, 75, 3, 2, 7};
    for (int code = 0; code >= CAIRN_ESTOPPED; code--) {
        ck_assert_int_eq(cairn_exit_status(code), status[-code]);
        ck_assert_str_ne(cairn_code_name(code), "unknown error");
    }
    ck_assert_int_eq(cairn_exit_status(-99), 75);
    ck_assert_str_eq(cairn_code_name(1), "unknown error");
    ck_assert_ptr_nonnull(cairn_version());
}
END_TEST

/* ---- SHA-256 ---- */

static void expect_hex(const struct digest *digest, const char *expected)
{
    char hex[DIGEST_HEX_SIZE];
    digest_hex(digest, hex);
    ck_assert_str_eq(hex, expected);
}

/* The examples of FIPS 180-4, appendix B, and its million letters. */
START_TEST(test_sha256)
{
    struct digest d, e;
    struct sha256 *sha = sha256_new();
    ck_assert_int_eq(sha256_of("abc", 3, &d, &failure), 0);
    expect_hex(&d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    ck_assert_int_eq(sha256_of(NULL, 0, &e, &failure), 0);
    expect_hex(&e, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    ck_assert(!digest_equal(&d, &e));
    for (int round = 0; round < 3; round++) {
        sha256_begin(sha);
        for (int i = 0; i < 10000; i++) {
            char block[100];
            memset(block, 'a', sizeof block);
            sha256_add(sha, block, sizeof block);
        }
        sha256_add(sha, NULL, 0);
        sha256_end(sha, &d);
        expect_hex(&d,
                   "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
    sha256_free(sha);
    sha256_free(NULL);
}
END_TEST

/* libcrypto asks for memory through these, and gets none. */
static unsigned asked;

static void *no_malloc(size_t n, const char *file, int line)
{
    (void)n, (void)file, (void)line;
    asked++;
    return NULL;
}

static void *no_realloc(void *old, size_t n, const char *file, int line)
{
    (void)old;
    return no_malloc(n, file, line);
}

static void no_free(void *at, const char *file, int line)
{
    (void)at, (void)file, (void)line;
}

START_TEST(test_sha256_needs_no_memory)
{
    struct digest d;
    ck_assert(CRYPTO_set_mem_functions(no_malloc, no_realloc, no_free));
    struct sha256 *sha = sha256_new();
    ck_assert_ptr_nonnull(sha);
    for (int round = 0; round < 2; round++) {
        sha256_begin(sha);
        sha256_add(sha, "abc", 3);
        sha256_end(sha, &d);
        expect_hex(&d,
                   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
    sha256_free(sha);
    ck_assert_int_eq(hmac_sha256("key", 3, "abc", 3, &d, &failure), 0);
    expect_hex(&d, "9c196e32dc0175f86f4b1cb89289d6619de6bee699e4c378e68309ed97a1a6ab");
    ck_assert_uint_eq(asked, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_str_compare);
    tcase_add_test(c, test_str_nearest);
    tcase_add_test(c, test_str_to_u64);
    tcase_add_test(c, test_durations);
    tcase_add_test(c, test_str_decimal);
    tcase_add_test(c, test_buf_grows);
    tcase_add_test(c, test_buf_error_sticks);
    tcase_add_test(c, test_bytes_of_numbers);
    tcase_add_test(c, test_reader_round_trip);
    tcase_add_test(c, test_reader_cut_short);
    tcase_add_test(c, test_reader_hostile);
    tcase_add_test(c, test_arena);
    tcase_add_test(c, test_arena_failure_sticks);
    tcase_add_test(c, test_map_many);
    tcase_add_test(c, test_map_keys);
    tcase_add_test(c, test_error_texts);
    tcase_add_test(c, test_error_text_too_long);
    tcase_add_test(c, test_codes);
    tcase_add_test(c, test_sha256);
    tcase_add_test(c, test_sha256_needs_no_memory);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
