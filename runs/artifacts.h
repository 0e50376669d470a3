/* SPDX-License-Identifier: MIT */
/* Artifacts: files that a task leaves, which are stored with its attempt when it has
 * completed (storage/rows_files.h). Their names are relative to the task's directory. */
#ifndef RUNS_ARTIFACTS_H
#define RUNS_ARTIFACTS_H

#include "graph/text_expand.h"

struct artifact_names {
    struct arena arena;
    struct str directory; /* of the task, absolute; "." without one */
    struct str *names;    /* [n] sorted; none is another one, or lies below it */
    size_t n;
    struct str *missing; /* [n_missing] patterns that nothing matches, values put in */
    uint32_t n_missing;
};

/* What the patterns of the scope's task match now. artifact_names_release also after an
 * error: CAIRN_EWORKFLOW, CAIRN_EIO, CAIRN_ELIMIT. */
int artifacts_find(const struct scope *scope, struct artifact_names *out,
                   struct cairn_error *error);
void artifact_names_release(struct artifact_names *names);
/* Of the names, which it sorts, each once, and nothing that another one has in it. */
int names_outermost(struct arena *arena, struct str *found, size_t n, struct str **out,
                    size_t *n_out, struct cairn_error *error);

#endif
