/* SPDX-License-Identifier: MIT */
/* What the tests of processes share: a directory of their own, waiting for a condition
 * (bounded, by polling), and looking at other processes. */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include "base/clock.h"
#include "process/proc_scan.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 }; /* only a failing test waits that long */

extern char help_dir[256];

void help_make_dir(void);
/* The tests put only plain files and empty directories into it. */
void help_remove_dir(void);
const char *help_path(const char *name);
/* The start of a file in `dir`, NUL-terminated; in a buffer that is used again. */
const char *help_read(const char *name);
void help_write(const char *name, const char *text, mode_t mode);
void help_pause(void);
/* This program again, as an engine that says on stdout when it is up, and more, which
 * is to be read from `up`. Its stderr is the file "engine". */
pid_t help_start_engine(const char *store_id, const char *mode, FILE **up);
/* Waits until `condition` holds; the test fails if it does not in PATIENCE_MS. */
#define help_until(condition)                                                        \
    do {                                                                             \
        int64_t help_end = clock_mono_ns() + (int64_t)PATIENCE_MS * 1000000;         \
        while (!(condition)) {                                                       \
            ck_assert_msg(clock_mono_ns() < help_end, "never came: %s", #condition); \
            help_pause();                                                            \
        }                                                                            \
    } while (0)

bool help_readable(int fd, int wait_ms);
bool help_alive(pid_t pid);
/* Living processes that have CAIRN_TOKEN=<token>. in their environment. */
int help_count(const char *token);
int help_open_fds(void);
/* A child of the test in a group of its own, `env` as given. */
pid_t help_spawn(const char *const *argv, const char *const *env);
/* Ends and reaps a child of the test; its wait status. */
int help_end(pid_t pid);
#endif
