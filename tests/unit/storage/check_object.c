/* SPDX-License-Identifier: MIT */
/* The content pool (storage/object.c). */
#include "base/limits.h"
#include "base/os.h"
#include "storage/object.h"
#include "storage/pool/pool.h"
#include "storage/sqlite/db_int.h"
#include "storage/store.h"
#include "storage/store_int.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[256], path[512];
static struct cairn_error error;
static struct cairn_store *store;

static void open_store(void)
{
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    ck_assert_msg(cairn_store_open(&store, &options, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_object.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.cairn", dir);
    open_store();
}

static void teardown(void)
{
    cairn_store_close(store);
    store = NULL;
    remove_tree(dir);
}

static struct digest put(struct str content)
{
    struct digest digest;
    ck_assert_int_eq(store_begin(store, 0, &error), 0);
    ck_assert_msg(store_put_object(store, content, &digest, &error) == 0, "%s",
                  error.text);
    ck_assert_int_eq(store_commit(store, &error), 0);
    return digest;
}

static void expect(const struct digest *digest, struct str content)
{
    struct buf out = BUF_INIT;
    buf_text(&out, "kept");
    ck_assert_msg(store_get_object(store, digest, &out, &error) == 0, "%s", error.text);
    ck_assert_uint_eq(out.size, 4 + content.len);
    ck_assert_mem_eq(out.data, "kept", 4);
    if (content.len)
        ck_assert_mem_eq(out.data + 4, content.ptr, content.len);
    buf_release(&out);
}

/* Bytes that do not compress, from a fixed seed. */
static void add_noise(struct buf *out, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        buf_byte(out, (uint8_t)seed);
    }
}

START_TEST(round_trip)
{
    static const size_t sizes[] = {0,    1,    15,    16,    17,     100,
                                   1983, 4096, 65536, 65537, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct buf noise = BUF_INIT, text = BUF_INIT;
        add_noise(&noise, sizes[i], 42 + i);
        while (text.size < sizes[i])
            buf_byte(&text, (uint8_t) "all work and no play "[text.size % 21]);
        struct digest a = put(buf_view(&noise)), b = put(buf_view(&text)), plain;
        expect(&a, buf_view(&noise));
        expect(&b, buf_view(&text));
        ck_assert_int_eq(sha256_of(text.data, text.size, &plain, &error), 0);
        ck_assert(digest_equal(&plain, &b));
        buf_release(&noise);
        buf_release(&text);
    }
    cairn_store_close(store);
    open_store();
    struct digest empty = put(STR(""));
    expect(&empty, STR(""));
}
END_TEST

static int no_bad(void *context, const char *hex, const char *why)
{
    (void)context;
    ck_abort_msg("%s: %s", hex, why);
    return 0;
}

START_TEST(same_content_once)
{
    uint64_t checked = 0;
    struct digest a = put(STR("the same")), b = put(STR("the same"));
    ck_assert(digest_equal(&a, &b));
    put(STR("another"));
    ck_assert_int_eq(store_verify_objects(store, &checked, no_bad, NULL, &error), 0);
    ck_assert_uint_eq(checked, 2);
}
END_TEST

START_TEST(text_is_compressed)
{
    struct buf text = BUF_INIT;
    struct stat st;
    for (uint32_t i = 0; text.size < 2000000; i++)
        buf_format(&text, "line %u of a log that says little\n", i);
    put(buf_view(&text));
    buf_release(&text);
    cairn_store_close(store);
    store = NULL;
    char db[600];
    snprintf(db, sizeof db, "%s/cairn.db", path);
    ck_assert_int_eq(stat(db, &st), 0);
    ck_assert_int_lt(st.st_size, 600000);
}
END_TEST

START_TEST(missing_and_too_large)
{
    struct digest digest = {{1, 2, 3}}, before = digest;
    struct buf out = BUF_INIT;
    ck_assert_int_eq(store_get_object(store, &digest, &out, &error), CAIRN_ENOTFOUND);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_int_eq(store_begin(store, 0, &error), 0);
    /* Refused by its length: the bytes are not looked at. */
    struct str huge = {"x", (size_t)LIMIT_OBJECT_BYTES + 1};
    ck_assert_int_eq(store_put_object(store, huge, &digest, &error), CAIRN_ELIMIT);
    ck_assert(digest_equal(&digest, &before));
    store_abort(store);
    buf_release(&out);
}
END_TEST

START_TEST(abort_takes_it_back)
{
    struct digest digest;
    struct buf out = BUF_INIT;
    ck_assert_int_eq(store_begin(store, 0, &error), 0);
    ck_assert_int_eq(store_put_object(store, STR("gone"), &digest, &error), 0);
    store_abort(store);
    ck_assert_int_eq(store_get_object(store, &digest, &out, &error), CAIRN_ENOTFOUND);
    buf_release(&out);
}
END_TEST

/* Flips a bit `offset` bytes behind the only place of `pattern` in the closed file. */
static void flip(struct str pattern, size_t offset)
{
    char db[600];
    struct buf file = BUF_INIT;
    snprintf(db, sizeof db, "%s/cairn.db", path);
    ck_assert_int_eq(os_read_file(db, SIZE_MAX / 2, &file, &error), 0);
    char *at = memmem(file.data, file.size, pattern.ptr, pattern.len);
    ck_assert_ptr_nonnull(at);
    size_t rest = file.size - (size_t)(at - file.data) - 1;
    ck_assert_ptr_null(memmem(at + 1, rest, pattern.ptr, pattern.len));
    at[offset] ^= 4;
    ck_assert_int_eq(os_write_file(db, 0600, buf_view(&file), &error), 0);
    buf_release(&file);
}

static int note_bad(void *context, const char *hex, const char *why)
{
    ck_assert_uint_gt(strlen(why), 0);
    snprintf(context, DIGEST_HEX_SIZE, "%s", hex);
    return 0;
}

static void expect_damaged(const struct digest *digest)
{
    struct buf out = BUF_INIT;
    uint64_t checked;
    char hex[DIGEST_HEX_SIZE], bad[DIGEST_HEX_SIZE] = "";
    buf_text(&out, "kept");
    ck_assert_int_eq(store_get_object(store, digest, &out, &error), CAIRN_EDAMAGED);
    ck_assert_str_eq(out.data, "kept");
    digest_hex(digest, hex);
    ck_assert_ptr_nonnull(strstr(error.text, hex));
    ck_assert_ptr_nonnull(strstr(error.text, "cairn doctor"));
    ck_assert_int_eq(store_verify_objects(store, &checked, note_bad, bad, &error), 0);
    ck_assert_uint_eq(checked, 2);
    ck_assert_str_eq(bad, hex);
    buf_release(&out);
}

/* Who has the content puts it in the place of what was damaged. */
static void mend(struct str content, const struct digest *digest)
{
    struct digest again = put(content);
    uint64_t checked;
    ck_assert(digest_equal(&again, digest));
    expect(digest, content);
    ck_assert_int_eq(store_verify_objects(store, &checked, NULL, NULL, &error), 0);
    ck_assert_uint_eq(checked, 2);
}

START_TEST(flipped_bit_in_raw_content)
{
    struct buf noise = BUF_INIT;
    add_noise(&noise, 300, 7);
    struct digest digest = put(buf_view(&noise)), good = put(STR("good"));
    cairn_store_close(store);
    flip((struct str){noise.data, 24}, 20);
    open_store();
    expect_damaged(&digest);
    expect(&good, STR("good"));
    mend(buf_view(&noise), &digest);
    buf_release(&noise);
}
END_TEST

/* Any byte of the frame: magic, header, block, end. */
START_TEST(flipped_bit_in_compressed_content)
{
    static const size_t offsets[] = {1, 4, 5, 6, 7, 8, 12, 20};
    struct buf text = BUF_INIT;
    for (int i = 0; i < 200; i++)
        buf_text(&text, "abcdefghijklmnopqrstuvwxyz");
    struct digest digest = put(buf_view(&text));
    put(STR("good"));
    size_t offset = offsets[_i];
    cairn_store_close(store);
    flip(STR("\x28\xb5\x2f\xfd"), offset);
    open_store();
    expect_damaged(&digest);
    mend(buf_view(&text), &digest);
    buf_release(&text);
}
END_TEST

/* A length that SQLite refuses to read was never written: the row is damaged. A flipped
 * bit of a length brings that about; here it is the limit that changes. */
START_TEST(length_beyond_all_limits)
{
    struct buf noise = BUF_INIT, out = BUF_INIT;
    add_noise(&noise, 5000, 77);
    struct digest digest = put(buf_view(&noise));
    cairn_store_close(store);
    open_store();
    sqlite3_limit(store->db->handle, SQLITE_LIMIT_LENGTH, 1000);
    ck_assert_int_eq(store_get_object(store, &digest, &out, &error), CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "cairn doctor"));
    buf_release(&noise);
    buf_release(&out);
}
END_TEST

