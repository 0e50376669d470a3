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
static struct file_digests digests = FILE_DIGESTS_INIT;
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

/* A large file is read only where there is leave to, and until a stop. */
START_TEST(leave_to_read)
{
    _Atomic uint32_t stop = 0;
    struct file_reader reader = {.limited = true, .left = 1 << 20};
    struct result_file file = {0}, again = {0};
    ck_assert_int_eq(file_take(path, &reader, &file, NULL), 0);
    ck_assert_uint_eq(file.size, 4);
    ck_assert_int_eq(truncate(path, 1 << 20), 0);
    ck_assert_int_eq(file_take(path, &reader, &again, NULL), FILE_LONG);
    reader = (struct file_reader){.digests = &digests, .stop = &stop};
    ck_assert_int_eq(file_take(path, &reader, &again, NULL), 0);
    ck_assert_uint_eq(again.size, 1 << 20);
    ck_assert(!digest_equal(&again.digest, &file.digest));
    stop = 1;
    ck_assert_int_eq(file_take(path, &reader, &again, NULL), CAIRN_ESTOPPED);
    ck_assert_int_eq(file_take(dir, &reader, &again, NULL), CAIRN_ESTOPPED);
}
END_TEST

/* So is a directory of many small ones. */
START_TEST(leave_to_walk)
{
    enum { FILES = 400 };
    struct file_reader reader = {.limited = true, .left = 1 << 20};
    struct result_file file = {0};
    char name[400];
    ck_assert_int_eq(file_take(dir, &reader, &file, NULL), 0);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%s/%d", dir, i);
        ck_assert_int_eq(close(open(name, O_WRONLY | O_CREAT, 0600)), 0);
    }
    reader.left = 1 << 20;
    ck_assert_int_eq(file_take(dir, &reader, &file, NULL), FILE_LONG);
    reader.limited = false;
    ck_assert_int_eq(file_take(dir, &reader, &file, NULL), 0);
}
END_TEST

static struct stat large;
static atomic_bool others_turn;
static _Atomic uint32_t others_stop;

static void *read_it_too(void *context)
{
    (void)context;
    file_digests_begin(&digests, &large, &others_stop);
    others_turn = true;
    file_digests_end(&digests, &large);
    return NULL;
}

/* Two threads do not read the same file at once; a stop ends the wait. */
START_TEST(one_reader)
{
    large = status();
    for (int stopped = 0; stopped < 2; stopped++) {
        pthread_t thread;
        others_turn = false;
        others_stop = 0;
        file_digests_begin(&digests, &large, NULL);
        ck_assert_int_eq(pthread_create(&thread, NULL, read_it_too, NULL), 0);
        usleep(20000);
        ck_assert(!others_turn);
        others_stop = (uint32_t)stopped;
        if (stopped)
            file_digests_wake(&digests);
        else
            file_digests_end(&digests, &large);
        pthread_join(thread, NULL);
        ck_assert(others_turn);
        if (stopped)
            file_digests_end(&digests, &large);
    }
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
    tcase_add_test(tests, leave_to_read);
    tcase_add_test(tests, leave_to_walk);
    tcase_add_test(tests, one_reader);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
