/* SPDX-License-Identifier: MIT */
/* Locks on bytes of a file: who excludes whom, and when a lock ends. */
#include "base/lock.h"

#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[256], path[300];
static struct lock_file ours, theirs; /* two open files, as of two handles */
static struct cairn_error failure;

static void setup_files(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/check_lock.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/lock", dir);
    ck_assert_int_eq(lock_open(&ours, path, &failure), 0);
    ck_assert_int_eq(lock_open(&theirs, path, &failure), 0);
}

static void teardown_files(void)
{
    lock_close(&ours);
    lock_close(&theirs);
    remove_tree(dir);
}

static int try_ours(int64_t offset, enum lock_mode mode)
{
    return lock_try(&ours, offset, mode, &failure);
}

static int try_theirs(int64_t offset, enum lock_mode mode)
{
    return lock_try(&theirs, offset, mode, &failure);
}

START_TEST(test_modes)
{
    ck_assert_int_eq(try_ours(5, LOCK_SHARED), 1);
    ck_assert_int_eq(try_theirs(5, LOCK_SHARED), 1);
    ck_assert_int_eq(try_theirs(5, LOCK_EXCLUSIVE), 0);
    ck_assert_int_eq(try_theirs(6, LOCK_EXCLUSIVE), 1); /* another byte */
    lock_drop(&ours, 5);
    ck_assert_int_eq(try_theirs(5, LOCK_EXCLUSIVE), 1); /* converted */
    ck_assert_int_eq(try_ours(5, LOCK_SHARED), 0);
    ck_assert_int_eq(try_theirs(5, LOCK_SHARED), 1); /* and back */
    ck_assert_int_eq(try_ours(5, LOCK_SHARED), 1);
}
END_TEST

START_TEST(test_looking_takes_nothing)
{
    int64_t where = -1;
    struct lock_file missing;
    ck_assert_int_eq(lock_held(&ours, 7, &failure), 0);
    ck_assert_int_eq(try_theirs(7, LOCK_SHARED), 1);
    ck_assert_int_eq(lock_held(&ours, 7, &failure), 1);
    ck_assert_int_eq(lock_held(&theirs, 7, &failure), 0); /* one's own is no other's */
    ck_assert_int_eq(lock_held_from(&ours, 0, &where, &failure), 1);
    ck_assert_int_eq(where, 7);
    ck_assert_int_eq(lock_held_from(&ours, 8, &where, &failure), 0);
    ck_assert_int_eq(try_theirs(7, LOCK_EXCLUSIVE), 1);
    snprintf(path, sizeof path, "%s/missing", dir);
    ck_assert_int_eq(lock_open_read(&missing, path, &failure), 0);
    ck_assert_int_eq(missing.fd, -1);
    ck_assert_int_eq(lock_held(&missing, 7, &failure), 0);
    ck_assert_int_eq(access(path, F_OK), -1); /* not made, either */
}
END_TEST

START_TEST(test_waiting)
{
    ck_assert_int_eq(try_theirs(1, LOCK_EXCLUSIVE), 1);
    ck_assert_int_eq(lock_wait(&ours, 1, LOCK_EXCLUSIVE, 5, &failure), CAIRN_EBUSY);
    lock_drop(&theirs, 1);
    ck_assert_int_eq(lock_wait(&ours, 1, LOCK_EXCLUSIVE, 0, &failure), 0);
}
END_TEST

/* With the last descriptor of its open file, and not before. */
START_TEST(test_end_of_a_lock)
{
    struct lock_file other;
    ck_assert_int_eq(try_theirs(1, LOCK_EXCLUSIVE), 1);
    ck_assert_int_eq(lock_open(&other, path, &failure), 0);
    lock_close(&other);
    ck_assert_int_eq(try_ours(1, LOCK_EXCLUSIVE), 0);
    int copy = dup(theirs.fd);
    lock_close(&theirs);
    ck_assert_int_eq(try_ours(1, LOCK_EXCLUSIVE), 0);
    close(copy);
    ck_assert_int_eq(try_ours(1, LOCK_EXCLUSIVE), 1);
}
END_TEST

START_TEST(test_replaced_file)
{
    struct lock_file other;
    ck_assert_int_eq(lock_check(&ours, path, &failure), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(lock_check(&ours, path, &failure), CAIRN_EDAMAGED);
    ck_assert_int_eq(lock_open(&other, path, &failure), 0);
    ck_assert_int_eq(lock_check(&ours, path, &failure), CAIRN_EDAMAGED);
    ck_assert_int_eq(lock_check(&other, path, &failure), 0);
    lock_close(&other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lock");
    TCase *c = tcase_create("lock");
    tcase_add_checked_fixture(c, setup_files, teardown_files);
    tcase_add_test(c, test_modes);
    tcase_add_test(c, test_looking_takes_nothing);
    tcase_add_test(c, test_waiting);
    tcase_add_test(c, test_end_of_a_lock);
    tcase_add_test(c, test_replaced_file);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
