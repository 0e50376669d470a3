/* SPDX-License-Identifier: MIT */
/* Results of attempts as bytes; and the keyed hash that marks secrets in them. */
#include "runs/result.h"

#include "base/limits.h"
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

/* Decodes an exact heap copy, so that reading past the end is seen. */
static int decode(struct arena *arena, struct str bytes, struct result *out)
{
    char *copy = malloc(bytes.len ? bytes.len : 1);
    ck_assert_ptr_nonnull(copy);
    if (bytes.len)
        memcpy(copy, bytes.ptr, bytes.len);
    int code = result_decode(arena, (struct str){copy, bytes.len}, out, &failure);
    if (bytes.len)
        memset(copy, 'X', bytes.len); /* what came out is a copy */
    free(copy);
    return code;
}

/* ---- Results to try ---- */

static struct digest digest_from(uint64_t *seed)
{
    struct digest d;
    for (size_t i = 0; i < DIGEST_SIZE; i++)
        d.bytes[i] = (uint8_t)next(seed);
    return d;
}

static struct str text_from(struct arena *arena, uint64_t *seed, size_t least)
{
    char text[40];
    size_t n = least + next(seed) % (sizeof text - least);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(1 + next(seed) % 255);
    return arena_str(arena, (struct str){text, n});
}

/* Sorted and different. */
static struct str name_from(struct arena *arena, uint64_t *seed, uint32_t i)
{
    char text[32];
    int n = snprintf(text, sizeof text, "k%03u_%u", i, (unsigned)(next(seed) % 1000));
    return arena_str(arena, (struct str){text, (size_t)n});
}

static struct result_file *files_from(struct arena *arena, uint64_t *seed, uint32_t *n)
{
    *n = (uint32_t)(next(seed) % 4);
    struct result_file *files = arena_take(arena, *n, sizeof *files);
    for (uint32_t i = 0; i < *n; i++)
        files[i] = (struct result_file){.name = text_from(arena, seed, 1),
                                        .kind = next(seed) % 2 ? 'f' : 'd',
                                        .size = next(seed) >> next(seed) % 64,
                                        .mtime_ns = (int64_t)next(seed),
                                        .ctime_ns = (int64_t)next(seed),
                                        .inode = next(seed) >> next(seed) % 64,
                                        .digest = digest_from(seed)};
    return files;
}

static struct key_value *pairs_from(struct arena *arena, uint64_t *seed, uint32_t *n)
{
    *n = (uint32_t)(next(seed) % 4);
    struct key_value *pairs = arena_take(arena, *n, sizeof *pairs);
    for (uint32_t i = 0; i < *n; i++)
        pairs[i] =
            (struct key_value){name_from(arena, seed, i), text_from(arena, seed, 0)};
    return pairs;
}

static struct str *strs_from(struct arena *arena, uint64_t *seed, uint32_t *n)
{
    *n = (uint32_t)(next(seed) % 4);
    struct str *strs = arena_take(arena, *n, sizeof *strs);
    for (uint32_t i = 0; i < *n; i++)
        strs[i] = text_from(arena, seed, 0);
    return strs;
}

static struct result result_from(struct arena *arena, uint64_t *seed)
{
    struct result r = {.n_outputs = 0};
    r.outputs = files_from(arena, seed, &r.n_outputs);
    r.inputs = files_from(arena, seed, &r.n_inputs);
    r.values = pairs_from(arena, seed, &r.n_values);
    r.n_secrets = (uint32_t)(next(seed) % 4);
    r.secrets = arena_take(arena, r.n_secrets, sizeof *r.secrets);
    for (uint32_t i = 0; i < r.n_secrets; i++)
        r.secrets[i] =
            (struct secret_mark){name_from(arena, seed, i), digest_from(seed)};
    if (next(seed) % 2) {
        r.undo.text = text_from(arena, seed, 1);
        r.undo.shell = strs_from(arena, seed, &r.undo.n_shell);
        r.undo.cwd = text_from(arena, seed, 0);
        r.undo.env = pairs_from(arena, seed, &r.undo.n_env);
        r.undo.secrets = strs_from(arena, seed, &r.undo.n_secrets);
    }
    r.checked = next(seed) % 2;
    r.warned = r.checked && next(seed) % 2;
    r.confidence = r.checked ? (double)(next(seed) % 1001) / 1000 : 0;
    r.round = next(seed) % 2 ? (uint32_t)(next(seed) % 1000) : 0;
    return r;
}

