/* SPDX-License-Identifier: MIT */
/* The store of an older release (tests/data/README.md). */
#ifndef TESTS_SUPPORT_OLD_STORE_H
#define TESTS_SUPPORT_OLD_STORE_H

#include "base/os.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zstd.h>

/* Makes the directory with the old database in it; that of version 1, or another. */
void put_store_of_version(const char *directory, int version);
void put_old_store(const char *directory);
#endif
