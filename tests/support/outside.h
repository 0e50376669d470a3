/* SPDX-License-Identifier: MIT */
/* What the tests of commands from outside share: other processes of this very program,
 * which run a workflow, claim or complete; main begins with help_other. */
#ifndef TESTS_SUPPORT_OUTSIDE_H
#define TESTS_SUPPORT_OUTSIDE_H

#include "tests/support/engine.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

enum { OTHERS = 8, PATIENCE_MS = 20000 };

/* ---- In the other process ---- */

int other_result(int rc);
int other_run(struct cairn_store *store, const char *file);
/* PROGRAM other run FILE | claim TASK | complete TASK: -1 if it is none of these. */
int help_other(int argc, char **argv);
/* ---- In the test ---- */

pid_t start_other(const char *what, const char *argument);
int end_of(pid_t pid);
void kill_other(pid_t pid);
/* The workflow in a file, so that other processes and later runs find it. */
struct cairn_workflow *from_file(const char *text);
struct cairn_run_result go(const char *text, struct cairn_store *store);
/* Goes on with run 1 as it is in the file. */
struct cairn_run_result go_on(struct cairn_store *store);
struct steps {
    int n, claimed;
    char names[256]; /* "a b " */
    char text[512];  /* of the last */
};

int note_step(void *context, const struct cairn_next_info *info);
struct steps next_of(struct cairn_store *store, bool claimed);
enum cairn_outcome outcome_of(struct cairn_store *store, const char *task);
/* Polls; a test that would wait longer than PATIENCE_MS fails. */
#define wait_until(condition)                              \
    do {                                                   \
        int left_ = PATIENCE_MS;                           \
        while (!(condition) && left_-- > 0)                \
            poll(NULL, 0, 1);                              \
        ck_assert_msg(left_ > 0, "%s: never", #condition); \
    } while (0)

#endif
