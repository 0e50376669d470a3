/* SPDX-License-Identifier: MIT */
/* The end of a process. The leader of a group is a zombie until it is reaped here, and
 * as long as it is one its number means nobody else: the group is ended and the slot
 * cleared before that, so the guard never holds a number that may have been given out
 * again. */
#include "process/reap.h"
#include "process/pidfd.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void group_signal(pid_t pid, int signal)
{
    if (pid > 1) /* 0 and 1 would mean everybody */
        (void)kill(-pid, signal);
}

void process_signal(pid_t pid, int signal)
{
    group_signal(pid, signal);
}

/* Until its exec a child counts as using the engine's memory, and the kernel keeps that
 * as its peak. So a figure that is not above the engine's own says nothing: 0. */
static int64_t peak_of(const struct rusage *usage)
{
    struct rusage own;
    if (getrusage(RUSAGE_SELF, &own) || usage->ru_maxrss <= own.ru_maxrss)
        return 0;
    return usage->ru_maxrss;
}

int process_reap(pid_t pid, int pidfd, struct slot *slot, struct process_end *end,
                 struct cairn_error *error)
{
    siginfo_t info;
    struct rusage usage;
    assert(pid > 1);
    int sys = pidfd_wait(pidfd, WNOHANG | WNOWAIT, &info, NULL);
    if (!sys && info.si_pid == 0)
        return error_set(error, CAIRN_EIO, "process %d has not ended yet", (int)pid);
    if (!sys)
        group_signal(pid, SIGKILL);
    if (slot)
        atomic_store(&slot->pid, 0);
    if (!sys)
        sys = pidfd_wait(pidfd, 0, &info, &usage);
    close(pidfd);
    /* What the signal has reached is there until somebody has collected it. */
    bool left_behind = !sys && (kill(-pid, 0) == 0 || errno == EPERM);
    if (sys)
        return error_sys(error, sys,
                         "the end of process %d was collected by somebody else (does "
                         "this program ignore SIGCHLD or wait for any child?)",
                         (int)pid);
    end->left_behind = left_behind;
    end->exit_code = info.si_code == CLD_EXITED ? info.si_status : -1;
    end->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    end->cpu_us = usage_cpu_us(&usage);
    end->peak_kib = peak_of(&usage);
    return 0;
}
