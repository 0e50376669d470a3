/* SPDX-License-Identifier: MIT */
/* File names matching a pattern, in byte order: `*`, `?` and `[...]` within the parts
 * of a path; names beginning with a dot only match a dot that is written. */
#ifndef WORKFLOW_GLOB_H
#define WORKFLOW_GLOB_H

#include "base/memory.h"

struct glob_names {
    struct str *names; /* [n] in the arena; relative to root like the pattern, or
                          absolute */
    uint32_t n;
};

/* CAIRN_EWORKFLOW for a pattern that is not supported. */
int glob_check(struct str pattern, struct cairn_error *error);
/* A pattern of artifacts, as it is looked for below the task's directory: without `./`,
 * doubled slashes and one at its end. CAIRN_EWORKFLOW: one that is not supported, or that
 * would leave the directory. */
int artifact_pattern(struct str text, struct buf *out, struct cairn_error *error);
/* CAIRN_EWORKFLOW for a pattern that is not supported, CAIRN_EIO for a directory that
 * cannot be read (one that is missing just matches nothing), CAIRN_ELIMIT for more than
 * LIMIT_TASKS names, or LIMIT_GLOB_BYTES of those of directories on the way. */
int glob_expand(const char *root, struct str pattern, struct arena *arena,
                struct glob_names *out, struct cairn_error *error);

#endif