/* ---- Equal? ---- */

static void expect_files(const struct result_file *a, const struct result_file *b,
                         uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        ck_assert(str_equal(a[i].name, b[i].name) && a[i].kind == b[i].kind);
        ck_assert(a[i].size == b[i].size && a[i].inode == b[i].inode);
        ck_assert(a[i].mtime_ns == b[i].mtime_ns && a[i].ctime_ns == b[i].ctime_ns);
        ck_assert(digest_equal(&a[i].digest, &b[i].digest));
    }
}

static void expect_pairs(const struct key_value *a, const struct key_value *b,
                         uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ck_assert(str_equal(a[i].key, b[i].key) && str_equal(a[i].value, b[i].value));
}

static void expect_strs(const struct str *a, const struct str *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ck_assert(str_equal(a[i], b[i]));
}

static void expect_equal(const struct result *a, const struct result *b)
{
    ck_assert_uint_eq(a->n_outputs, b->n_outputs);
    expect_files(a->outputs, b->outputs, a->n_outputs);
    ck_assert_uint_eq(a->n_inputs, b->n_inputs);
    expect_files(a->inputs, b->inputs, a->n_inputs);
    ck_assert_uint_eq(a->n_values, b->n_values);
    expect_pairs(a->values, b->values, a->n_values);
    ck_assert_uint_eq(a->n_secrets, b->n_secrets);
    for (uint32_t i = 0; i < a->n_secrets; i++) {
        ck_assert(str_equal(a->secrets[i].name, b->secrets[i].name));
        ck_assert(digest_equal(&a->secrets[i].mac, &b->secrets[i].mac));
    }
    ck_assert(str_equal(a->undo.text, b->undo.text));
    ck_assert(str_equal(a->undo.cwd, b->undo.cwd));
    ck_assert_uint_eq(a->undo.n_shell, b->undo.n_shell);
    expect_strs(a->undo.shell, b->undo.shell, a->undo.n_shell);
    ck_assert_uint_eq(a->undo.n_env, b->undo.n_env);
    expect_pairs(a->undo.env, b->undo.env, a->undo.n_env);
    ck_assert_uint_eq(a->undo.n_secrets, b->undo.n_secrets);
    expect_strs(a->undo.secrets, b->undo.secrets, a->undo.n_secrets);
    ck_assert(a->checked == b->checked && a->warned == b->warned);
    ck_assert_uint_eq(a->round, b->round);
    ck_assert(a->confidence == b->confidence);
}

/* ---- Good ones ---- */

static void encode(const struct result *result, struct buf *out)
{
    buf_clear(out);
    ck_assert_msg(result_encode(result, out, &failure) == 0, "%s", failure.text);
}

START_TEST(test_round_trips)
{
    uint64_t seed = (uint64_t)time(NULL);
    struct buf bytes = BUF_INIT, again = BUF_INIT;
    printf("results: seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 2000; round++) {
        struct arena arena = ARENA_INIT;
        struct result a = result_from(&arena, &seed), b;
        encode(&a, &bytes);
        memset(&b, 0xff, sizeof b);
        ck_assert_msg(decode(&arena, buf_view(&bytes), &b) == 0, "%s", failure.text);
        expect_equal(&a, &b);
        encode(&b, &again);
        ck_assert(str_equal(buf_view(&bytes), buf_view(&again)));
        arena_release(&arena);
    }
    buf_release(&bytes);
    buf_release(&again);
}
END_TEST

START_TEST(test_nothing)
{
    struct arena arena = ARENA_INIT;
    struct result r = {.n_outputs = 0};
    struct buf bytes = BUF_INIT;
    encode(&r, &bytes);
    ck_assert_uint_eq(bytes.size, 0);
    r.undo.cwd = STR("/"); /* without a text it is no undo */
    r.confidence = 1;      /* without `checked` no check */
    encode(&r, &bytes);
    ck_assert_uint_eq(bytes.size, 0);
    memset(&r, 0xff, sizeof r);
    ck_assert_int_eq(decode(&arena, buf_view(&bytes), &r), 0);
    ck_assert(!r.n_outputs && !r.n_inputs && !r.n_values && !r.n_secrets);
    ck_assert(!r.undo.text.len && !r.checked);
    buf_release(&bytes);
    arena_release(&arena);
}
END_TEST

