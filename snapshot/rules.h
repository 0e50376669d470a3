/* SPDX-License-Identifier: MIT */
/* The files of rules in one directory. */
#ifndef SNAPSHOT_RULES_H
#define SNAPSHOT_RULES_H

#include "snapshot/ignore.h"

enum { RULES_BYTES_MOST = 1 << 20 };
/* Reads .gitignore and .cairnignore of the directory `fd`, whose path is `dir`, if they
 * are files; a link is none, as for git. *rules: those that hold in it, `above` where
 * it has none of its own; in the arena. CAIRN_ELIMIT: one is larger than
 * RULES_BYTES_MOST. */
int rules_read(int fd, struct str dir, const struct ignore_level *above,
               struct arena *arena, const struct ignore_level **rules,
               struct cairn_error *error);

/* Whether the directory `path` (below the open directory `root`; it need not be there)
 * is one that a snapshot of that leaves out, or lies in one: 1 or 0. */
int rules_leave_out(int root, struct str path, struct cairn_error *error);

#endif
