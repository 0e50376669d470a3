/* SPDX-License-Identifier: MIT */
/* The key of HMACs: RFC 4231, and the file that the key comes from. */
#include "storage/store.h"
#include "storage/store_int.h"
#include "tests/support/key_file.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- HMAC ---- */

static void unhex(const char *hex, struct buf *out)
{
    for (; *hex; hex += 2) {
        unsigned byte;
        ck_assert_int_eq(sscanf(hex, "%2x", &byte), 1);
        buf_byte(out, (uint8_t)byte);
    }
}

static void repeat(uint8_t byte, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        buf_byte(out, byte);
}

static void check_hmac(struct buf *key, struct buf *text, const char *wanted, size_t n)
{
    struct sha256 *sha = sha256_new();
    struct hmac_key ready;
    struct digest got, other;
    char hex[DIGEST_HEX_SIZE];
    hmac_key_init(&ready, key->data, key->size, sha);
    /* In parts, and twice: nothing of a round is left for the next. */
    for (size_t cut = 0; cut <= text->size; cut += text->size) {
        struct str parts[] = {{text->data, cut}, {text->data + cut, text->size - cut}};
        hmac_of(&ready, sha, parts, 2, &got);
        digest_hex(&got, hex);
        ck_assert_msg(strncmp(hex, wanted, n) == 0, "%s, not %s", hex, wanted);
    }
    ck_assert_int_eq(
        hmac_sha256(key->data, key->size, text->data, text->size, &other, NULL), 0);
    ck_assert(digest_equal(&got, &other));
    hmac_key_wipe(&ready);
    for (size_t i = 0; i < sizeof ready; i++)
        ck_assert_uint_eq(((const uint8_t *)&ready)[i], 0);
    buf_release(key);
    buf_release(text);
    sha256_free(sha);
}

START_TEST(rfc_4231)
{
    struct buf key = BUF_INIT, text = BUF_INIT;
    repeat(0x0b, 20, &key);
    buf_text(&text, "Hi There");
    check_hmac(&key, &text,
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7", 64);
    buf_text(&key, "Jefe");
    buf_text(&text, "what do ya want for nothing?");
    check_hmac(&key, &text,
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", 64);
    repeat(0xaa, 20, &key);
    repeat(0xdd, 50, &text);
    check_hmac(&key, &text,
               "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe", 64);
    unhex("0102030405060708090a0b0c0d0e0f10111213141516171819", &key);
    repeat(0xcd, 50, &text);
    check_hmac(&key, &text,
               "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b", 64);
    repeat(0x0c, 20, &key);
    buf_text(&text, "Test With Truncation");
    check_hmac(&key, &text, "a3b6167473100ee06e0c796c2955552b", 32);
    repeat(0xaa, 131, &key);
    buf_text(&text, "Test Using Larger Than Block-Size Key - Hash Key First");
    check_hmac(&key, &text,
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", 64);
    repeat(0xaa, 131, &key);
    buf_text(&text, "This is a test using a larger than block-size key and a larger "
                    "than block-size data. The key needs to be hashed before being "
                    "used by the HMAC algorithm.");
    check_hmac(&key, &text,
               "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2", 64);
}
END_TEST

/* ---- The file ---- */

static int read_key(struct hmac_key *out, struct cairn_error *error)
{
    struct sha256 *sha = sha256_new();
    struct hmac_key *key = NULL;
    int rc = store_key_read(key_path, sha, &key, error);
    ck_assert_int_eq(rc == 0, key != NULL);
    if (rc == 0)
        *out = *key;
    store_key_free(key);
    sha256_free(sha);
    return rc;
}

START_TEST(sizes_of_keys)
{
    static char bytes[4098];
    struct hmac_key key, other;
    struct cairn_error error;
    memset(bytes, 'k', sizeof bytes);
    const struct {
        size_t n;
        int code;
    } tries[] = {{0, CAIRN_EUSAGE}, {31, CAIRN_EUSAGE},   {32, 0},
                 {4096, 0},         {4097, CAIRN_EUSAGE}, {4098, CAIRN_EUSAGE}};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        put_key(bytes, tries[i].n, 0600);
        ck_assert_int_eq(read_key(&key, &error), tries[i].code);
        if (tries[i].code)
            ck_assert(strstr(error.text, key_path) != NULL);
    }
    /* Every byte counts, a newline at the end as well. */
    put_key(bytes, 32, 0600);
    ck_assert_int_eq(read_key(&key, &error), 0);
    bytes[32] = '\n';
    put_key(bytes, 33, 0400);
    ck_assert_int_eq(read_key(&other, &error), 0);
    ck_assert(memcmp(&key, &other, sizeof key) != 0);
}
END_TEST

START_TEST(what_is_no_key_file)
{
    static const mode_t open_modes[] = {0640, 0604, 0620, 0610, 0644, 0777};
    char bytes[40] = {0};
    struct hmac_key key;
    struct cairn_error error;
    ck_assert_int_eq(read_key(&key, &error), CAIRN_ENOTFOUND);
    for (size_t i = 0; i < sizeof open_modes / sizeof open_modes[0]; i++) {
        put_key(bytes, sizeof bytes, open_modes[i]);
        ck_assert_int_eq(read_key(&key, &error), CAIRN_EUSAGE);
        ck_assert(strstr(error.text, "chmod 0600") != NULL);
    }
    if (geteuid() != 0) {
        put_key(bytes, sizeof bytes, 0);
        ck_assert_int_eq(read_key(&key, &error), CAIRN_EIO);
    }
    unlink(key_path);
    ck_assert_int_eq(mkfifo(key_path, 0600), 0);
    ck_assert_int_eq(read_key(&key, &error), CAIRN_EUSAGE);
    unlink(key_path);
    ck_assert_int_eq(mkdir(key_path, 0700), 0);
    ck_assert_int_eq(read_key(&key, &error), CAIRN_EUSAGE);
    ck_assert(strstr(error.text, "is not a file") != NULL);
}
END_TEST

/* The mode of another user's file is not checked, as with ssh: only root can make such
 * a file here. */
START_TEST(file_of_somebody_else)
{
    char bytes[40] = {0};
    struct hmac_key key;
    struct cairn_error error;
    put_key(bytes, sizeof bytes, 0640);
    if (geteuid() == 0 && chown(key_path, 65534, 65534) == 0)
        ck_assert_int_eq(read_key(&key, &error), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key_file");
    TCase *tests = tcase_create("key_file");
    tcase_add_checked_fixture(tests, make_key_dir, remove_key_dir);
    tcase_add_test(tests, rfc_4231);
    tcase_add_test(tests, sizes_of_keys);
    tcase_add_test(tests, what_is_no_key_file);
    tcase_add_test(tests, file_of_somebody_else);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
