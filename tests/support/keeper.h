/* SPDX-License-Identifier: MIT */
/* For the tests of keepers: one task under a keeper, as an engine would hand it in. */
#ifndef TESTS_SUPPORT_KEEPER_H
#define TESTS_SUPPORT_KEEPER_H

#include "process/keeper_int.h"

#include "process/guard.h"
#include "process/keeper_file.h"
#include "process/leftovers.h"
#include "process/spawner.h"

#include "tests/support/process.h"

#include <sys/socket.h>

enum { RUN = 7, GEN = 2, TASKS = 6 };

#define ARGV(...) strings((const char *const[]){__VA_ARGS__, NULL})

extern char store_id[40];
extern char run_token[80]; /* "<store id>.7" */
extern struct slot_map map;
extern struct spawner *spawner;
extern struct cairn_error failure;

char *const *strings(const char *const *texts);
struct attempt_id id_of(const char *dir, uint32_t task);
/* A task that leaves its mark, starts others that ignore TERM, one of them without an
 * environment, and continues when there is a file "go". */
extern const char go_text[];

/* One task under a keeper, as an engine would hand it in. */
struct work {
    struct spawn_request request;
    struct keeper_order order;
    char token[KEEP_TOKEN], variable[KEEP_TOKEN + 16];
    const char *env[4];
};

void prepare(struct work *work, const char *dir, uint32_t task, char *const *argv);
/* Another attempt of task 0. */
void number_attempt(struct work *work, uint32_t attempt);
/* Whatever keepers have left in the directory. */
void forget_all(void);
void setup(void);
void teardown(void);
void setup_own(void);
void teardown_own(void);
void submit(struct work *work);
struct keeper start(struct work *work);
void reap(struct keeper *keeper, struct slot *slot);
void expect_same(const struct keeper_record *a, const struct keeper_record *b);
/* Runs it to its end under a keeper of ours. */
struct keeper_record run_work(struct work *work);
struct keeper_record run(char *const *argv);
struct keeper_record run_shell(const char *text);
void expect(struct keeper_record record, int exit_code, int signal);
extern struct work up_work;

struct keeper start_up(void);
void stop_up(struct keeper *keeper);
#endif
