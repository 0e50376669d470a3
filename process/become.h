/* SPDX-License-Identifier: MIT */
/* From a fresh clone to a task: what runs between clone and exec. Shared by the library
 * (child.c) and the keeper (helper/keep.c), so it needs nothing but libc.
 *
 * All of it runs in a process that shares the memory of the one that made it, which
 * stands still meanwhile: system calls only, no allocation, no lock. */
#ifndef PROCESS_BECOME_H
#define PROCESS_BECOME_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Sanitizers keep notes about stack frames; these frames are never left. */
#define IN_CHILD __attribute__((no_sanitize("address", "undefined", "thread")))

enum {
    CHILD_STACK_BYTES = 64 * 1024, /* holds one PATH_MAX buffer with much to spare */
    KERNEL_SIGNALS = _NSIG - 1,
    KERNEL_MASK_BYTES = _NSIG / 8, /* the C library's sigset_t is longer */
    FIRST_FREE_FD = 10             /* above all the numbers we hand out */
};

/* Everything to its default, ignored signals too: exec would keep those. */
IN_CHILD static inline void default_signals(void)
{
    static const unsigned long default_action[8]; /* all zero on every Linux */
    for (long signal = 1; signal <= KERNEL_SIGNALS; signal++)
        syscall(SYS_rt_sigaction, signal, default_action, NULL,
                (long)KERNEL_MASK_BYTES);
}

IN_CHILD static inline int unblock_signals(void)
{
    static const unsigned long none[8];
    return (int)syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL,
                        (long)KERNEL_MASK_BYTES);
}

/* dup2 of each source to its index. Sources are lifted out of the way first: a host
 * that runs with 0 to 2 closed gets such numbers for our files. */
IN_CHILD static inline int place_fds(int *sources, int n)
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

/* The host's own files must not leak into tasks, close-on-exec or not. Before Linux 5.9
 * there is no such call, and what the host left inheritable is inherited. */
IN_CHILD static inline void close_from(unsigned first)
{
    syscall(SYS_close_range, first, ~0U, 0);
}

/* execve of DIR/file for every DIR of the path, as execvp does it. Returns an errno. */
IN_CHILD static inline int exec_search(const char *path, char *const *argv,
                                       char *const *envp)
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

/* Returns an errno, or not at all. */
IN_CHILD static inline int exec_program(const char *path, char *const *argv,
                                        char *const *envp)
{
    const char *file = argv[0];
    if (!file || !*file)
        return ENOENT;
    if (!strchr(file, '/'))
        return exec_search(path, argv, envp);
    execve(file, argv, envp);
    return errno;
}

/* The exit code of a shell for what exec says. */
IN_CHILD static inline int exec_exit_code(int sys)
{
    return sys == ENOENT || sys == ENOTDIR ? 127 : 126;
}

#endif