/* ---- Long contents, which are read past SQLite ---- */

enum { LONG_CONTENTS = 9, FRAGMENTS = 40 };

/* Noise, and text that makes a long frame. */
static void add_long(struct buf *out, unsigned i)
{
    size_t n = 33000 + 70001 * (size_t)i;
    if (i % 3 == 0)
        add_noise(out, n, 1000 + i);
    for (uint64_t x = i + 1; out->size < n; x = x * 6364136223846793005u + 1)
        buf_format(out, "line %u\n", (unsigned)(x >> 40));
}

/* Reads them all; how many of them SQLite had to read. */
static unsigned expect_long(const struct digest *digests)
{
    object_codec_free(store->codec);
    store->codec = NULL;
    for (unsigned i = 0; i < LONG_CONTENTS; i++) {
        struct buf content = BUF_INIT;
        add_long(&content, i);
        expect(&digests[i], buf_view(&content));
        buf_release(&content);
    }
    return store->codec->missed;
}

static void put_long(struct digest *digests)
{
    for (unsigned i = 0; i < LONG_CONTENTS; i++) {
        struct buf content = BUF_INIT;
        add_long(&content, i);
        digests[i] = put(buf_view(&content));
        buf_release(&content);
    }
}

/* All that is in the log is in the file then. */
static void reopen(void)
{
    cairn_store_close(store);
    open_store();
}

