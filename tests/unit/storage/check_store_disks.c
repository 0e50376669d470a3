/* SPDX-License-Identifier: MIT */
/* make: tsan not-valgrind */
/* Stores on disks and in directories that are full or read-only. */
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/support/store.h"

/* A mount that only this test's process sees; false without the right to make it. */
static bool mount_small(unsigned long flags, const char *options)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("check", dir, "tmpfs", flags, options) == 0;
}

START_TEST(disk_full)
{
    if (!mount_small(0, "size=600k"))
        return; /* commit_fails has done what can be done without a mount */
    struct cairn_store *store = open_store();
    char name[300], block[4096] = {0};
    uint64_t seq;
    commit_one(store);
    snprintf(name, sizeof name, "%s/filler", dir);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    while (write(fd, block, sizeof block) == (ssize_t)sizeof block)
        continue;
    ck_assert_int_eq(errno, ENOSPC);
    good(store_begin(store, 0, &error));
    good(put(store, 100000, &seq));
    ck_assert_int_eq(store_commit(store, &error), CAIRN_EIO);
    ck_assert_int_eq(error.sys, ENOSPC);
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, "free some space"),
                  "%s", error.text);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    close(fd);
    good(store_begin(store, 0, &error));
    good(put(store, 100000, &seq));
    ck_assert_uint_eq(seq, 2);
    good(store_commit(store, &error));
    cairn_store_close(store);
    store = open_reader();
    ck_assert_uint_eq(count(store), 2);
    cairn_store_close(store);
    umount(dir);
}
END_TEST

START_TEST(read_only_disk)
{
    if (!mount_small(0, "size=2m"))
        return;
    struct cairn_store *store = open_store();
    commit_one(store);
    cairn_store_close(store);
    for (int i = 0; i < 3; i++) {
        if (i == 2) { /* left behind by a killed writer */
            int out;
            pid_t pid = start("write", &out);
            murder(pid, out);
        }
        ck_assert_int_eq(mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
        ck_assert_int_eq(try_open(&store, false), CAIRN_EIO);
        ck_assert_int_eq(error.sys, EROFS);
        ck_assert_msg(strstr(error.text, path) != NULL, "%s", error.text);
        store = open_reader();
        ck_assert_uint_eq(count(store), i == 2 ? 6 : 1);
        cairn_store_close(store);
        ck_assert_int_eq(mount(NULL, dir, NULL, MS_REMOUNT, NULL), 0);
        if (i == 0) { /* as copied without the files that SQLite makes */
            ck_assert_int_eq(unlink(in_store("cairn.db-wal")), 0);
            ck_assert_int_eq(unlink(in_store("cairn.db-shm")), 0);
        }
    }
    umount(dir);
}
END_TEST

START_TEST(read_only_directory)
{
    struct cairn_store *store;
    if (getuid() == 0) { /* root may write anywhere */
        ck_assert_int_eq(chown(dir, 65534, 65534), 0);
        ck_assert_int_eq(setegid(65534), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
    store = open_store();
    commit_one(store);
    cairn_store_close(store);
    ck_assert_int_eq(chmod(in_store("lock"), 0400), 0);
    ck_assert_int_eq(chmod(in_store("cairn.db"), 0400), 0);
    ck_assert_int_eq(chmod(in_store("cairn.db-wal"), 0400), 0);
    ck_assert_int_eq(chmod(in_store("cairn.db-shm"), 0400), 0);
    ck_assert_int_eq(chmod(path, 0500), 0);
    ck_assert_int_eq(try_open(&store, false), CAIRN_EIO);
    ck_assert_int_eq(error.sys, EACCES);
    store = open_reader();
    ck_assert_uint_eq(count(store), 1);
    cairn_store_close(store);
    ck_assert_int_eq(chmod(path, 0700), 0);
    if (getuid() == 0) {
        ck_assert_int_eq(seteuid(0), 0);
        ck_assert_int_eq(setegid(0), 0);
    }
}
END_TEST

int main(int argc, char **argv)
{
    int status;
    if (played(argc, argv, &status))
        return status;
    const TTest *const tests[] = {disk_full, read_only_disk, read_only_directory};
    return run_tests("store_disks", tests, sizeof tests / sizeof tests[0]);
}
