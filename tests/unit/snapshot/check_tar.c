/* SPDX-License-Identifier: MIT */
/* Headers of archives: what fits a ustar block is in that alone, what does not is in
 * records whose lengths count themselves. That tar takes them is shown by
 * tests/cli/t-files-history.sh. */
#include "snapshot/tar.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

/* The sum of a block is right: it counts itself as blanks. */
static void check_sum(const char *block)
{
    unsigned sum = 0;
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)block[i];
    ck_assert_uint_eq(strtoul(block + 148, NULL, 8), sum);
    ck_assert_int_eq(memcmp(block + 257, "ustar", 6), 0);
}

/* The value of a record, in *value; false: there is none. Every record before it is
 * as long as it says. */
static bool record_of(const struct buf *out, const char *name, char value[4096])
{
    const char *at = out->data + TAR_BLOCK;
    size_t size = strtoul(out->data + 124, NULL, 8), n = strlen(name);
    if (out->data[156] != 'x')
        return false;
    for (const char *end = at + size; at < end;) {
        char *text;
        size_t length = strtoul(at, &text, 10);
        ck_assert_int_eq(*text, ' ');
        ck_assert_int_eq(at[length - 1], '\n');
        if (strncmp(text + 1, name, n) == 0 && text[1 + n] == '=') {
            size_t from = (size_t)(text + 2 + n - at);
            snprintf(value, 4096, "%.*s", (int)(length - 1 - from), at + from);
            return true;
        }
        at += length;
    }
    return false;
}

START_TEST(test_what_fits_is_one_block)
{
    struct tar_entry entry = {.kind = TAR_FILE,
                              .path = STR("src/a.c"),
                              .mode = 04755,
                              .size = 077777777777,
                              .mtime_ns = INT64_C(1000000000000000000)};
    struct buf out = BUF_INIT;
    tar_header(&out, &entry);
    ck_assert(!out.failed);
    ck_assert_uint_eq(out.size, TAR_BLOCK);
    check_sum(out.data);
    ck_assert_str_eq(out.data, "src/a.c");
    ck_assert_str_eq(out.data + 100, "0004755");
    ck_assert_str_eq(out.data + 124, "77777777777");
    ck_assert_str_eq(out.data + 136, "07346545000");
    ck_assert_int_eq(out.data[156], '0');
    buf_release(&out);
}
END_TEST

START_TEST(test_records)
{
    char target[200], value[4096];
    memset(target, 't', sizeof target);
    struct tar_entry entry = {.kind = TAR_FILE,
                              .path = STR("a"),
                              .target = {target, 101},
                              .size = UINT64_C(1) << 40,
                              .mtime_ns = -1};
    struct buf out = BUF_INIT;
    tar_header(&out, &entry);
    ck_assert(record_of(&out, "size", value));
    ck_assert_str_eq(value, "1099511627776");
    ck_assert(record_of(&out, "mtime", value));
    ck_assert_str_eq(value, "-0.000000001");
    ck_assert(record_of(&out, "linkpath", value));
    ck_assert_uint_eq(strlen(value), 101);
    ck_assert(!record_of(&out, "path", value));
    ck_assert(!record_of(&out, "hdrcharset", value));
    check_sum(out.data);
    check_sum(out.data + out.size - TAR_BLOCK);
    buf_release(&out);
}
END_TEST

/* The field holds seconds up to the year 2242. */
START_TEST(test_times)
{
    static const struct {
        int64_t ns;
        const char *text, *field;
    } times[] = {
        {INT64_C(8589934591000000000), NULL, "77777777777"},
        {INT64_C(8589934592000000000), "8589934592", "77777777777"},
        {INT64_C(8835955200000000000), "8835955200", "77777777777"},
        {INT64_MAX, "9223372036.854775807", "77777777777"},
        {INT64_MIN, "-9223372036.854775808", "00000000000"},
        {-1000000000, "-1", "00000000000"},
    };
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char value[4096] = "";
        struct tar_entry entry = {
            .kind = TAR_FILE, .path = STR("a"), .mtime_ns = times[i].ns};
        struct buf out = BUF_INIT;
        tar_header(&out, &entry);
        ck_assert(record_of(&out, "mtime", value) == (times[i].text != NULL));
        if (times[i].text)
            ck_assert_str_eq(value, times[i].text);
        ck_assert_str_eq(out.data + out.size - TAR_BLOCK + 136, times[i].field);
        check_sum(out.data + out.size - TAR_BLOCK);
        buf_release(&out);
    }
}
END_TEST

/* Also where a digit more of the length makes it longer. */
START_TEST(test_lengths_count_themselves)
{
    char path[1100], value[4096];
    memset(path, 'p', sizeof path);
    for (size_t n = 101; n < sizeof path; n++) {
        struct tar_entry entry = {.kind = TAR_DIRECTORY, .path = {path, n}};
        struct buf out = BUF_INIT;
        tar_header(&out, &entry);
        ck_assert_uint_eq(out.size % TAR_BLOCK, 0);
        ck_assert(record_of(&out, "path", value));
        ck_assert_uint_eq(strlen(value), n + 1);
        ck_assert_int_eq(value[n], '/');
        buf_release(&out);
    }
}
END_TEST

START_TEST(test_bytes_that_are_no_text)
{
    char path[101], value[4096];
    memset(path, 0xff, sizeof path);
    struct tar_entry entry = {.kind = TAR_FILE, .path = {path, sizeof path}};
    struct buf out = BUF_INIT;
    tar_header(&out, &entry);
    ck_assert(record_of(&out, "hdrcharset", value));
    ck_assert_str_eq(value, "BINARY");
    buf_clear(&out);
    entry.path.len = 100;
    tar_header(&out, &entry);
    ck_assert_uint_eq(out.size, TAR_BLOCK);
    ck_assert_int_eq(memcmp(out.data, path, 100), 0);
    buf_release(&out);
    ck_assert_uint_eq(tar_padding(0), 0);
    ck_assert_uint_eq(tar_padding(1), 511);
    ck_assert_uint_eq(tar_padding(512), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tar");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_what_fits_is_one_block);
    tcase_add_test(c, test_records);
    tcase_add_test(c, test_times);
    tcase_add_test(c, test_lengths_count_themselves);
    tcase_add_test(c, test_bytes_that_are_no_text);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