/* The bytes as docs/format.md has them. */
START_TEST(test_bytes)
{
    struct key_value value = {STR("rows"), STR("12")};
    struct result r = {.values = &value, .n_values = 1, .checked = true};
    struct buf bytes = BUF_INIT;
    r.confidence = 0.75;
    r.warned = true;
    buf_text(&bytes, "before ");
    ck_assert_int_eq(result_encode(&r, &bytes, &failure), 0); /* appends */
    ck_assert(str_equal(buf_view(&bytes), STR("before \x00\x01\x03\x09\x01\x04rows\x02"
                                              "12\x06\x09\0\0\0\0\0\0\xe8\x3f\x01")));
    buf_release(&bytes);
}
END_TEST

static void add_old(struct buf *list, const char *name, uint8_t kind, uint64_t size)
{
    buf_lstr(list, str_of(name));
    buf_byte(list, kind);
    buf_varint(list, size);
    for (int i = 0; i < DIGEST_SIZE; i++)
        buf_byte(list, (uint8_t)(kind + i));
}

START_TEST(test_old_lists)
{
    struct arena arena = ARENA_INIT;
    struct buf list = BUF_INIT;
    struct result r;
    add_old(&list, "out.txt", 'f', 12345);
    size_t first = list.size;
    add_old(&list, "d", 'd', 0);
    for (size_t n = 1; n <= list.size; n++) {
        int code = decode(&arena, (struct str){list.data, n}, &r);
        ck_assert_int_eq(code, n == first || n == list.size ? 0 : CAIRN_EDAMAGED);
    }
    ck_assert_uint_eq(r.n_outputs, 2);
    ck_assert_str_eq(r.outputs[0].name.ptr, "out.txt");
    ck_assert(r.outputs[0].kind == 'f' && r.outputs[0].size == 12345);
    ck_assert(!r.outputs[0].mtime_ns && !r.outputs[0].ctime_ns && !r.outputs[0].inode);
    ck_assert_uint_eq(r.outputs[0].digest.bytes[31], 'f' + 31);
    ck_assert(r.outputs[1].kind == 'd' && r.outputs[1].digest.bytes[0] == 'd');
    ck_assert(!r.n_inputs && !r.n_values && !r.undo.text.len && !r.checked);
    buf_clear(&list);
    add_old(&list, "x", 'f', 1);
    add_old(&list, "", 'f', 1);
    ck_assert_int_eq(decode(&arena, buf_view(&list), &r), CAIRN_EDAMAGED);
    buf_clear(&list);
    add_old(&list, "x", 'l', 1);
    ck_assert_int_eq(decode(&arena, buf_view(&list), &r), CAIRN_EDAMAGED);
    buf_release(&list);
    arena_release(&arena);
}
END_TEST

START_TEST(test_limits)
{
    struct key_value *values = calloc(LIMIT_VALUES + 1, sizeof *values);
    struct secret_mark *marks = calloc(LIMIT_SECRETS + 1, sizeof *marks);
    struct arena arena = ARENA_INIT;
    struct buf bytes = BUF_INIT;
    struct result r = {.values = values, .n_values = LIMIT_VALUES}, back;
    uint64_t seed = 1;
    r.secrets = marks;
    r.n_secrets = LIMIT_SECRETS;
    ck_assert(values && marks);
    for (uint32_t i = 0; i <= LIMIT_VALUES; i++)
        values[i].key = name_from(&arena, &seed, i == 1000 ? 999 : i);
    values[1000].key = STR("l");
    for (uint32_t i = 0; i <= LIMIT_SECRETS; i++)
        marks[i].name = values[i].key;
    encode(&r, &bytes);
    ck_assert_int_eq(decode(&arena, buf_view(&bytes), &back), 0);
    expect_equal(&r, &back);
    r.n_values++;
    ck_assert_int_eq(result_encode(&r, &bytes, &failure), CAIRN_ELIMIT);
    r.n_values--;
    r.n_secrets++;
    ck_assert_int_eq(result_encode(&r, &bytes, &failure), CAIRN_ELIMIT);
    buf_release(&bytes);
    arena_release(&arena);
    free(values);
    free(marks);
}
END_TEST

/* ---- Bad ones ---- */

