/* SPDX-License-Identifier: MIT */
#include "process/pidfd.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Linux 5.4 has them; headers may be older. */
#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int pidfd_of(pid_t pid)
{
    assert(pid > 0);
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int pidfd_signal(int pidfd, int signal)
{
    return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) ? errno : 0;
}

bool pidfd_has_ended(int pidfd)
{
    struct pollfd watched = {.fd = pidfd, .events = POLLIN};
    int n;
    do
        n = poll(&watched, 1, 0);
    while (n < 0 && errno == EINTR);
    return n > 0;
}

/* The bare call, for the resource usage that the C library's waitid leaves out. */
int pidfd_wait(int pidfd, int options, siginfo_t *info, struct rusage *usage)
{
    long rc;
    info->si_pid = 0;
    do
        rc = syscall(SYS_waitid, P_PIDFD, pidfd, info, options | WEXITED | __WALL,
                     usage);
    while (rc < 0 && errno == EINTR);
    return rc < 0 ? errno : 0;
}