START_TEST(long_contents)
{
    struct digest digests[LONG_CONTENTS];
    put_long(digests);
    ck_assert_uint_gt(expect_long(digests), 0); /* the file does not have them yet */
    reopen();
    ck_assert_uint_eq(expect_long(digests), 0);
}
END_TEST

/* Their pages are here and there, and others have been in them. */
START_TEST(long_contents_in_fragments)
{
    struct digest digests[LONG_CONTENTS], others[FRAGMENTS];
    for (unsigned i = 0; i < FRAGMENTS; i++) {
        struct buf noise = BUF_INIT;
        add_noise(&noise, 2100 + 1500 * (i % 5), 5000 + i);
        others[i] = put(buf_view(&noise));
        buf_release(&noise);
    }
    ck_assert_int_eq(store_begin(store, 0, &error), 0);
    for (unsigned i = 0; i < FRAGMENTS; i += 2)
        ck_assert_int_eq(
            db_run(store->db, SQL_DELETE_OBJECT,
                   VALUES(value_u64(i + 1), value_blob(digest_view(&others[i]))),
                   &error),
            0);
    ck_assert_int_eq(store_commit(store, &error), 0);
    reopen();
    put_long(digests);
    reopen();
    ck_assert_uint_eq(expect_long(digests), 0);
    struct buf noise = BUF_INIT;
    add_noise(&noise, 2100 + 1500, 5001);
    expect(&others[1], buf_view(&noise));
    buf_release(&noise);
}
END_TEST

/* Whatever the file has: the content, or an error. */
START_TEST(long_contents_damaged)
{
    struct digest digests[LONG_CONTENTS];
    struct buf file = BUF_INIT;
    char db[600];
    uint64_t random = 17 + (uint64_t)_i;
    unsigned damaged = 0;
    snprintf(db, sizeof db, "%s/cairn.db", path);
    put_long(digests);
    cairn_store_close(store);
    ck_assert_int_eq(os_read_file(db, SIZE_MAX / 2, &file, &error), 0);
    for (int i = 0; i < 300; i++) { /* behind the tables, whose pages come first */
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t at = 100 * 2048 + (size_t)(random >> 20) % (file.size - 101 * 2048);
        at = i % 2 ? at / 2048 * 2048 + (random >> 18) % 4 : at; /* where to go on */
        file.data[at] = (char)((uint8_t)file.data[at] ^ (uint8_t)(1 + (random >> 60)));
    }
    ck_assert_int_eq(os_write_file(db, 0600, buf_view(&file), &error), 0);
    buf_release(&file);
    open_store();
    for (unsigned i = 0; i < LONG_CONTENTS; i++) {
        struct buf content = BUF_INIT, out = BUF_INIT;
        add_long(&content, i);
        int rc = store_get_object(store, &digests[i], &out, &error);
        ck_assert(rc == 0 || rc == CAIRN_EDAMAGED);
        if (rc == 0)
            ck_assert(str_equal(buf_view(&out), buf_view(&content)));
        else
            ck_assert_uint_eq(out.size, 0);
        damaged += rc != 0;
        buf_release(&content);
        buf_release(&out);
    }
    ck_assert_uint_gt(damaged, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("object");
    TCase *tests = tcase_create("object");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, round_trip);
    tcase_add_test(tests, same_content_once);
    tcase_add_test(tests, text_is_compressed);
    tcase_add_test(tests, missing_and_too_large);
    tcase_add_test(tests, abort_takes_it_back);
    tcase_add_test(tests, flipped_bit_in_raw_content);
    tcase_add_loop_test(tests, flipped_bit_in_compressed_content, 0, 8);
    tcase_add_test(tests, length_beyond_all_limits);
    tcase_add_test(tests, long_contents);
    tcase_add_test(tests, long_contents_in_fragments);
    tcase_add_loop_test(tests, long_contents_damaged, 0, 4);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