static void expect_damaged(struct str bytes)
{
    struct arena arena = ARENA_INIT;
    struct result r = {.n_outputs = 77};
    int code = decode(&arena, bytes, &r);
    ck_assert_msg(code == CAIRN_EDAMAGED, "%d for %zu bytes", code, bytes.len);
    ck_assert_uint_eq(r.n_outputs, 77);
    arena_release(&arena);
}

#define CHECK "\x06\x09\0\0\0\0\0\0\xe8\x3f\0"

START_TEST(test_refused)
{
    struct arena arena = ARENA_INIT;
    struct result r;
    ck_assert_int_eq(decode(&arena, STR("\0\x01" CHECK), &r), 0);
    expect_damaged(STR("\0"));
    expect_damaged(STR("\0\x01"));           /* says nothing: is no object */
    expect_damaged(STR("\0\x02" CHECK));     /* another version */
    expect_damaged(STR("\0\x01\0\0" CHECK)); /* no such section */
    expect_damaged(STR("\0\x01" CHECK "\x07\0"));
    expect_damaged(STR("\0\x01" CHECK CHECK));                 /* twice */
    expect_damaged(STR("\0\x01" CHECK "\x03\x04\x01\x01k\0")); /* order */
    expect_damaged(STR("\0\x01\x03\0" CHECK));                 /* an empty section */
    expect_damaged(STR("\0\x01\x03\x01\0" CHECK));             /* no items */
    expect_damaged(STR("\0\x01\x03\x84\0\x01\x01k\0")); /* a number longer than it is */
    expect_damaged(STR("\0\x01\x03\x05\x01\x01k\0\0")); /* something behind */
    expect_damaged(STR("\0\x01\x03\x03\x01\0\0"));      /* a key of no bytes */
    expect_damaged(STR("\0\x01\x03\x05\x01\x01k\x01\0"));          /* NUL */
    expect_damaged(STR("\0\x01\x03\x07\x02\x01k\0\x01k\0"));       /* the same key */
    expect_damaged(STR("\0\x01\x03\x07\x02\x01l\0\x01k\0"));       /* not sorted */
    expect_damaged(STR("\0\x01\x06\x09\0\0\0\0\0\0\xe8\x3f\x02")); /* no such flag */
    expect_damaged(STR("\0\x01\x06\x09\0\0\0\0\0\0\xf8\x7f\0"));   /* NaN */
    expect_damaged(STR("\0\x01\x06\x09\0\0\0\0\0\0\0\x80\0"));     /* -0 */
    expect_damaged(STR("\0\x01\x06\x09\x01\0\0\0\0\0\xf0\x3f\0")); /* more than 1 */
    expect_damaged(STR("\0\x01\x06\x08\0\0\0\0\0\0\xe8\x3f"));
    expect_damaged(STR("\0\x01\x05\x05\0\0\0\0\0")); /* an undo of no text */
    arena_release(&arena);
}
END_TEST

