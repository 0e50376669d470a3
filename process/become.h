/* SPDX-License-Identifier: MIT */
/* From a fresh clone to a task: what runs between clone and exec. Compiled into the
 * library (for child.c) and into the helper program (for its keeper): nothing but libc.
 *
 * All of it runs in a process that shares the memory of the one that made it, which
 * stands still meanwhile: system calls only, no allocation, no lock. */
#ifndef PROCESS_BECOME_H
#define PROCESS_BECOME_H

#include <signal.h>
#include <stdint.h>

/* Sanitizers keep notes about stack frames; these frames are never left. */
#define IN_CHILD __attribute__((no_sanitize("address", "undefined", "thread")))

enum {
    CHILD_STACK_BYTES = 64 * 1024, /* holds one PATH_MAX buffer with much to spare */
    KERNEL_SIGNALS = _NSIG - 1,
    KERNEL_MASK_BYTES = _NSIG / 8 /* the C library's sigset_t is longer */
};

/* Every signal to its default action, ignored ones too: exec would keep those. */
void default_signals(void);
/* What was sent to the group that the process was born into, and has left by now, was
 * not meant for it: blocked until now, it is thrown away. To be followed by
 * default_signals. */
void forget_signals(void);
/* The soft limit of descriptors; 0: stays as it is. */
void limit_files(uint32_t files);
/* -1 and errno if it fails, as the next one. */
int unblock_signals(void);
/* dup2 of each source to its index; changes the array. */
int place_fds(int *sources, int n);
/* The host's own files must not leak into tasks, close-on-exec or not. Before Linux 5.9
 * there is no such call, and what the host left inheritable is inherited. */
void close_from(unsigned first);
/* execve, along the path if argv[0] has no slash (NULL: a default one). Returns an
 * errno, or not at all. */
int exec_program(const char *path, char *const *argv, char *const *envp);
/* The program that the descriptor (below 10) is open on. An errno, or not at all. */
int exec_descriptor(int fd, const char *const *argv, const char *const *envp);
/* The exit code of a shell for what exec says. */
int exec_exit_code(int sys);

#endif
