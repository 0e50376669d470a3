/* SPDX-License-Identifier: MIT */
/* Output files of attempts. */
#include "process/capture.h"

#include "tests/support/process.h"
#include "tests/support/suite.h"

enum { RUN = 3, SLOT = 5 };

static struct capture capture;
static struct cairn_error failure;

static void setup(void)
{
    help_make_dir();
    ck_assert_int_eq(capture_open(&capture, help_dir, RUN, SLOT, &failure), 0);
    ck_assert_int_eq(capture_open_apart(&capture, help_dir, RUN, SLOT, &failure), 0);
}

static void teardown(void)
{
    capture_close(&capture);
    capture_remove(help_dir, RUN, SLOT);
    help_remove_dir();
}

/* The byte that belongs at an offset. */
static char pattern(uint64_t offset)
{
    return (char)((offset * 2654435761U) >> 13);
}

static void write_pattern(int fd, uint64_t from, uint64_t to)
{
    static char block[64 * 1024];
    while (from < to) {
        size_t n = to - from < sizeof block ? (size_t)(to - from) : sizeof block;
        for (size_t i = 0; i < n; i++)
            block[i] = pattern(from + i);
        ck_assert_int_eq(write(fd, block, n), (ssize_t)n);
        from += n;
    }
}

static void expect_pattern(const char *at, uint64_t from, uint64_t n)
{
    uint64_t i = 0;
    while (i < n && at[i] == pattern(from + i))
        i++;
    ck_assert_msg(i == n, "wrong byte %llu", (unsigned long long)(from + i));
}

static void expect_content(int fd, uint64_t limit, uint64_t size)
{
    struct captured got;
    ck_assert_int_eq(capture_read(fd, limit, &got, &failure), 0);
    ck_assert_uint_eq(got.bytes, size);
    if (size <= limit) {
        ck_assert_uint_eq(got.head, 0);
        ck_assert_uint_eq(got.content.size, size);
        expect_pattern(got.content.data, 0, size);
    } else {
        uint64_t tail = limit - limit / 2;
        ck_assert_uint_eq(got.head, limit / 2);
        ck_assert_uint_eq(got.content.size, limit);
        expect_pattern(got.content.data, 0, got.head);
        if (tail)
            expect_pattern(got.content.data + got.head, size - tail, tail);
    }
    buf_release(&got.content);
}

START_TEST(test_names)
{
    char path[300], expected[300];
    live_path(path, sizeof path, help_dir, live_of_slot(LIVE_SLOT_OUT, RUN, SLOT));
    snprintf(expected, sizeof expected, "%s/run-3.5.out", help_dir);
    ck_assert_str_eq(path, expected);
    ck_assert_int_eq(access(path, F_OK), 0);
    live_path(path, sizeof path, help_dir, live_of_slot(LIVE_SLOT_ERR, RUN, SLOT));
    ck_assert_int_eq(access(path, F_OK), 0);
    capture_remove(help_dir, RUN, SLOT);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(test_descriptors)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(fcntl(capture.fd[i], F_GETFD), FD_CLOEXEC);
        ck_assert_int_ne(fcntl(capture.fd[i], F_GETFL) & O_APPEND, 0);
        struct stat st;
        ck_assert_int_eq(fstat(capture.fd[i], &st), 0);
        ck_assert_int_eq(st.st_mode & 0777, 0600);
    }
}
END_TEST

START_TEST(test_sizes_around_the_limit)
{
    static const uint64_t sizes[] = {0, 1, 998, 999, 1000, 1001, 1002, 5000};
    static const uint64_t limits[] = {0, 1, 2, 999, 1000, 1001};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ck_assert_int_eq(ftruncate(capture.fd[0], 0), 0);
        write_pattern(capture.fd[0], 0, sizes[i]);
        for (size_t j = 0; j < sizeof limits / sizeof limits[0]; j++)
            expect_content(capture.fd[0], limits[j], sizes[i]);
    }
}
END_TEST

/* 8 MiB in uneven steps, trimmed after each: at every moment the head, the tail and the
 * size are right, and the file stays small on disk. */
