/* SPDX-License-Identifier: MIT */
/* What an attempt was given, as a text for sh. */
#ifndef EXECUTOR_GIVEN_SHELL_SCRIPT_H
#define EXECUTOR_GIVEN_SHELL_SCRIPT_H

#include "base/str.h"
#include "cairn/shell.h"

/* Appends the script: directory, environment, and the command (NULL: its own). It has
 * all that is in `shell`, which must be made to be shown: secrets are read from the
 * environment when it runs. */
void shell_script_write(const struct cairn_shell *shell, const char *const *command,
                        struct buf *out);

#endif
