/* SPDX-License-Identifier: MIT */
/* A line from the terminal that is not shown while it is typed. */
#ifndef CLI_SHELL_HIDDEN_H
#define CLI_SHELL_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>

/* Asks on stderr and reads a line from stdin, both terminals, without its line break.
 * False: there is none, or it is longer than `size` - 1. A signal ends this process
 * after the terminal was set right again. */
bool hidden_read(const char *prompt, char *out, size_t size);

#endif
