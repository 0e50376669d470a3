/* SPDX-License-Identifier: MIT */
/* The vfork-style clone, what runs in its child, and what its end means.
 *
 * A child made here shares the engine's memory until it execs, while the thread that
 * made it stands still. It may do nothing but system calls and writes to its job. */
#ifndef PROCESS_CHILD_INT_H
#define PROCESS_CHILD_INT_H

#include "process/spawner.h"

#include <sys/resource.h>
#include <sys/wait.h>

/* A stack for one child at a time, with a page below it that faults. */
struct child_stack {
    char *base;
    size_t size;
};
int child_stack_init(struct child_stack *stack, struct cairn_error *error);
void child_stack_release(struct child_stack *stack);

/* Runs entry(job) in a new process. Returns when that has execed or ended: its pid and
 * a pidfd (close-on-exec), or -errno of the clone. */
pid_t child_clone(const struct child_stack *stack, int (*entry)(void *), void *job,
                  int *pidfd);

/* Becomes the task of a spawn_request, or fills in error, exit_code and stage. */
struct task_job {
    struct spawn_request *request;
    int null_fd; /* /dev/null, for reading and writing */
    pid_t parent;
};
int child_task(void *job);

/* Becomes the guard, or fills in error and stage. */
struct guard_job {
    int life_fd, slots_fd, null_fd;
    int image_fd; /* the helper program */
    int error;
    const char *stage;
};
int child_guard(void *job);

/* Becomes the keeper of the request's task, or fills in error, exit_code and stage. */
struct keeper_job {
    struct spawn_request *request;
    int spec_fd, dir_fd, null_fd, image_fd;
    char variable[SLOTS_TOKEN + 64]; /* CAIRN_TOKEN=... */
};
int child_keeper(void *job);

/* What a child left in its request's `quiet_file`. */
enum spawn_values {
    VALUES_NONE, /* it is empty, or there was to be none */
    VALUES_SOME,
    VALUES_MISSING,
    VALUES_NO_FILE,
    VALUES_UNKNOWN /* it cannot be looked at */
};
/* How a child ended, which is not reaped yet. */
struct spawn_end {
    bool known; /* else nothing of the rest is */
    siginfo_t info;
    struct rusage usage;
    enum spawn_values values;
    uint64_t values_bytes;
};

#endif
