/* SPDX-License-Identifier: MIT */
/* What is remembered of files that were read, and when it is not. */
#include "runs/file_digests.h"

#include "base/clock.h"
#include "runs/outputs.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SECOND_NS = 1000000000 };

static char dir[256], path[300];
static struct file_digests digests;
static const struct digest told = {{1, 2, 3}};

static void write_file(const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(close(fd), 0);
}

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_digests.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/file", dir);
    write_file("text");
}

static void teardown(void)
{
    file_digests_release(&digests);
    remove_tree(dir);
}

static struct stat status(void)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    return st;
}

static bool knows(const struct stat *st)
{
    struct digest found = {{0}};
    bool known = file_digests_find(&digests, st, &found);
    ck_assert(!known || digest_equal(&found, &told));
    return known;
}

START_TEST(any_change_counts)
{
    struct stat st = status();
    int64_t later = clock_utc_ns() + 10ll * SECOND_NS;
    ck_assert(!knows(&st));
    file_digests_note(&digests, &st, later, &told);
    ck_assert(knows(&st));
    for (int field = 0; field < 6; field++) {
        struct stat other = st;
        other.st_dev += field == 0;
        other.st_ino += field == 1;
        other.st_size += field == 2;
        other.st_mtim.tv_nsec += field == 3;
        other.st_ctim.tv_nsec += field == 4;
        other.st_ctim.tv_sec += field == 5;
        ck_assert_msg(!knows(&other), "field %d", field);
    }
}
END_TEST

/* Another change could have the same time. */
START_TEST(just_changed)
{
    struct stat st = status();
    int64_t changed = st.st_ctim.tv_sec * (int64_t)SECOND_NS + st.st_ctim.tv_nsec;
    file_digests_note(&digests, &st, changed + 2ll * SECOND_NS, &told);
    ck_assert(!knows(&st));
    file_digests_note(&digests, &st, changed - SECOND_NS, &told);
    ck_assert(!knows(&st));
    file_digests_note(&digests, &st, changed + 4ll * SECOND_NS, &told);
    ck_assert(knows(&st));
}
END_TEST

/* Many files: each that is known is known rightly, and they take no more room. */
START_TEST(many_files)
{
    enum { FILES = 100000 };
    struct stat st = status();
    int64_t later = clock_utc_ns() + 10ll * SECOND_NS;
    int known = 0;
    for (int i = 0; i < FILES; i++) {
        struct digest digest = {{0}}, found;
        st.st_ino = (ino_t)i;
        memcpy(digest.bytes, &i, sizeof i);
        file_digests_note(&digests, &st, later, &digest);
        ck_assert(file_digests_find(&digests, &st, &found));
        ck_assert(digest_equal(&digest, &found));
    }
    for (int i = 0; i < FILES; i++) {
        struct digest digest = {{0}}, found;
        st.st_ino = (ino_t)i;
        memcpy(digest.bytes, &i, sizeof i);
        if (!file_digests_find(&digests, &st, &found))
            continue;
        ck_assert(digest_equal(&digest, &found));
        known++;
    }
    ck_assert_int_gt(known, 1000);
}
END_TEST

/* A recorded file is compared with what is remembered; after a change it is read. */
START_TEST(files_are_read_once)
{
    struct file_view view = {
        .directory = str_of(dir), .content = true, .digests = &digests};
    struct stat st = status();
    struct result_file now, recorded = {.name = STR("file"),
                                        .kind = 'f',
                                        .size = (uint64_t)st.st_size,
                                        .digest = told};
    struct cairn_error error;
    enum file_state state;
    ck_assert_int_eq(file_compare(&view, &recorded, &state, &now, &error), 0);
    ck_assert_int_eq(state, FILE_DIFFERS);
    file_digests_note(&digests, &st, clock_utc_ns() + 10ll * SECOND_NS, &told);
    ck_assert_int_eq(file_compare(&view, &recorded, &state, &now, &error), 0);
    ck_assert_int_eq(state, FILE_SAME);
    write_file("more");
    ck_assert_int_eq(file_compare(&view, &recorded, &state, &now, &error), 0);
    ck_assert_int_eq(state, FILE_DIFFERS);
    view.digests = NULL;
    ck_assert_int_eq(file_compare(&view, &recorded, &state, &now, &error), 0);
    ck_assert_int_eq(state, FILE_DIFFERS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file_digests");
    TCase *tests = tcase_create("file_digests");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, any_change_counts);
    tcase_add_test(tests, just_changed);
    tcase_add_test(tests, many_files);
    tcase_add_test(tests, files_are_read_once);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
