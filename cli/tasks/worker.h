/* SPDX-License-Identifier: MIT */
/* A shell command in a process group of its own, whose stdout is collected while
 * something else is done from time to time. */
#ifndef CLI_TASKS_WORKER_H
#define CLI_TASKS_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WORKER_OUTPUT_MAX ((size_t)2 << 20)

struct worker {
    pid_t pid;
    int out, in, pidfd, signals; /* -1: closed */
    const char *input;           /* what it reads from stdin, and how much is left */
    size_t input_left;
    char *output; /* [used] and a NUL */
    size_t used, capacity;
    bool too_much; /* more than WORKER_OUTPUT_MAX, which is thrown away */
    bool failed;   /* out of memory */
};

enum worker_event {
    WORKER_ENDED = 1, /* all that it wrote is collected */
    WORKER_TIME,      /* the time has passed */
    WORKER_SIGNAL     /* SIGINT, SIGTERM or SIGHUP, which wait for this from now on */
};

/* Starts `sh -c command`, with stderr and the environment of this process. `input` must
 * outlive it. Returns 0 or an errno. */
int worker_start(struct worker *worker, const char *command, const char *input);
/* Until something happens, at most `timeout_ms`. */
enum worker_event worker_wait(struct worker *worker, int64_t timeout_ms);
/* Ends its group: TERM, and KILL after some seconds. */
void worker_stop(struct worker *worker);
/* Reaps it. What is left of its group is killed. Returns what waitpid gives. */
int worker_reap(struct worker *worker);
void worker_release(struct worker *worker);

#endif
