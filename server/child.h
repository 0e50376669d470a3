/* SPDX-License-Identifier: MIT */
/* One command of cairn as a process: this same executable, in a process group of its
 * own, with pipes, and known by a descriptor, so that a signal never meets another
 * process. It dies with the server, unless it is detached. */
#ifndef SERVER_CHILD_H
#define SERVER_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
    int pidfd;        /* -1: there is none */
    int in, out, err; /* our ends of its pipes; -1: closed */
};
struct child_start {
    char *const *argv;     /* ended by NULL */
    const char *directory; /* or NULL: here */
    bool detached;         /* goes on when the server ends */
    bool has_input;        /* else its stdin is empty */
};

#define CHILD_NONE ((struct child){-1, -1, -1, -1})

/* 0, or an errno. Reading ends do not block. */
int child_start(struct child *child, const struct child_start *start);
void child_signal(const struct child *child, int number);
/* Waits for the end, which is near, closes all and returns the exit status, 128 + the
 * number of a signal. */
int child_reap(struct child *child);
/* Closes our ends of the pipes. */
void child_close(struct child *child);

#endif