/* Counts and lengths that nothing stands behind cost no memory. */
START_TEST(test_huge_counts)
{
    static const char *const counts[] = {"\xff\xff\xff\xff\x0f",
                                         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                                         "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
                                         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
    struct buf bytes = BUF_INIT, inside = BUF_INIT;
    for (int section = 1; section <= 7; section++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            struct arena arena = ARENA_INIT;
            struct result r;
            buf_clear(&inside);
            if (section == 5)
                buf_text(&inside, "\x01u"); /* then the count of the shell's words */
            buf_text(&inside, counts[i]);
            buf_add(&inside, "abcdefgh", 8);
            buf_clear(&bytes);
            buf_add(&bytes, "\0\x01", 2);
            buf_byte(&bytes, (uint8_t)section);
            buf_lstr(&bytes, buf_view(&inside));
            ck_assert_int_eq(decode(&arena, buf_view(&bytes), &r), CAIRN_EDAMAGED);
            ck_assert_uint_lt(arena.total, 10000);
            bytes.size = 3; /* the same as the section's length */
            buf_text(&bytes, counts[i]);
            ck_assert_int_eq(decode(&arena, buf_view(&bytes), &r), CAIRN_EDAMAGED);
            buf_clear(&bytes);
            buf_text(&bytes, counts[i]); /* as the first name of an old list */
            ck_assert_int_eq(decode(&arena, buf_view(&bytes), &r), CAIRN_EDAMAGED);
            arena_release(&arena);
        }
    buf_release(&bytes);
    buf_release(&inside);
}
END_TEST

/* Either damaged, or the only encoding of what came out. */
static bool try_bytes(struct str bytes)
{
    struct arena arena = ARENA_INIT;
    struct buf again = BUF_INIT;
    struct result r;
    int code = decode(&arena, bytes, &r);
    ck_assert(code == 0 || code == CAIRN_EDAMAGED);
    if (code == 0 && bytes.len && bytes.ptr[0] == 0) {
        encode(&r, &again);
        ck_assert(str_equal(buf_view(&again), bytes));
    }
    buf_release(&again);
    arena_release(&arena);
    return code == 0;
}

START_TEST(test_every_bit_and_cut)
{
    struct arena arena = ARENA_INIT;
    struct buf bytes = BUF_INIT;
    uint64_t seed = (uint64_t)time(NULL);
    printf("bits: seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 20; round++) {
        struct result r = result_from(&arena, &seed);
        encode(&r, &bytes);
        for (size_t bit = 0; bit < bytes.size * 8; bit++) {
            bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
            try_bytes(buf_view(&bytes));
            bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
        }
        /* A cut is noticed, if it is not between two sections. */
        unsigned good = 0;
        for (size_t n = 0; n < bytes.size; n++)
            good += try_bytes((struct str){bytes.data, n});
        ck_assert_uint_le(good, 7); /* there are so many sections */
    }
    buf_release(&bytes);
    arena_release(&arena);
}
END_TEST

START_TEST(test_mutations)
{
    static const uint8_t nasty[] = {0, 1, 2, 0x7f, 0x80, 0xff, 'f', 'd', 6, 52};
    struct buf bytes = BUF_INIT, bad = BUF_INIT;
    uint64_t seed = (uint64_t)time(NULL);
    printf("mutations: seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 8000; round++) {
        struct arena arena = ARENA_INIT;
        struct result r = result_from(&arena, &seed);
        encode(&r, &bytes);
        buf_clear(&bad);
        buf_str(&bad, buf_view(&bytes));
        for (uint64_t i = next(&seed) % 4; bad.size && i > 0; i--)
            bad.data[next(&seed) % bad.size] = (char)nasty[next(&seed) % sizeof nasty];
        if (bad.size && next(&seed) % 3 == 0) /* a piece of it again */
            buf_add(&bad, bytes.data, next(&seed) % bytes.size);
        try_bytes(buf_view(&bad));
        arena_release(&arena);
    }
    buf_release(&bytes);
    buf_release(&bad);
}
END_TEST

/* ---- HMAC-SHA-256: test cases 1, 2, 3 and 6 of RFC 4231, and no key ---- */

static void expect_mac(struct str key, struct str data, const char *expected)
{
    struct digest mac;
    char hex[DIGEST_HEX_SIZE];
    ck_assert_int_eq(hmac_sha256(key.ptr, key.len, data.ptr, data.len, &mac, &failure),
                     0);
    digest_hex(&mac, hex);
    ck_assert_str_eq(hex, expected);
}

START_TEST(test_hmac)
{
    char key[131], data[50];
    memset(key, 0x0b, 20);
    expect_mac((struct str){key, 20}, STR("Hi There"),
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    expect_mac(STR("Jefe"), STR("what do ya want for nothing?"),
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    memset(data, 0xdd, sizeof data);
    expect_mac((struct str){key, 20}, (struct str){data, sizeof data},
               "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    expect_mac((struct str){key, sizeof key},
               STR("Test Using Larger Than Block-Size Key - Hash Key First"),
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    expect_mac((struct str){NULL, 0}, (struct str){NULL, 0},
               "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("result");
    TCase *c = tcase_create("good");
    tcase_add_test(c, test_round_trips);
    tcase_add_test(c, test_nothing);
    tcase_add_test(c, test_bytes);
    tcase_add_test(c, test_old_lists);
    tcase_add_test(c, test_limits);
    suite_add_tcase(suite, c);
    c = tcase_create("bad");
    tcase_set_timeout(c, 30);
    tcase_add_test(c, test_refused);
    tcase_add_test(c, test_huge_counts);
    tcase_add_test(c, test_every_bit_and_cut);
    tcase_add_test(c, test_mutations);
    suite_add_tcase(suite, c);
    c = tcase_create("hmac");
    tcase_add_test(c, test_hmac);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
