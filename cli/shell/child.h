/* SPDX-License-Identifier: MIT */
/* A program that takes our place at the terminal until it ends. */
#ifndef CLI_SHELL_CHILD_H
#define CLI_SHELL_CHILD_H

/* Starts the program in the directory ("": here) with exactly this environment, whose
 * PATH it is looked for in, and waits. It has our terminal and descriptors and is in
 * our process group, so a shell's job control and Ctrl-C work as without us; SIGTERM
 * and SIGHUP are handed on to it. Returns its exit status, 128 + n for signal n, 127
 * (no such program) or 126 (it cannot be executed); or another one after a message that
 * it was not started. This process changes to the directory. */
int child_run(const char *directory, const char *const *argv, const char *const *env);

#endif
