/* SPDX-License-Identifier: MIT */
/* What an attempt was given, also as a text for sh: an attempt of a stored run, with
 * all that its texts could refer to when it started: the definition of its generation,
 * and how the tasks that it needs stood then.
 *
 * * That is exact where the attempt has a checkpoint of its own. Else (it runs, it was
 * interrupted, another attempt followed, its checkpoint was deleted) the newest states
 * of the run are taken, and a task that has ended again since is put back to its last
 * attempt before, in the moment in which a text asks for it. */
#ifndef EXECUTOR_GIVEN_SHELL_H
#define EXECUTOR_GIVEN_SHELL_H

#include "base/str.h"
#include "cairn/runs.h"
#include "runs/lookup.h"
#include "runs/stored.h"

/* Appends the script: directory, environment, and the command (NULL: its own). It has
 * all that is in `shell`, which must be made to be shown: secrets are read from the
 * environment when it runs. */
void shell_script_write(const struct cairn_shell *shell, const char *const *command,
                        struct buf *out);

#endif
