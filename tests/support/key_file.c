/* SPDX-License-Identifier: MIT */
#include "tests/support/key_file.h"

#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char key_dir[256], key_path[300];

void make_key_dir(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(key_dir, sizeof key_dir, "%s/check_key.XXXXXX", base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(key_dir));
    snprintf(key_path, sizeof key_path, "%s/key", key_dir);
}

void remove_key_dir(void)
{
    unlink(key_path);
    rmdir(key_path);
    rmdir(key_dir);
}

void put_key(const char *bytes, size_t n, mode_t mode)
{
    unlink(key_path);
    int fd = open(key_path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}