START_TEST(test_trimmed_while_growing)
{
    const uint64_t limit = 64 * 1024, total = 8 << 20;
    uint64_t size = 0, step = 1;
    while (size < total) {
        uint64_t next = size + step < total ? size + step : total;
        write_pattern(capture.fd[1], size, next);
        size = next;
        step = step * 3 % 700001 + 1;
        capture_trim(&capture, limit, CAPTURE_HOLE);
        expect_content(capture.fd[1], limit, size);
    }
    struct stat st;
    ck_assert_int_eq(fstat(capture.fd[1], &st), 0);
    ck_assert_int_eq(st.st_size, (off_t)total);
    if (capture.punched[1] == 0)
        printf("# no holes on this file system: disk use not tested\n");
    else
        ck_assert_int_lt(st.st_blocks * 512, 512 * 1024);
    ck_assert_uint_eq(capture.punched[0], 0);
}
END_TEST

START_TEST(test_small_limit_and_odd_sizes)
{
    static const uint64_t limits[] = {0, 1, 4095, 4096, 4097, 8193};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        ck_assert_int_eq(capture_reset(&capture, help_dir, RUN, SLOT, &failure), 0);
        for (uint64_t size = 0; size < 1000000; size += 99991) {
            write_pattern(capture.fd[0], size, size + 99991);
            capture_trim(&capture, limits[i], CAPTURE_HOLE);
            expect_content(capture.fd[0], limits[i], size + 99991);
        }
    }
}
END_TEST

/* Trimmed to less than is read later, as on a full disk: the hole is left out. */
START_TEST(test_read_with_more_room)
{
    struct captured got;
    uint64_t size = 3 << 20;
    write_pattern(capture.fd[0], 0, 1 << 20);
    capture_trim(&capture, 64 << 10, 16 << 10);
    write_pattern(capture.fd[0], 1 << 20, size);
    capture_trim(&capture, 1 << 20, CAPTURE_HOLE);
    if (capture.punched[0] == 0)
        return; /* no holes on this file system */
    for (uint64_t limit = 1 << 20; limit <= 16 << 20; limit *= 4) {
        ck_assert_int_eq(capture_read(capture.fd[0], limit, &got, &failure), 0);
        ck_assert_uint_eq(got.bytes, size);
        uint64_t tail = got.content.size - got.head;
        ck_assert_uint_ge(got.head, 32 << 10);
        ck_assert_uint_lt(got.head, 64 << 10);
        ck_assert_uint_ge(tail, 512 << 10);
        expect_pattern(got.content.data, 0, got.head);
        expect_pattern(got.content.data + got.head, size - tail, tail);
        buf_release(&got.content);
    }
}
END_TEST

/* A task may truncate its own output; what comes then is not punched out wrongly. */
START_TEST(test_truncated_by_the_task)
{
    const uint64_t limit = 4096;
    write_pattern(capture.fd[0], 0, 2 << 20);
    capture_trim(&capture, limit, CAPTURE_HOLE);
    ck_assert_int_eq(ftruncate(capture.fd[0], 0), 0);
    write_pattern(capture.fd[0], 0, 1 << 20);
    capture_trim(&capture, limit, CAPTURE_HOLE);
    expect_content(capture.fd[0], limit, 1 << 20);
    write_pattern(capture.fd[0], 1 << 20, 3 << 20);
    capture_trim(&capture, limit, CAPTURE_HOLE);
    expect_content(capture.fd[0], limit, 3 << 20);
}
END_TEST

