/* SPDX-License-Identifier: MIT */
/* What the tests of the store share: a directory of their own, short ways to open and
 * fill a store, and other processes, which are the program itself started with the name
 * of a part to play. */
#ifndef TESTS_SUPPORT_STORE_H
#define TESTS_SUPPORT_STORE_H

#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "storage/store_int.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

extern char dir[256], path[300], name_buffer[600];
extern struct cairn_error error;

void setup(void);
void teardown(void);
void good(int rc);
const char *in_store(const char *name);
bool exists(const char *name);
int try_open(struct cairn_store **store, bool read_only);
struct cairn_store *open_store(void);
struct cairn_store *open_reader(void);
void expect_refused(int code, const char *part);
/* Puts the next checkpoint; the transaction is open. */
int put(struct cairn_store *store, size_t size, uint64_t *seq);
uint64_t commit_one(struct cairn_store *store);
uint64_t count(struct cairn_store *store);
int note_line(void *context, const char *line);
/* ---- Other processes ---- */

pid_t start(const char *part, int *out);
void murder(pid_t pid, int out);
int play(const char *part);
/* Whether the program was started to play a part; *status is its exit status then. */
bool played(int argc, char **argv, int *status);
int run_tests(const char *name, const TTest *const *tests, size_t n);
#endif
