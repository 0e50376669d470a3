/* SPDX-License-Identifier: MIT */
/* Pidfds: a process by a descriptor, which means no other one however long it is held.
 * A descriptor of -1, of a process that could not be opened, is an error of the calls
 * below, and of nobody that has ended.
 * Compiled into the library and into the helper program: nothing but libc. */
#ifndef PROCESS_PIDFD_H
#define PROCESS_PIDFD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* A pidfd (close-on-exec) of whoever has this number now, or -1 and errno. */
int pidfd_of(pid_t pid);
/* To this process alone; an errno. */
int pidfd_signal(int pidfd, int signal);
/* Does not reap, and works for children of others. */
bool pidfd_has_ended(int pidfd);
/* waitid(2) for the end of a child, retried after signals; an errno. `options` as there
 * (WNOHANG, WNOWAIT); info->si_pid is 0 if it still runs; usage may be NULL. */
int pidfd_wait(int pidfd, int options, siginfo_t *info, struct rusage *usage);
/* User and system time in microseconds. */
static inline int64_t usage_cpu_us(const struct rusage *usage)
{
    return ((int64_t)usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
           usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

#endif
