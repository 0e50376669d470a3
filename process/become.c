/* SPDX-License-Identifier: MIT */
#include "process/become.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { FIRST_FREE_FD = 10 /* above all the numbers we hand out */ };

IN_CHILD void default_signals(void)
{
    static const unsigned long default_action[8]; /* all zero on every Linux */
    for (long signal = 1; signal <= KERNEL_SIGNALS; signal++)
        syscall(SYS_rt_sigaction, signal, default_action, NULL,
                (long)KERNEL_MASK_BYTES);
}

IN_CHILD void forget_signals(void)
{
    static const unsigned long ignore_action[8] = {1}; /* SIG_IGN drops what waits */
    uint64_t waiting = 0;
    if (syscall(SYS_rt_sigpending, &waiting, (long)sizeof waiting) || !waiting)
        return;
    for (long signal = 1; signal <= (long)(8 * sizeof waiting); signal++)
        if (waiting >> (signal - 1) & 1)
            syscall(SYS_rt_sigaction, signal, ignore_action, NULL,
                    (long)KERNEL_MASK_BYTES);
}

IN_CHILD int unblock_signals(void)
{
    static const unsigned long none[8];
    return (int)syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL,
                        (long)KERNEL_MASK_BYTES);
}

/* Where it cannot be set (a hard limit that was lowered meanwhile) the task has more
 * than it needs. */
IN_CHILD void limit_files(uint32_t files)
{
    struct rlimit limit;
    if (!files || getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur <= files)
        return;
    limit.rlim_cur = files;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Sources are lifted out of the way first: a host
 * that runs with 0 to 2 closed gets such numbers for our files. */
IN_CHILD int place_fds(int *sources, int n)
{
    for (int i = 0; i < n; i++)
        if (sources[i] < FIRST_FREE_FD) {
            sources[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
            if (sources[i] < 0)
                return -1;
        }
    for (int i = 0; i < n; i++)
        if (dup2(sources[i], i) < 0)
            return -1;
    return 0;
}

IN_CHILD void close_from(unsigned first)
{
    syscall(SYS_close_range, first, ~0U, 0);
}

/* execve of DIR/file for every DIR of the path, as execvp does it. Returns an errno. */
IN_CHILD static int exec_search(const char *path, char *const *argv, char *const *envp)
{
    /* As execvp without PATH in the environment. */
    static const char default_path[] = "/bin:/usr/bin";
    const char *file = argv[0];
    size_t file_len = strlen(file);
    int seen = ENOENT;
    char candidate[PATH_MAX];
    for (const char *at = path ? path : default_path;; at++) {
        size_t len = strcspn(at, ":");
        if (len + 1 + file_len < sizeof candidate) {
            size_t used = len;
            memcpy(candidate, at, len);
            if (len)
                candidate[used++] = '/';
            memcpy(candidate + used, file, file_len + 1);
            /* execve copies all the strings before it looks for the file. */
            if (faccessat(AT_FDCWD, candidate, F_OK, 0) == 0)
                execve(candidate, argv, envp);
            if (errno == EACCES)
                seen = EACCES;
            else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE &&
                     errno != ENODEV && errno != ETIMEDOUT)
                return errno;
        }
        at += len;
        if (!*at)
            return seen;
    }
}

IN_CHILD int exec_program(const char *path, char *const *argv, char *const *envp)
{
    const char *file = argv[0];
    if (!file || !*file)
        return ENOENT;
    if (!strchr(file, '/'))
        return exec_search(path, argv, envp);
    execve(file, argv, envp);
    return errno;
}

/* Old kernels and sandboxes have no execveat; then /proc has a name for it. */
IN_CHILD int exec_descriptor(int fd, const char *const *argv, const char *const *envp)
{
    char name[] = "/proc/self/fd/0";
    syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
    int sys = errno;
    if (sys != ENOSYS && sys != EPERM)
        return sys;
    name[sizeof name - 2] = (char)(name[sizeof name - 2] + fd);
    syscall(SYS_execve, name, argv, envp);
    return errno == ENOENT ? sys : errno;
}

IN_CHILD int exec_exit_code(int sys)
{
    return sys == ENOENT || sys == ENOTDIR ? 127 : 126;
}
