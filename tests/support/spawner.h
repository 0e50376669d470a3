/* SPDX-License-Identifier: MIT */
/* What the tests of the spawner share: one spawner, and processes that it starts. */
#ifndef TESTS_SUPPORT_SPAWNER_H
#define TESTS_SUPPORT_SPAWNER_H

#include "process/spawner.h"
#include "tests/support/process.h"

/* Lives as long as the block that it stands in. */
#define ARGV(...) strings((const char *const[]){__VA_ARGS__, NULL})
/* exec and its like take strings that they promise not to change. */
char *const *strings(const char *const *texts);

extern struct spawner *spawner;
extern struct slot slot;
extern struct cairn_error failure;
extern char *const no_env[1];

void setup(void);
void teardown(void);
/* Opens a file in the test's directory for a task to write into. */
int output(const char *name);
/* A request with outputs "out" and "err" in the test's directory. */
struct spawn_request request_of(char *const *argv);
/* Hands it in, waits until it was started or could not be, and closes its outputs. */
void start(struct spawn_request *request);
/* Waits for its end and reaps it. */
struct process_end finish(struct spawn_request *request);
struct process_end run(char *const *argv);
struct process_end run_shell(const char *text);

#endif