START_TEST(test_reset_replaces_only_what_has_content)
{
    struct stat before[2], after[2];
    int old = dup(capture.fd[0]);
    ck_assert_int_ge(old, 0);
    ck_assert_int_eq(write(capture.fd[0], "old", 3), 3);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(fstat(capture.fd[i], &before[i]), 0);
    ck_assert_int_eq(capture_reset(&capture, help_dir, RUN, SLOT, &failure), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(fstat(capture.fd[i], &after[i]), 0);
    ck_assert(before[0].st_ino != after[0].st_ino);
    ck_assert(before[1].st_ino == after[1].st_ino);
    ck_assert_int_eq(after[0].st_size, 0);
    /* Somebody left over from the earlier attempt does not reach the new one. */
    ck_assert_int_eq(write(old, "late", 4), 4);
    expect_content(capture.fd[0], 100, 0);
    close(old);
}
END_TEST

START_TEST(test_file_of_another_process)
{
    char path[300];
    write_pattern(capture.fd[0], 0, 5000);
    live_path(path, sizeof path, help_dir, live_of_slot(LIVE_SLOT_OUT, RUN, SLOT));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    expect_content(fd, 1000, 5000);
    close(fd);
}
END_TEST

/* One log has one file, and what an earlier owner left beside it is gone; the second
 * one comes with the first attempt that wants it, and stays. */
START_TEST(test_second_file_on_demand)
{
    struct capture one;
    char path[300];
    live_path(path, sizeof path, help_dir, live_of_slot(LIVE_SLOT_ERR, RUN, 6));
    ck_assert_int_eq(mknod(path, S_IFREG | 0600, 0), 0);
    ck_assert_int_eq(capture_open(&one, help_dir, RUN, 6, &failure), 0);
    ck_assert_int_eq(one.fd[1], -1);
    ck_assert_int_ne(access(path, F_OK), 0);
    write_pattern(one.fd[0], 0, 10);
    ck_assert_int_eq(capture_reset(&one, help_dir, RUN, 6, &failure), 0);
    ck_assert_int_eq(one.fd[1], -1);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(capture_open_apart(&one, help_dir, RUN, 6, &failure), 0);
    ck_assert_int_eq(access(path, F_OK), 0);
    int apart = one.fd[1];
    ck_assert_int_eq(capture_open_apart(&one, help_dir, RUN, 6, &failure), 0);
    ck_assert_int_eq(one.fd[1], apart);
    write_pattern(one.fd[1], 0, 10);
    expect_content(one.fd[0], 100, 0);
    expect_content(one.fd[1], 100, 10);
    capture_close(&one);
    capture_remove(help_dir, RUN, 6);
}
END_TEST

/* Files of an attempt, which another process continues with. */
START_TEST(test_of_an_attempt)
{
    struct attempt_id id = {help_dir, RUN, 2, 77, 3, 0};
    struct capture made, opened;
    char path[300], expected[300];
    live_path(path, sizeof path, help_dir, live_of_attempt(LIVE_ERR, &id));
    snprintf(expected, sizeof expected, "%s/run-3.2.77.3.err", help_dir);
    ck_assert_str_eq(path, expected);
    int fds = help_open_fds();
    ck_assert_int_eq(capture_attempt_create(&made, &id, false, &failure), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(fcntl(made.fd[i], F_GETFD), FD_CLOEXEC);
        ck_assert_int_ne(fcntl(made.fd[i], F_GETFL) & O_APPEND, 0);
    }
    write_pattern(made.fd[1], 0, 3000000);
    ck_assert_int_eq(capture_attempt_open(&opened, &id, false, &failure), 0);
    expect_content(opened.fd[0], 1000, 0);
    expect_content(opened.fd[1], 1000, 3000000);
    capture_trim(&opened, 1000, CAPTURE_HOLE);
    write_pattern(made.fd[1], 3000000, 3000100);
    expect_content(opened.fd[1], 1000, 3000100);
    capture_close(&opened);
    ck_assert_int_eq(capture_attempt_open(&opened, &id, true, &failure), 0);
    ck_assert_int_ge(opened.fd[0], 0);
    ck_assert_int_eq(opened.fd[1], -1);
    capture_close(&opened);
    /* Made again: what the first one still writes goes nowhere. */
    int old = dup(made.fd[1]);
    capture_close(&made);
    ck_assert_int_eq(capture_attempt_create(&made, &id, false, &failure), 0);
    ck_assert_int_eq(write(old, "late", 4), 4);
    expect_content(made.fd[1], 100, 0);
    close(old);
    capture_close(&made);
    capture_attempt_remove(&id);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(capture_attempt_open(&opened, &id, false, &failure), 0);
    ck_assert_int_eq(opened.fd[0], -1);
    ck_assert_int_eq(opened.fd[1], -1);
    id.live_dir = help_path("missing");
    ck_assert_int_eq(capture_attempt_create(&opened, &id, false, &failure), CAIRN_EIO);
    ck_assert_int_eq(help_open_fds(), fds);
}
END_TEST

START_TEST(test_errors_leave_outputs_alone)
{
    struct capture other = {.fd = {77, 78}, .punched = {1, 2}};
    struct captured got = {.bytes = 42};
    int fds = help_open_fds();
    ck_assert_int_eq(capture_open(&other, help_path("missing"), 1, 1, &failure),
                     CAIRN_EIO);
    ck_assert_int_eq(failure.sys, ENOENT);
    ck_assert_int_eq(other.fd[0], 77);
    ck_assert_int_eq(mkdir(help_path("run-9.1.err"), 0700), 0);
    ck_assert_int_eq(capture_open(&other, help_dir, 9, 1, &failure), CAIRN_EIO);
    ck_assert_int_eq(other.fd[1], 78);
    other.fd[1] = -1;
    ck_assert_int_eq(capture_open_apart(&other, help_dir, 9, 1, &failure), CAIRN_EIO);
    ck_assert_int_eq(other.fd[1], -1);
    ck_assert_int_eq(capture_read(-1, 10, &got, &failure), CAIRN_EIO);
    ck_assert_uint_eq(got.bytes, 42);
    ck_assert_int_eq(help_open_fds(), fds);
}
END_TEST

static void write_out(const struct capture *c, const char *text)
{
    ck_assert_int_eq(write(c->fd[0], text, strlen(text)), (ssize_t)strlen(text));
}

/* The same as in files, under no name; a second attempt begins with nothing. */
START_TEST(kept_in_memory)
{
    struct capture memory = {.fd = {-1, -1}};
    struct captured got = {BUF_INIT, 0, 0};
    ck_assert_int_eq(capture_open_memory(&memory, &failure), 0);
    ck_assert_int_eq(memory.fd[1], -1);
    ck_assert_int_eq(
        capture_open_apart(&memory, help_path("missing"), RUN, SLOT, &failure), 0);
    write_out(&memory, "first ");
    write_out(&memory, "second");
    ck_assert_int_eq(capture_read(memory.fd[0], 1000, &got, &failure), 0);
    ck_assert_str_eq(got.content.data, "first second");
    buf_release(&got.content);
    capture_reserve(&memory);
    int empty = memory.fd[1];
    ck_assert_int_eq(capture_reset(&memory, help_path("missing"), RUN, SLOT, &failure),
                     0);
    ck_assert_int_eq(memory.fd[1], empty);
    ck_assert_int_eq(capture_read(memory.fd[0], 1000, &got, &failure), 0);
    ck_assert_uint_eq(got.bytes, 0);
    capture_close(&memory);
}
END_TEST

/* Blocks are there ahead of what is written, and count as nothing written. */
START_TEST(blocks_are_reserved)
{
    struct stat st;
    capture_reserve(&capture);
    ck_assert_int_eq(fstat(capture.fd[0], &st), 0);
    ck_assert_int_eq(st.st_size, 0);
    if (!capture.reserved[0])
        return; /* not on this file system */
    ck_assert_int_ge(st.st_blocks * 512, (off_t)capture.reserved[0]);
    uint64_t before = capture.reserved[0];
    capture_reserve(&capture);
    ck_assert_uint_eq(capture.reserved[0], before);
    ck_assert_int_eq(ftruncate(capture.fd[0], (off_t)before - 10), 0);
    capture_reserve(&capture);
    ck_assert_uint_gt(capture.reserved[0], before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture");
    TCase *tests = tcase_create("capture");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, kept_in_memory);
    tcase_add_test(tests, blocks_are_reserved);
    tcase_add_test(tests, test_names);
    tcase_add_test(tests, test_descriptors);
    tcase_add_test(tests, test_sizes_around_the_limit);
    tcase_add_test(tests, test_trimmed_while_growing);
    tcase_add_test(tests, test_small_limit_and_odd_sizes);
    tcase_add_test(tests, test_read_with_more_room);
    tcase_add_test(tests, test_truncated_by_the_task);
    tcase_add_test(tests, test_reset_replaces_only_what_has_content);
    tcase_add_test(tests, test_file_of_another_process);
    tcase_add_test(tests, test_second_file_on_demand);
    tcase_add_test(tests, test_of_an_attempt);
    tcase_add_test(tests, test_errors_leave_outputs_alone);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
