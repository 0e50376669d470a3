/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* Files, machine identity and locks (base/os.h). */
#include "base/clock.h"
#include "base/lock.h"
#include "base/os.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char dir[256], path[512];
static struct cairn_error error;

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_os.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
    remove_tree(dir);
}

static const char *in_dir(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static bool exists(const char *name)
{
    struct stat st;
    return stat(in_dir(name), &st) == 0;
}

/* ---- Files ---- */

START_TEST(make_dir)
{
    struct stat st;
    ck_assert_int_eq(os_make_dir(in_dir("d"), 0700, &error), 1);
    ck_assert_int_eq(os_make_dir(in_dir("d"), 0700, &error), 0);
    ck_assert_int_eq(stat(in_dir("d"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
    ck_assert_int_eq(os_make_dir(in_dir("e/"), 0700, &error), 1);
    ck_assert_int_eq(os_make_dir(in_dir("no/such"), 0700, &error), CAIRN_EIO);
    ck_assert_int_eq(error.sys, ENOENT);
    ck_assert_int_eq(os_write_file(in_dir("f"), 0600, STR("x"), &error), 0);
    ck_assert_int_eq(os_make_dir(in_dir("f"), 0700, &error), CAIRN_EIO);
    ck_assert_int_eq(error.sys, ENOTDIR);
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(os_make_dir("relative", 0700, &error), 1);
    ck_assert_int_eq(os_sync_dir(in_dir("none"), &error), CAIRN_EIO);
}
END_TEST

static size_t count_entries(void)
{
    char command[600], line[32] = "";
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", dir);
    FILE *out = popen(command, "r");
    ck_assert_ptr_nonnull(out);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, out));
    pclose(out);
    return strtoul(line, NULL, 10);
}

START_TEST(write_then_read)
{
    struct buf out = BUF_INIT;
    struct stat st;
    ck_assert_int_eq(os_write_file(in_dir("f"), 0640, STR("one"), &error), 0);
    ck_assert_int_eq(os_write_file(in_dir("f"), 0640, STR("second"), &error), 0);
    ck_assert_int_eq(stat(in_dir("f"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0640);
    ck_assert_uint_eq(count_entries(), 1); /* no temporary file is left */
    buf_text(&out, "before ");
    ck_assert_int_eq(os_read_file(in_dir("f"), 6, &out, &error), 0);
    ck_assert_str_eq(out.data, "before second");
    ck_assert_int_eq(os_read_file(in_dir("f"), 5, &out, &error), CAIRN_ELIMIT);
    ck_assert_str_eq(out.data, "before second");
    ck_assert_int_eq(os_read_file(in_dir("none"), 5, &out, &error), CAIRN_ENOTFOUND);
    ck_assert_int_eq(error.code, CAIRN_ENOTFOUND);
    ck_assert_int_eq(os_read_file(dir, 5, &out, &error), CAIRN_EIO);
    ck_assert_uint_eq(out.size, 13);
    ck_assert_int_eq(os_write_file(in_dir("no/f"), 0600, STR("x"), &error), CAIRN_EIO);
    buf_release(&out);
}
END_TEST

START_TEST(read_large)
{
    struct buf content = BUF_INIT, out = BUF_INIT;
    for (uint32_t i = 0; i < 100000; i++)
        buf_u32(&content, i);
    ck_assert_int_eq(buf_check(&content, &error), 0);
    ck_assert_int_eq(os_write_file(in_dir("f"), 0600, buf_view(&content), &error), 0);
    ck_assert_int_eq(os_read_file(in_dir("f"), content.size, &out, &error), 0);
    ck_assert(str_equal(buf_view(&content), buf_view(&out)));
    buf_release(&content);
    buf_release(&out);
}
END_TEST

START_TEST(write_failure_leaves_the_old_file)
{
    struct buf out = BUF_INIT;
    ck_assert_int_eq(os_write_file(in_dir("f"), 0600, STR("old"), &error), 0);
    ck_assert_int_eq(mkdir(in_dir("f2"), 0700), 0);
    ck_assert_int_eq(os_write_file(in_dir("f2"), 0600, STR("x"), &error), CAIRN_EIO);
    ck_assert_uint_eq(count_entries(), 2);
    ck_assert_int_eq(os_read_file(in_dir("f"), 10, &out, &error), 0);
    ck_assert_str_eq(out.data, "old");
    buf_release(&out);
}
END_TEST

START_TEST(file_systems)
{
    const char *name = "untouched";
    /* The directory of the test may lie anywhere; /proc never is a network's. */
    ck_assert_int_eq(os_network_fs("/proc", &name, &error), 0);
    ck_assert_str_eq(name, "untouched");
    ck_assert_int_ge(os_network_fs(dir, NULL, &error), 0);
    ck_assert_int_eq(os_network_fs(in_dir("none"), NULL, &error), CAIRN_EIO);
}
END_TEST

/* ---- Identity ---- */

static pid_t spawn_self(const char *mode, const char *argument, int *out)
{
    char self[] = "/proc/self/exe", word[32], value[512];
    char *argv[] = {self, word, value, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid;
    snprintf(word, sizeof word, "%s", mode);
    snprintf(value, sizeof value, "%s", argument);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ck_assert_int_eq(posix_spawn(&pid, self, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = ends[0];
    return pid;
}

static void await_byte(int fd)
{
    char byte;
    ck_assert_int_eq(read(fd, &byte, 1), 1);
}

START_TEST(identity)
{
    char boot[37], again[37], host[64];
    os_boot_id(boot);
    os_boot_id(again);
    ck_assert_uint_eq(strlen(boot), 36);
    ck_assert_str_eq(boot, again);
    os_host_name(host);
    ck_assert_uint_gt(strlen(host), 0);
}
END_TEST

START_TEST(process_start)
{
    int out;
    uint64_t own = os_process_start(getpid());
    ck_assert_uint_gt(own, 0);
    ck_assert_uint_eq(own, os_process_start(getpid()));
    ck_assert_uint_le(own, (uint64_t)clock_boot_ns() / 10000000 + 1);
    pid_t pid = spawn_self("exit", "", &out);
    char byte;
    ck_assert_int_eq(read(out, &byte, 1), 0);
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    ck_assert_uint_eq(os_process_start(pid), 0); /* a zombie */
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_uint_eq(os_process_start(pid), 0);
    close(out);
}
END_TEST

/* ---- Locks ---- */

/* Only a lock file that is gone or another one means that two could own a workflow. */
START_TEST(lock_file_that_cannot_be_looked_at)
{
    struct cairn_error why = {0};
    struct lock_file lock;
    char at[512];
    snprintf(at, sizeof at, "%s", in_dir("lock"));
    ck_assert_int_eq(lock_open(&lock, at, &why), 0);
    ck_assert_int_eq(lock_check(&lock, at, &why), 0);
    ck_assert_int_eq(symlink("loop", in_dir("loop")), 0);
    ck_assert_int_eq(lock_check(&lock, in_dir("loop/lock"), &why), CAIRN_EIO);
    ck_assert_int_eq(why.sys, ELOOP);
    ck_assert_int_eq(unlink(at), 0);
    ck_assert_int_eq(lock_check(&lock, at, &why), CAIRN_EDAMAGED);
    lock_close(&lock);
}
END_TEST

START_TEST(locks_exclude)
{
    struct lock_file a, b;
    ck_assert_int_eq(lock_open(&a, in_dir("lock"), &error), 0);
    ck_assert_int_eq(lock_open(&b, in_dir("lock"), &error), 0);
    ck_assert_int_eq(fcntl(a.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ck_assert_int_eq(lock_try(&a, 0, LOCK_EXCLUSIVE, &error), 1);
    ck_assert_int_eq(lock_try(&b, 0, LOCK_EXCLUSIVE, &error), 0);
    ck_assert_int_eq(lock_try(&b, 0, LOCK_SHARED, &error), 0);
    ck_assert_int_eq(lock_try(&b, 1, LOCK_EXCLUSIVE, &error), 1); /* another byte */
    ck_assert_int_eq(lock_held(&b, 0, &error), 1);
    ck_assert_int_eq(lock_held(&a, 0, &error), 0); /* our own does not count */
    lock_drop(&a, 0);
    ck_assert_int_eq(lock_held(&b, 0, &error), 0);
    ck_assert_int_eq(lock_try(&b, 0, LOCK_EXCLUSIVE, &error), 1);
    lock_close(&b);
    lock_close(&b); /* twice does no harm */
    ck_assert_int_eq(lock_try(&a, 0, LOCK_EXCLUSIVE, &error), 1);
    lock_close(&a);
}
END_TEST

START_TEST(locks_convert)
{
    struct lock_file a, b;
    ck_assert_int_eq(lock_open(&a, in_dir("lock"), &error), 0);
    ck_assert_int_eq(lock_open(&b, in_dir("lock"), &error), 0);
    ck_assert_int_eq(lock_try(&a, 7, LOCK_SHARED, &error), 1);
    ck_assert_int_eq(lock_try(&b, 7, LOCK_SHARED, &error), 1);
    ck_assert_int_eq(lock_try(&a, 7, LOCK_EXCLUSIVE, &error), 0);
    lock_drop(&b, 7);
    ck_assert_int_eq(lock_try(&a, 7, LOCK_EXCLUSIVE, &error), 1);
    ck_assert_int_eq(lock_try(&b, 7, LOCK_SHARED, &error), 0);
    lock_close(&a);
    lock_close(&b);
}
END_TEST

START_TEST(locks_wait)
{
    struct lock_file a, b;
    ck_assert_int_eq(lock_open(&a, in_dir("lock"), &error), 0);
    ck_assert_int_eq(lock_open(&b, in_dir("lock"), &error), 0);
    ck_assert_int_eq(lock_wait(&a, 0, LOCK_EXCLUSIVE, 0, &error), 0);
    ck_assert_int_eq(lock_wait(&b, 0, LOCK_EXCLUSIVE, 0, &error), CAIRN_EBUSY);
    int64_t start = clock_mono_ns();
    ck_assert_int_eq(lock_wait(&b, 0, LOCK_EXCLUSIVE, 30, &error), CAIRN_EBUSY);
    ck_assert_int_ge(clock_mono_ns() - start, 30000000);
    lock_close(&a);
    ck_assert_int_eq(lock_wait(&b, 0, LOCK_EXCLUSIVE, 0, &error), 0);
    lock_close(&b);
}
END_TEST

START_TEST(locks_for_looking)
{
    struct lock_file a, look;
    ck_assert_int_eq(lock_open_read(&look, in_dir("lock"), &error), 0);
    ck_assert_int_eq(look.fd, -1);
    ck_assert(!exists("lock"));
    ck_assert_int_eq(lock_held(&look, 0, &error), 0);
    ck_assert_int_eq(lock_open(&a, in_dir("lock"), &error), 0);
    ck_assert_int_eq(lock_open_read(&look, in_dir("lock"), &error), 0);
    ck_assert_int_eq(lock_held(&look, 0, &error), 0);
    ck_assert_int_eq(lock_try(&a, 0, LOCK_SHARED, &error), 1);
    ck_assert_int_eq(lock_held(&look, 0, &error), 1);
    lock_close(&a);
    lock_close(&look);
    ck_assert_int_eq(lock_open(&a, in_dir("no/lock"), &error), CAIRN_EIO);
}
END_TEST

/* The lock ends with its owner, however it dies. */
START_TEST(locks_heal)
{
    struct lock_file lock;
    int out;
    in_dir("lock");
    pid_t pid = spawn_self("lock", path, &out);
    await_byte(out);
    ck_assert_int_eq(lock_open(&lock, path, &error), 0);
    ck_assert_int_eq(lock_try(&lock, 5, LOCK_SHARED, &error), 0);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(lock_try(&lock, 5, LOCK_EXCLUSIVE, &error), 1);
    lock_close(&lock);
    close(out);
}
END_TEST

static int hold_lock(const char *name)
{
    struct lock_file lock;
    if (lock_open(&lock, name, NULL) || lock_try(&lock, 5, LOCK_EXCLUSIVE, NULL) != 1 ||
        write(1, "x", 1) != 1)
        return 1;
    pause();
    return 0;
}

/* Files may have times that do not fit nanoseconds. */
START_TEST(test_times_beyond)
{
    static const struct {
        struct timespec time;
        int64_t ns;
    } times[] = {
        {{1, 5}, 1000000005},
        {{-1, 500000000}, -500000000},
        {{INT64_C(9223372036), 854775807}, INT64_MAX},
        {{INT64_C(9223372036), 854775808}, INT64_MAX},
        {{INT64_C(9223372037), 0}, INT64_MAX},
        {{INT64_C(-9223372037), 0}, INT64_MIN},
        {{INT64_MAX, 0}, INT64_MAX},
        {{INT64_MIN, 999999999}, INT64_MIN},
    };
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        ck_assert_int_eq(timespec_ns(&times[i].time), times[i].ns);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "lock") == 0)
        return hold_lock(argv[2]);
    if (argc == 3 && strcmp(argv[1], "exit") == 0)
        return 0;
    Suite *suite = suite_create("os");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, setup, teardown);
    tcase_add_test(files, test_times_beyond);
    tcase_add_test(files, make_dir);
    tcase_add_test(files, write_then_read);
    tcase_add_test(files, read_large);
    tcase_add_test(files, write_failure_leaves_the_old_file);
    tcase_add_test(files, file_systems);
    tcase_add_test(files, identity);
    tcase_add_test(files, process_start);
    suite_add_tcase(suite, files);
    TCase *locks = tcase_create("locks");
    tcase_add_checked_fixture(locks, setup, teardown);
    tcase_add_test(locks, lock_file_that_cannot_be_looked_at);
    tcase_add_test(locks, locks_exclude);
    tcase_add_test(locks, locks_convert);
    tcase_add_test(locks, locks_wait);
    tcase_add_test(locks, locks_for_looking);
    tcase_add_test(locks, locks_heal);
    suite_add_tcase(suite, locks);
    return help_run(suite);
}
