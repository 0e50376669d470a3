/* SPDX-License-Identifier: MIT */
/* A key file in a directory of its own. */
#ifndef TESTS_SUPPORT_KEY_FILE_H
#define TESTS_SUPPORT_KEY_FILE_H

#include <stddef.h>
#include <sys/types.h>

extern char key_dir[256], key_path[300];
/* Before and after each test. */
void make_key_dir(void);
void remove_key_dir(void);
void put_key(const char *bytes, size_t n, mode_t mode);

#endif
